# SPDX-License-Identifier: Apache-2.0
# The front door: make, make demo, make test. Everything else is CMake (CMakePresets.json).
BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all setup demo test check bench bench-quick bench-read bench-write fuzz install clean
all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

setup:
	@tools/setup build

$(BUILD)/build.ninja: CMakeLists.txt | setup
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

# A real table through the whole engine: TPC-H lineitem is made, shuffled, verified, looked into, read back and compared.
demo: all
	@tools/setup python
	@BUILD=$(BUILD) tools/demo

# The quick and the golden tests; those that need reference data or a peer say in one line that they are skipped.
test: all
	@tools/run_tests $(BUILD)

# Everything that can be held against the code by a machine: layers, names, documents, warnings, sanitizers.
check: all
	@tools/check

bench-quick: all
	@BUILD=$(BUILD) tools/bench quick
bench: all
	@BUILD=$(BUILD) tools/bench full
bench-read: all
	@BUILD=$(BUILD) tools/bench read
bench-write: all
	@BUILD=$(BUILD) tools/bench write

# make fuzz TIME=60: seconds for each target; ENGINE=afl: by AFL++ (package afl++)
TIME ?= 30
ENGINE ?= libfuzzer
fuzz:
	@tools/setup build && tools/setup check && tools/fuzz $(TIME) --engine $(ENGINE)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf $(BUILD) build-asan build-tsan build-clang build-gcc build-fuzz build-afl
