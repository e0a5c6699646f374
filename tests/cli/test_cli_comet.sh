#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of the real Comet through every tool, and ours against them. Needs the reference data (COLSHUF_TEST_DATA, ../shared).
root=$(cd "$(dirname "$0")/../.." && pwd)
data=$(cd "$root" && cd "${COLSHUF_TEST_DATA:-../shared}/comet" 2>/dev/null && pwd)
if [ -z "$data" ]; then
  echo "  skip files of the real Comet through every tool: no comet folder in the reference data (COLSHUF_TEST_DATA)"
  exit 77
fi
. "$(dirname "$0")/harness.sh"

# wanted_ids FILE.data: ids of all partitions, one behind another, as Spark read them back.
wanted_ids() {
  sed 's/.*"ids_by_partition": {//; s/"[0-9]*"://g' "$(dirname "$1")/expected.json" | grep -oE '[0-9]+'
}
# largest_partition: of the last inspect --json in out.
largest_partition() {
  awk -F: '/"partition":/ {p = $2} /"rows":/ {if (on && $2 + 0 > most) {most = $2 + 0; best = p + 0}} /"partitions": \[/ {on = 1} END {print best + 0}' out
}

# Tools that look at a file.
look() {
  run verify "$file"
  expect 0 "verify $name"
  check "$name: verify counts the rows" grep -qF "$(grouped "$rows") rows" out
  run inspect "$file"
  expect 0 "inspect $name"
  check "$name: inspect counts the rows" grep -qF "$(grouped "$rows") rows" out
  run inspect "$file" --deep --html report.html
  expect 0 "inspect --html $name"
  check "$name: the report counts the rows" grep -qF "<b>$(grouped "$rows")</b><span>rows</span>" report.html
  run stats "$file"
  expect 0 "stats $name"
  check "$name: stats has a line a column" test "$(wc -l <out)" -ge $((columns + 1))
  run cat "$file" --wide --json
  expect 0 "cat $name"
  check "$name: cat shows every row" test "$(grep -c "^ *{\"$first\": " out)" -eq "$rows"
  run head "$file"
  expect 0 "head $name"
  check "$name: head shows ten" test "$(wc -l <out)" -eq $((rows < 10 ? rows + 2 : 12))
  run diff "$file" "$file" --ordered
  expect 0 "diff of $name and itself"
}

# Tools that make files of it.
make() {
  run repack "$file" -o packed --codec zstd --offsets lengths --no-dictionary
  expect 0 "repack $name"
  run diff "$file" packed.data --ordered
  expect 0 "diff of $name and its copy"
  run extract "$file" --partition "$partition" -o part.arrow
  expect 0 "extract of $name"
  "$colshuf" convert part.arrow -f csv -o part.csv
  run read "$file" --partition "$partition" -f csv
  check "$name: the extract holds the partition" cmp -s out part.csv
  run merge "$file" "$file" -o merged
  expect 0 "merge of $name with itself"
  run verify merged.data
  check "$name: merged, it has twice the rows" grep -qF "$(grouped $((2 * rows))) rows" out
  tail -n +2 part.csv >rows.csv && cat part.csv rows.csv >twice.csv
  run read merged.data --partition "$partition" -f csv
  check "$name: a merged partition is twice the partition" cmp -s out twice.csv
  rm -f packed.* merged.* part.*
}
grouped() {
  printf '%s' "$1" | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta'
}

n_files=0
for file in "$data"/*-*/*/shuffle_*.data; do
  name=${file#"$data"/}
  n_files=$((n_files + 1))
  wanted_ids "$file" >ids
  rows=$(wc -l <ids)
  run inspect "$file" --json
  expect 0 "inspect --json $name"
  check "$name: the rows are those that Spark read" test "$(json_number rows)" -eq "$rows"
  check "$name: bytes are those of the file" test "$(json_number bytes)" = "$(wc -c <"$file" | tr -d ' ')"
  partition=$(largest_partition)
  run read "$file" -f csv
  expect 0 "read $name"
  first=$(head -n 1 out | cut -d, -f1)
  columns=$(head -n 1 out | tr , '\n' | wc -l)
  run read "$file" -f csv --columns "$first"
  tail -n +2 out >read_ids
  check "$name: ids are in Spark's order" cmp -s ids read_ids
  look
  make
done
check "there were files ($n_files)" test "$n_files" -gt 20
mkdir cleaned && cp "$data"/native-lz4/hash_k8/shuffle_* cleaned && ls cleaned >before
: >cleaned/.shuffle_0_2_0.999999999-1.colshuf-tmp
run clean cleaned
expect 0 "clean beside Comet's files"
check "which stay" test "$(ls -A cleaned)" = "$(cat before)"

# The same rows, written here with every codec, are equal to each file of Comet: as a whole, and in order where the partitions are the same.
for codec in lz4 zstd snappy none; do
  for input in alltypes many longs; do
    run write "$data/$input.arrow" -o "$input" -n 3 --round-robin --codec $codec --compat comet
    expect 0 "$input.arrow with $codec"
  done
  run convert "$data/alltypes.arrow" --columns id,k,s -o three.arrow
  run write three.arrow -o three -n 3 --round-robin --codec $codec
  run convert "$data/alltypes.arrow" -o alltypes.arrows
  for theirs in "$data"/*-*/*/shuffle_*.data; do
    case $theirs in
      */many*) ours=many ;;
      */longs*) ours=longs ;;
      */rr4/*) ours=three ;;
      */empty_parts/*) continue ;;
      *) ours=alltypes ;;
    esac
    run diff $ours.data "$theirs" --whole
    expect 0 "with $codec here: the rows of ${theirs#"$data"/}"
    check "${theirs#"$data"/}: diff says equal" grep -q '^equal: ' out
  done
  run write "$data/alltypes.arrow" -o ours -n 8 --hash k --codec $codec
  expect 0 "the input of hash_k8 with $codec"
  for theirs in "$data"/*/hash_k8/shuffle_*.data; do
    run diff ours.data "$theirs" --ordered
    expect 0 "$codec holds the same rows in the same order as ${theirs#"$data"/}"
  done
  run write "$data/many.arrow" -o ours -n 200 --hash k --codec $codec
  expect 0 "the input of many200 with $codec"
  for theirs in "$data"/*/many200/shuffle_*.data; do
    run diff ours.data "$theirs" --ordered
    expect 0 "$codec holds the same rows in the same order as ${theirs#"$data"/}"
  done
done
run convert "$data/alltypes.arrow" -f json -o -
head -n 5 out | sort >first_rows
run read "$data"/native-lz4/empty_parts/shuffle_*.data -f json
sort out >their_rows
check "the partitions of empty_parts hold the first five rows" cmp -s first_rows their_rows
run diff "$data"/native-lz4/hash_k8/*.data "$data"/native-lz4/many2/*.data
check "different tables differ" test "$code" -eq 1

# The hostile and odd blocks, as the only partition of a file: what Comet accepts or rejects, but for what docs/formats/block.md says.
verdict() {
  case $1 in
    noeos_LZ4 | noeos | dict_index_* | view) echo accepts ;;
    flag_negative | flag_large_untouched) echo rejects ;;
    *) echo "$2" | grep -oE 'accepts|rejects' ;;
  esac
}
# index_of SIZE: an index of one partition, big-endian.
index_of() {
  printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
  printf "\\$(printf %03o $(($1 / 256)))\\$(printf %03o $(($1 % 256)))"
}
n_blocks=0
for table in guards probes; do
  tab=$(printf '\t')
  while IFS=$tab read -r name comet _; do
    [ "$name" != file ] || continue
    n_blocks=$((n_blocks + 1))
    cp "$data/$table/$name" odd.data
    index_of "$(wc -c <odd.data)" >odd.index
    good=0
    [ "$(verdict "$name" "$comet")" = accepts ] || good=1
    for call in "verify odd.data" "inspect odd.data --deep" "inspect odd.data --deep --json" "inspect odd.data --deep --html odd.html" \
      "cat odd.data" "head odd.data" "stats odd.data" "read odd.data -f json" "read odd.data -o made.arrows" "extract odd.data -p 0 -o made.arrow" \
      "repack odd.data -o made --compat arrow" "merge odd.data -o made" "diff odd.data odd.data"; do
      run $call
      if [ "$code" -ne $good ]; then
        not_ok "$table/$name: $call: exit code $code, not $good: $(head -c 300 err)"
      elif [ $good = 1 ] && [ "${call%% *}" != verify ] && { [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^colshuf: .*odd.data' err; }; then
        not_ok "$table/$name: $call: not one sentence about the file: $(head -c 300 err)"
      elif [ $good = 1 ] && ls made* >/dev/null 2>&1; then
        not_ok "$table/$name: $call leaves $(echo made*)"
      fi
      rm -f made*
    done
    ok "$table/$name is $([ $good = 0 ] && echo accepted || echo refused) by every tool"
  done <"$data/$table.tsv"
done
check "there were blocks ($n_blocks)" test "$n_blocks" -gt 80
finish
