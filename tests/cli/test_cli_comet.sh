#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of the real Comet through every tool, and ours against them. Needs the reference data (COLSHUF_TEST_DATA, ../shared).
root=$(cd "$(dirname "$0")/../.." && pwd)
data=$(cd "$root" && cd "${COLSHUF_TEST_DATA:-../shared}/comet" 2>/dev/null && pwd)
if [ -z "$data" ]; then
  echo "  skip: no comet folder in the reference data"
  exit 77
fi
. "$(dirname "$0")/harness.sh"
n_files=0
for file in "$data"/*-*/*/shuffle_*.data; do
  name=${file#"$data"/}
  n_files=$((n_files + 1))
  run verify "$file"
  expect 0 "verify $name"
  run inspect "$file" --json
  expect 0 "inspect $name"
  check "$name: bytes are those of the file" test "$(json_number bytes)" = "$(wc -c <"$file" | tr -d ' ')"
  rows=$(json_number rows)
  run read "$file" -f json
  check "$name: $rows rows are read" test "$(wc -l <out)" -eq "$rows"
  run repack "$file" -o packed --codec zstd --offsets lengths --no-dictionary
  expect 0 "repack $name"
  run diff "$file" packed.data --ordered
  expect 0 "diff of $name and its copy"
  run stats "$file"
  expect 0 "stats $name"
  rm -f packed.*
done
check "there were files ($n_files)" test "$n_files" -gt 20

for codec in lz4 zstd snappy none; do
  run write "$data/alltypes.arrow" -o ours -n 8 --hash k --codec $codec
  expect 0 "the input of hash_k8 with $codec"
  for mode in native-lz4 native-zstd native-none native-snappy jvm-lz4; do
    theirs=$(ls "$data/$mode"/hash_k8/shuffle_*.data 2>/dev/null)
    [ -n "$theirs" ] || continue
    run diff ours.data "$theirs" --ordered
    expect 0 "$codec holds the same rows in the same order as Comet's $mode"
  done
done
run diff "$data"/native-lz4/hash_k8/*.data "$data"/native-lz4/many2/*.data
check "different tables differ" test "$code" -eq 1
finish
