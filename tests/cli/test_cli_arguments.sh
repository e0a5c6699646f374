#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is said about calls that are wrong.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 100 >table.arrows

run
expect 2 "no command" "which command?"
run frobnicate
expect 2 "an unknown command" "there is no command frobnicate"
run --version
expect 0 "--version"
check "the version is printed" grep -q '^colshuf [0-9]' out
run --help
expect 0 "--help"
commands=$(awk '/^  [a-z]/ {print $1}' out)
check "the help names the commands" test "$(echo "$commands" | wc -l)" -ge 12
for command in $commands; do
  run "$command" --help
  expect 0 "$command --help"
  check "$command --help shows how it is called" grep -q "^Usage: colshuf $command " out
  run "$command" --nonsense
  expect 2 "$command with an unknown option" "there is no option --nonsense"
  run "$command" -Z
  expect 2 "$command with an unknown letter" "there is no option -Z"
  run "$command"
  expect 2 "$command without a file" "colshuf $command --help"
done

write() {
  run write table.arrows "$@"
}
write -o out1 --hash id
expect 2 "no number of partitions" "how many partitions"
write -o out1 -n 0 --hash id
expect 2 "0 partitions" "--partitions 0 is no number between 1 and 2147483647"
write -o out1 -n 2147483648 --hash id
expect 2 "2^31 partitions" "no number between 1 and 2147483647"
write -o out1 -n -5 --hash id
expect 2 "negative partitions" "no number between"
write -o out1 -n ten --hash id
expect 2 "partitions that are no number" "ten is no number"
write -o out1 -n 99999999999999999999 --hash id
expect 2 "partitions beyond 64 bits" "is no number"
write -o out1 -n
expect 2 "an option without its value" "wants a value"
write -n 5 --hash id
expect 2 "no output" "no output is named"
write -o out1 -n 5
expect 2 "no way of partitioning" "exactly one of"
write -o out1 -n 5 --hash id --single
expect 2 "two ways of partitioning" "exactly one of"
write -o out1 -n 5 --single
expect 2 "--single with five partitions" "--single makes one partition, not 5"
write -o ./ -n 5 --hash id
expect 2 "an output that is a folder" "is no name of an output"
write -o - -n 5 --hash id
expect 2 "standard output as output" "is no name of an output"
write -o out1 -n 5 --hash nope
expect 2 "an unknown column" "table.arrows has no column \"nope\"; it has id, k, s, x"
write -o out1 -n 5 --hash id,nope
expect 2 "an unknown second column" "no column \"nope\""
write -o out1 -n 5 --hash id,id
expect 2 "a column twice"
write -o out1 -n 5 --partition-id s
check "a text column holds no partition ids" test "$code" -ne 0
write -o out1 -n 5 --hash id --memory-limit lots
expect 2 "a size that is none" "--memory-limit lots is no size"
write -o out1 -n 5 --hash id --memory-limit 64Q
expect 2 "a size in an unknown unit" "is no size"
write -o out1 -n 5 --hash id --memory-limit=-1
expect 2 "a negative size" "is no size"
write -o out1 -n 5 --hash id --codec gzip
expect 2 "an unknown codec" "none of lz4, zstd, snappy, none"
write -o out1 -n 5 --hash id --codec zstd:99
expect 2 "a level that zstd has not" "no level 99"
write -o out1 -n 5 --hash id --codec snappy:3
expect 2 "a level for snappy" "no level 3"
write -o out1 -n 5 --hash id --checksum md5
expect 2 "an unknown checksum" "none of adler32, crc32, crc32c, none"
write -o out1 -n 5 --hash id --compat spark2
expect 2 "an unknown compatibility" "none of comet, comet-1.1, arrow"
write -o out1 -n 5 --hash id --json=yes
expect 2 "a value for a flag" "takes no value"
write -o out1 -n 2000000000 --hash id --memory-limit 1M
expect 3 "more partitions than the memory limit can hold" "memory limit"
no_output "after all of this" out1

for form in 64M 64MiB 64m "67108864" 64MB 0.0625GiB 65536K; do
  write -o sized -n 2 --hash id --memory-limit $form
  expect 0 "a memory limit of $form"
done

write -o out2 -n 4 --hash id
expect 0 "a shuffle to ask of"
for partition in 4 -1 x 1-2 99999999999; do
  run read out2.data --partition=$partition
  expect 2 "partition $partition of 4"
done
for range in 2-1 0-4 3-x -; do
  run read out2.data --partitions=$range
  expect 2 "partitions $range of 4"
done
run read out2.data --columns nope -f csv
expect 2 "an unknown column to read" "has no column \"nope\""
run read out2.data --format xml
expect 2 "an unknown format" "none of stream, file, csv, json"
run read out2.data --compress gzip
expect 2 "an unknown body compression" "none of none, lz4, zstd"
run extract out2.data -o part.arrow
expect 2 "extract without a partition" "which partition?"
run convert out2.data
expect 2 "convert without an output" "no output is named"
run repack out2.data -o out2
expect 2 "repack onto itself" "the output is the input"
for name in - "" folder/; do
  run repack out2.data -o "$name"
  expect 2 "repack to \"$name\"" "is no name of an output"
done
run convert table.arrows -o ""
expect 2 "an output with an empty name" "empty name"
run read out2.data --columns id,nope -f csv
expect 2 "the columns that there are" "it has id"
printf 'just some text, no Arrow' >text
run extract text -p 0 -o part.arrow
expect 1 "partitions of a file of another kind" "neither Arrow data nor a shuffle file"
run diff out2.data
expect 2 "diff of one file" "two files are wanted, not 1"
run cat -n x out2.data
expect 2 "rows that are no number"
run cat table.arrows --partition 1
expect 2 "a partition of an Arrow stream" "chosen of shuffle files"
run cat table.arrows --columns id,nope
expect 2 "a column that an Arrow stream does not have" "it has id"
run convert table.arrows --columns id -o one.arrow
expect 0 "one column of an Arrow stream"
run convert one.arrow -o one.csv
expect 0 "which is an Arrow file"
check "of that column" test "$(head -n 1 one.csv)" = id
run convert table.arrows --columns id -o direct.csv
check "with its values" cmp -s one.csv direct.csv
finish
