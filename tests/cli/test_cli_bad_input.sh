#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command on files that are missing, empty, cut, random or of the wrong kind: one sentence, the right exit code, nothing left.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 3000 >table.arrows
"$make_table" other >other.arrows
"$colshuf" write table.arrows -o good -n 4 --hash id >/dev/null || exit 1
"$colshuf" convert table.arrows -o table.arrow || exit 1
: >empty
: >empty.data
head -c 5000 good.data >cut.data
head -c 5000 table.arrows >cut.arrows
head -c 5000 table.arrow >cut.arrow
dd if=/dev/urandom of=random bs=4096 count=4 2>/dev/null
printf '\377' | cat - random >random.data # never a block by accident
cp table.arrow arrow.data
mkdir folder results

# each FILE CODES WHAT: every command that reads rows, on FILE, ends with one of CODES.
each() {
  for command in cat head stats read convert extract write merge repack inspect verify diff; do
    case $command in
      read) run read "$1" -f csv -o results/x.csv ;;
      convert) run convert "$1" -o results/x.arrow ;;
      extract) run extract "$1" --partition 0 -o results/x.arrow ;;
      write) run write "$1" -o results/x -n 3 --hash id ;;
      merge | repack) run "$command" "$1" -o results/x ;;
      diff) run diff "$1" good.data ;;
      *) run $command "$1" ;;
    esac
    case " $2 " in
      *" $code "*) ok "$command on $3: $code" ;;
      *) not_ok "$command on $3: exit code $code, not one of $2: $(head -c 300 err)" ;;
    esac
    if [ "$command" != verify ] && [ "$command" != inspect ] && { [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^colshuf: ' err; }; then
      not_ok "$command on $3: not one sentence: $(head -c 300 err)"
    fi
    no_output "$command on $3" results/x
  done
}
each missing 3 "a missing file"
each missing.data 3 "a missing shuffle file"
each folder 3 "a folder"
each empty "0 1 2 3" "an empty file"
each random "1 2 3" "random bytes"
each random.data "1 2 3" "random bytes named like a shuffle file"
each cut.data "1 2 3" "a shuffle file cut short"
each cut.arrows "1 2 3" "a stream cut short"
each cut.arrow "1 2 3" "an Arrow file cut short"
each /dev/null "1 2 3" "/dev/null"

for command in inspect verify; do
  run $command arrow.data
  expect_code=$code
  check "$command on an Arrow file finds fault" test "$expect_code" -eq 1
done
run cat empty.data
expect 0 "an empty run of blocks has no rows"
run inspect empty.data
expect 0 "an empty run of blocks can be inspected"
run cat empty
expect 1 "an empty file of no kind" "empty is empty"
run cat random.data
check "random bytes are bad data" test "$code" -eq 1
run write table.arrows other.arrows -o results/x -n 3 --hash k
expect 1 "a second input of another schema" "column id is float64 (nullable), not int64 (nullable)"
no_output "a second input of another schema" results/x
run write good.data -o results/x -n 3 --hash id
expect 0 "shuffle files can be written anew"
rm -f results/*

# Index and data that do not belong together.
cp good.data long.data && cp good.index long.index && echo tail >>long.data
run cat long.data --partition 0
expect 0 "earlier partitions of data longer than its index says can be read"
run cat long.data
expect 1 "the last partition of data longer than its index says" "the file has $(wc -c <long.data) bytes, the index ends at $(wc -c <good.data)"
run verify long.data
check "verify finds data longer than its index says" test "$code" -eq 1
check "and names both sizes" grep -q "$(wc -c <long.data)" out
cp good.data short.data && cp good.index short.index && truncate -s -100 short.data
run read short.data --partition 3 -f csv
expect 1 "the last partition of a file cut short"
cp good.data odd.data && head -c 37 good.index >odd.index
run cat odd.data
expect 1 "an index of an odd size" "odd.index"
run verify odd.data
check "verify finds the odd index" test "$code" -eq 1
cp good.data gone.data && cp good.index gone.index && rm gone.data
run cat gone.data
expect 3 "an index without data" "gone.data"

# A flipped bit in the middle.
cp good.data flipped.data && cp good.index flipped.index && cp good.checksum.ADLER32 flipped.checksum.ADLER32
size=$(wc -c <good.data)
printf '\125' | dd of=flipped.data bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s good.data flipped.data && printf '\252' | dd of=flipped.data bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
run verify flipped.data
check "verify finds a flipped byte" test "$code" -eq 1
check "verify names the partition" grep -q 'partition [0-9]' out
run read flipped.data --verify-checksums -f csv -o results/x.csv
expect 1 "a flipped byte under a checksum"
no_output "a flipped byte under a checksum" results/x.csv

# A number of rows that nobody has is damage, however large: code 1 and not the 3 of limits. All places of the number, each with a bit far above
# the default limit and one below it.
"$colshuf" write table.arrows -o rows --single --codec none >/dev/null || exit 1
rm -f rows.checksum.ADLER32
number='\xb8\x0b\x00\x00\x00\x00\x00\x00' # 3000
for file in table.arrows table.arrow rows.data; do
  places=$(LC_ALL=C grep -obUaP "$number" "$file" | cut -d: -f1)
  check "$file says its rows" test -n "$places"
  for place in $places; do
    for change in '3 \100' '4 \001' '6 \200'; do
      cp "$file" "absurd.${file##*.}"
      [ "$file" != rows.data ] || cp rows.index absurd.index
      printf "${change#* }" | dd of="absurd.${file##*.}" bs=1 seek=$((place + ${change% *})) conv=notrunc 2>/dev/null
      for command in cat verify stats; do
        [ "$command" = verify ] && [ "$file" != rows.data ] && continue
        run "$command" "absurd.${file##*.}"
        check "$command of $file with its rows changed at byte $place ($change) is bad data" test "$code" -eq 1
      done
      [ "$file" = table.arrows ] || continue
      "$colshuf" cat - <absurd.arrows >out 2>err
      check "the same from standard input ($place, $change)" test $? -eq 1
    done
  done
done
rm -f absurd.*

# Where output cannot go.
run write table.arrows -o missing-folder/x -n 3 --hash id
expect 3 "an output in a missing folder" "missing-folder"
run write table.arrows -o good.data/x -n 3 --hash id
expect 3 "an output below a file"
run read good.data -o missing-folder/x.arrow
expect 3 "a file in a missing folder" "missing-folder/x.arrow: No such file or directory"
run convert table.arrows -o folder
expect 3 "a folder as output file" "Is a directory"
run write table.arrows -o results/x -n 3 --hash id --memory-limit 1K
expect 3 "a memory limit that nothing fits in"
no_output "a memory limit that nothing fits in" results/x
run clean missing-folder
expect 3 "clean of a missing folder" "missing-folder"
if [ "$(id -u)" -ne 0 ]; then
  mkdir sealed && chmod 555 sealed
  run write table.arrows -o sealed/x -n 3 --hash id
  expect 3 "an unwritable folder" "Permission denied"
else
  run write table.arrows -o /proc/x -n 3 --hash id
  expect 3 "an unwritable folder" "/proc"
fi
finish
