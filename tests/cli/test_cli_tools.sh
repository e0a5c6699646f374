#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inspect, verify, stats, diff, repack, clean.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 40000 >table.arrows
"$colshuf" write table.arrows -o a -n 8 --hash id >/dev/null || exit 1
is_json() {
  if command -v python3 >/dev/null; then python3 -m json.tool out >/dev/null 2>&1; else grep -q '"version": 1' out; fi
}

run inspect a.data
expect 0 "inspect"
check "inspect shows the columns" grep -q 'id  *int64' out
check "inspect shows the codec" grep -q 'codec lz4' out
run inspect a.data --blocks
check "inspect --blocks has a line a block" test "$(grep -c 'lz4' out)" -ge 8
run inspect a.data --json --blocks
expect 0 "inspect --json"
check "inspect --json is JSON" is_json
check "inspect counts rows" test "$(json_number rows)" = 40000
check "inspect counts bytes" test "$(json_number bytes)" = "$(wc -c <a.data)"
sum=$(awk '/"raw_bytes_by_kind"/ {on = 1; next} on && /}/ {exit} on {gsub(/[^0-9]/, "", $2); n += $2} END {print n}' out)
check "bytes by kind add up (headers are not compressed)" test $((sum - $(json_number header))) = "$(json_number raw_bytes)"
cp a.data bare
run inspect bare --json
expect 0 "inspect of blocks without an index"
check "which has the rows" test "$(json_number rows)" = 40000
run inspect a.data --deep
expect 0 "inspect --deep"

run verify a.data bare
expect 0 "verify of two files"
run verify a.data --json
check "verify --json is JSON" is_json
check "verify --json says ok" grep -q '"ok": true' out
cp a.data b.data && cp a.index b.index && cp a.checksum.ADLER32 b.checksum.ADLER32
printf 'XX' | dd of=b.data bs=1 seek=40 conv=notrunc 2>/dev/null
run verify a.data b.data --json
check "verify with a bad one among them: 1" test "$code" -eq 1
check "verify --json of a bad file is JSON" is_json
check "the partition of the fault" test "$(json_number partition)" = 0
run verify a.data b.data missing.data
check "verify of many files sums up" grep -qE '^3 files: 1 ok, 1 with faults \(1\), 1 not read; 1[56] blocks, [0-9,]+ rows, ' out
run verify a.data
check "of one file there is nothing to sum up" sh -c '! grep -q "files:" out'
run verify a.data bare --json
check "verify --json sums up" test "$(awk '/"summary"/ {on = 1} on && /"(rows|ok)":/ {gsub(/[^0-9]/, "", $2); print $2}' out | tr '\n' ' ')" = "2 80000 "
run verify a.data missing.data
check "verify with a missing one among them: 3" test "$code" -eq 3
run inspect b.data
check "inspect of a damaged file: 1" test "$code" -eq 1
run cat b.data
check "cat of a damaged file: 1" test "$code" -eq 1
run read b.data --skip-corrupt -f csv
expect 1 "read past damage" "left out"
check "which gives the other partitions" test "$(wc -l <out)" -gt 30000

run stats a.data
expect 0 "stats"
run stats table.arrows --json
check "stats --json is JSON" is_json
check "stats counts nulls" test "$(grep '"nulls"' out | sed -n '2s/[^0-9]//gp')" = 4000
distinct=$(json_number distinct_estimate)
check "distinct values within 5 %: $distinct of 40000" test "$distinct" -gt 38000 -a "$distinct" -le 40000
check "the least and most id" grep -q '"most": "39999"' out

run merge a.data b.data -o merged
expect 1 "merge of a damaged file" "b.data, partition 0"
check "which leaves nothing" test ! -e merged.data -a ! -e merged.index
cp a.data a2.data && cp a.index a2.index
run merge a.data a2.data -o merged --json
expect 0 "merge"
check "merge --json is JSON" is_json
check "merge counts partitions" test "$(json_number partitions)" = 8
run read merged.data --partition 3 -f csv
mv out merged.csv
run read a.data a2.data --partition 3 -f csv
check "a merged partition is that of both, one after the other" cmp -s merged.csv out
run verify merged.data
expect 0 "verify after merge"
check "with its checksums" grep -q " compared" out
run merge a.data -o a
expect 2 "merge onto an input" "is one of the inputs"
run merge a.data -o merged --partitions 9-3
expect 2 "merge of no partitions" "is no partition range"
run merge a.data -o merged --partitions 3-99
expect 2 "merge of partitions that are not there" "partitions 3 to 99 of 8"
cp a.data bare.data
run verify bare.data
expect 0 "verify without an index"
check "says what was not looked at" grep -q "no index: blocks missing at the end" out

run repack a.data -o packed --codec zstd:5 --block-rows 1000 --checksum crc32 --json
expect 0 "repack"
check "repack --json is JSON" is_json
check "repack makes more blocks" test "$(json_number blocks)" -ge 40
run diff a.data packed.data --ordered
expect 0 "repack keeps partitions and order"
check "diff says so" grep -q '^equal: 40,000 rows in 8 partitions' out
run verify packed.data
expect 0 "verify after repack"

"$colshuf" write table.arrows -o c -n 8 --hash k >/dev/null
run diff a.data c.data
check "other partitions differ: 1" test "$code" -eq 1
run diff a.data c.data --whole
expect 0 "as a whole they do not"
run diff a.data c.data --json
check "diff --json is JSON" is_json
"$make_table" plain 39999 >shorter.arrows
run diff table.arrows shorter.arrows
check "a row less: 1" test "$code" -eq 1
check "it is shown" grep -q '"id": 39999' out
"$make_table" other >other.arrows
run diff table.arrows other.arrows
check "types that differ are said" grep -q 'column 0 (id) is int64 and float64' out

: >".gone.999999999-3.colshuf-tmp"
run clean . --json
expect 0 "clean"
check "clean removes what a dead process left" test ! -e .gone.999999999-3.colshuf-tmp
check "and counts it" test "$(json_number removed)" = 1
check "and nothing else" test -e a.data

run bench decode a.data --json
expect 0 "bench decode"
check "bench --json is JSON" is_json
check "it times three ways" test "$(grep -c '"what"' out)" = 3
run bench encode a.data --codec zstd
expect 0 "bench encode"
run bench decode missing.data
expect 3 "bench of a missing file" "missing.data"
run bench write table.arrows -n 7 --hash id --codec zstd --scratch . --json
expect 0 "bench write"
check "bench write --json is JSON" is_json
check "it counts the rows" test "$(json_number rows)" = 40000
check "it times the raw codec" grep -q '"raw_codec"' out
check "its output is gone" sh -c '! ls -d colshuf-bench-* 2>/dev/null'
run bench write table.arrows
expect 2 "bench write without partitions" "-n N"
run bench decode a.data -n 7
expect 2 "bench decode with options of write" "only --codec and --json"
run bench neither a.data
expect 2 "bench of neither"

run head a.data --json
expect 0 "head --json"
check "head --json is JSON" is_json
check "head --json has ten rows" test "$(grep -c '"id": ' out)" = 10
run cat a.data -n 2
check "no colours and no progress in files" sh -c '! grep -q "$(printf "\033")" out err'
finish
