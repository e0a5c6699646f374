#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write and back: every codec, way of partitioning and format.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 50000 7000 >table.arrows
"$make_table" plain 50000 >whole.arrows

for codec in lz4 lz4:9 zstd zstd:7 snappy none; do
  run write table.arrows -o "out-$codec" -n 7 --hash id,s --codec $codec --json
  expect 0 "write with $codec"
  check "write with $codec counts rows" test "$(json_number rows)" = 50000
  run verify "out-$codec.data"
  expect 0 "verify of $codec"
  check "verify of $codec says so" grep -q '^out-.*: ok; 7 partitions' out
  run diff "out-$codec.data" table.arrows --whole
  expect 0 "the rows of $codec are those of the input"
  run diff "out-$codec.data" out-lz4.data --ordered
  expect 0 "$codec and lz4 hold the same, in order"
done

for way in "--round-robin" "--round-robin --sort-first" "--range id" "--range s:desc:nulls-last,k" "--hash k --rules comet"; do
  run write table.arrows -o way -n 5 $way --checksum crc32c
  expect 0 "write $way"
  run verify way.data
  expect 0 "verify after $way"
  check "the checksum compared is crc32c" grep -q 'crc32c compared' out
  run diff way.data table.arrows --whole
  expect 0 "$way keeps the rows"
done
run write table.arrows -o numbered -n 50000 --partition-id id
expect 0 "write --partition-id"
run read numbered.data --partition 777 -c id -f csv
check "the row is where its number says" test "$(tail -n +2 out)" = 777
run write table.arrows -o numbered2 -n 49999 --partition-id id
expect 1 "a partition id out of range" "49999"
no_output "a partition id out of range" ./numbered2
run write table.arrows -o one --single --checksum none
expect 0 "write --single"
check "no checksum file" test ! -e one.checksum.ADLER32
run diff one.data table.arrows --whole --ordered
expect 0 "--single keeps the order"

run write table.arrows -o first -n 9 --range id --save-bounds bounds.arrow
expect 0 "bounds are saved"
run write table.arrows -o second -n 9 --range id --bounds bounds.arrow
expect 0 "bounds are given"
check "the same bounds, the same files" cmp -s first.data second.data

run write - -o piped -n 7 --hash id,s <table.arrows
expect 0 "standard input"
check "standard input gives the same bytes" cmp -s piped.data out-lz4.data
run write - -o piped -n 7 --range id <table.arrows
expect 2 "ranges of standard input" "standard input can be read only once"
run write table.arrows -o again -n 7 --hash id,s
check "the same input gives the same bytes" cmp -s again.data out-lz4.data
run write table.arrows -o spilled -n 7 --hash id,s --memory-limit 6M --json
expect 0 "little memory"
run diff spilled.data out-lz4.data --ordered
expect 0 "what was spilled comes back in order"
run write table.arrows whole.arrows -o both -n 3 --hash id
expect 0 "two inputs"
run stats both.data --json
check "two inputs have all rows" test "$(json_number rows)" = 100000
run write table.arrows -o named.data -n 3 --hash id
expect 0 "an output named with .data"
check "is not named twice" test -e named.index

run read out-lz4.data -o back.arrow
expect 0 "read to an Arrow file"
check "which is one" test "$(head -c 6 back.arrow)" = ARROW1
run diff back.arrow table.arrows --whole
expect 0 "and has the rows"
for p in 0 1 2 3 4 5 6; do "$colshuf" read out-lz4.data --partition $p -f csv | tail -n +2; done >parts.csv
run read out-lz4.data -f csv
tail -n +2 out >all.csv
check "partitions one by one are the whole" cmp -s parts.csv all.csv
check "CSV has a line a row" test "$(wc -l <all.csv)" = 50000
run read out-lz4.data --partitions 2-4 -f json
check "JSON has a line a row" test "$(wc -l <out)" = "$(for p in 2 3 4; do "$colshuf" read out-lz4.data -p $p -f json; done | wc -l)"
run read out-lz4.data --columns x,id -f csv
check "columns in the order asked for" test "$(head -1 out)" = x,id
run read out-lz4.data out-zstd.data -f csv
check "several files are joined" test "$(wc -l <out)" = 100001
run convert back.arrow -o back.arrows --compress zstd
expect 0 "convert to a compressed stream"
run diff back.arrows table.arrows --whole
expect 0 "which has the rows"
run extract out-lz4.data --partition 3 -o part.arrow
expect 0 "extract"
run diff part.arrow out-lz4.data --whole
expect_code=$code
check "one partition is not the whole" test "$expect_code" -eq 1
check "diff shows rows" grep -q 'only in out-lz4.data' out
run head out-lz4.data -n 3
check "head: names, rule, three rows" test "$(wc -l <out)" = 5
run cat table.arrows -n 0
check "cat of no rows: names and rule" test "$(wc -l <out)" = 2
"$make_table" plain 0 >none.arrows
run write none.arrows -o none -n 4 --hash id
expect 0 "no rows at all"
run verify none.data
expect 0 "verify of no rows"
run cat none.data
expect 0 "cat of no rows at all"
run write table.arrows -o many -n 5000 --hash id
expect 0 "5000 partitions"
check "an index of 5001 entries" test "$(wc -c <many.index)" = 40008
run write table.arrows -o native -n 4 --hash id --native-index
expect 0 "a native index"
run diff native.data table.arrows --whole
expect 0 "which is read"
for i in 1 2 3 4; do cp many.data many$i.data && cp many.index many$i.index || exit 1; done
run read many.data many1.data many2.data many3.data many4.data --columns id -f csv
sort out >in-order.csv
run read many.data many1.data many2.data many3.data many4.data --columns id -f csv --threads 3 --any-order
expect 0 "inputs side by side"
sort out >side-by-side.csv
check "which give the same rows" cmp -s in-order.csv side-by-side.csv
check "no temporary file is left" test -z "$(ls -A | grep colshuf-tmp)"
finish
