# SPDX-License-Identifier: Apache-2.0
# A user's program builds against the installed tree, through pkg-config (shared and static) and through CMake, and runs.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$BUILD" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/root" # what is installed may be moved
make -n install PREFIX="$work/root" | grep -q -- "--prefix $work/root\$" || { echo "make install does not hold to PREFIX"; exit 1; }
[ -x "$work/root/bin/colshuf" ] || { echo "no command was installed"; exit 1; }
for file in share/man/man1/colshuf.1 share/bash-completion/completions/colshuf share/zsh/site-functions/_colshuf \
  share/fish/vendor_completions.d/colshuf.fish; do
  [ -s "$work/root/$file" ] || { echo "no $file was installed"; exit 1; }
done
pc=$(find "$work/root" -name colshuf.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir colshuf)

block=tests/install/three_rows.block
run() {
  LD_LIBRARY_PATH=$libdir "$1" "$block" >"$work/out" || { echo "$1 failed"; exit 1; }
  grep -q '^3 rows, 2 columns$' "$work/out" || { echo "$1 printed:"; cat "$work/out"; exit 1; }
}
# shellcheck disable=SC2046
cc -std=c17 -Wall -Wextra -Werror examples/decode_block.c -o "$work/shared" $(pkg-config --cflags --libs colshuf)
run "$work/shared"
if LD_LIBRARY_PATH=$libdir "$work/shared" nowhere 2>"$work/log" || ! grep -q '^nowhere: No such file' "$work/log"; then
  echo "the example does not say which file is missing"
  exit 1
fi
# shellcheck disable=SC2046
cc -std=c17 examples/decode_block.c -o "$work/static" $(pkg-config --cflags colshuf) "$libdir/libcolshuf.a" \
  $(pkg-config --libs --static colshuf | tr ' ' '\n' | grep -v '^-lcolshuf$')
run "$work/static"

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(colshuf REQUIRED)
add_executable(user $PWD/examples/decode_block.c)
target_link_libraries(user PRIVATE colshuf::colshuf)
END
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/root" >"$work/log" &&
  cmake --build "$work/project/build" >>"$work/log" || { cat "$work/log"; exit 1; }
run "$work/project/build/user"
# Every public header stands by itself, in C and in C++.
for header in include/colshuf/*.h; do
  echo "#include <colshuf/$(basename "$header")>" >"$work/one.c"
  cc -std=c17 -Wall -Wextra -Werror -fsyntax-only -I"$work/root/include" "$work/one.c"
  ! command -v c++ >/dev/null || c++ -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$work/root/include" "$work/one.c"
done
echo "installed, built three ways, run"
