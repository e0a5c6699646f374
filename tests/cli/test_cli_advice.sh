#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What goes wrong for somebody new: other formats, packed files, a file's name without its ending, folders that are not there, no index, no right to
# read or write. Each time one sentence that says what, where and what to do.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/harness.sh"
"$make_table" plain 3000 >table.arrows
"$colshuf" convert table.arrows -o table.arrow || exit 1
"$colshuf" write table.arrows -o good -n 4 --hash id >/dev/null || exit 1
mkdir folder

# foreign FILE WHAT ADVICE: commands that read rows, and those that want blocks, say what the file is and what to do with it.
foreign() {
  for call in "cat $1" "read $1 -f csv" "write $1 -o x -n 2 --hash id" "diff good.data $1" "convert $1 -o x.arrow"; do
    run $call
    expect 1 "$call" "$1 is $2, neither Arrow data nor a shuffle file: $3"
  done
  wants_blocks "$1" "$2" "$3"
}
wants_blocks() {
  for call in "inspect $1" "repack $1 -o x" "merge $1 -o x" "bench decode $1"; do
    run $call
    expect 1 "$call" "$1 is no shuffle file but $2: $3"
  done
  run verify "$1"
  check "verify $1: 1" test "$code" -eq 1
  check "verify $1 says what it is, and nothing else" test "$(cat out)" = "$1: no shuffle file but $2 ($3)"
  run verify good.data "$1" --json
  check "verify $1 --json: 1" test "$code" -eq 1
  check "verify $1 --json says what it is" grep -qF "\"problem\": \"no shuffle file but $2\"" out
  no_output "$1" x
}
other="write it as an Arrow IPC file or stream first"
printf 'PAR1 and some more bytes of it\0\0\0' >table.parquet
foreign table.parquet "a Parquet file" "$other"
printf 'ORC\n\0\0\0 and some more bytes of it' >table.orc
foreign table.orc "an ORC file" "$other"
printf 'FEA1\0\0\0\0 and some more bytes of it' >table.feather
foreign table.feather "a Feather file of version 1" "$other"
printf 'Obj\1\0\0\0\0 and some more bytes of it' >table.avro
foreign table.avro "an Avro file" "$other"
echo 'id,name,and so on' >table.csv
foreign table.csv "text" "$other"
for packer in gzip zstd lz4 xz bzip2; do
  if ! command -v $packer >/dev/null; then
    skip "$packer is not installed"
    continue
  fi
  $packer -c table.arrow >"table.arrow.$packer" 2>/dev/null
  foreign "table.arrow.$packer" "a file packed by $packer" "unpack it first"
done
$colshuf cat table.arrow >/dev/null || exit 1
foreign good.index "the index of a shuffle output" "name its data file, NAME.data"
foreign good.checksum.ADLER32 "the checksum file of a shuffle output" "name its data file, NAME.data"
wants_blocks table.arrow "Arrow data" "cat, stats, convert and write take it"
wants_blocks table.arrows "Arrow data" "cat, stats, convert and write take it"
cp table.arrow named.data
wants_blocks named.data "Arrow data" "cat, stats, convert and write take it"
: >empty
run inspect empty
expect 1 "inspect of an empty file" "empty is no shuffle file: it is empty"
# A shuffle file whose first bytes were overwritten is a damaged one, whatever they look like.
cp good.data hit.data && cp good.index hit.index && printf 'PAR1' | dd of=hit.data conv=notrunc 2>/dev/null
run verify hit.data
check "a damaged shuffle file is no Parquet file" sh -c '! grep -q Parquet out && grep -q "partition 0, block 0" out'

for call in "cat good" "inspect good" "repack good -o x" "write good -o x -n 2 --hash id" "bench decode good"; do
  run $call
  expect 3 "$call" "good: No such file or directory; there is good.data"
done
run clean good.data
expect 3 "clean of a file" "good.data is no folder: name the folder that it is in"

cp good.data bare.data
for call in "repack bare.data -o x" "merge good.data bare.data -o x"; do
  run $call
  expect 3 "$call" "bare.data: there is no bare.index to say where its partitions are"
done
for call in "extract bare.data -p 0 -o x.arrow" "cat bare.data --partition 0" "read bare.data --partitions 0-1"; do
  run $call
  expect 2 "$call" "bare.data: there is no bare.index to say where partitions are: read it whole"
done
no_output "without an index" x

for call in "write table.arrows -o nowhere/x -n 2 --hash id" "repack good.data -o nowhere/x" "merge good.data -o nowhere/x" "read good.data -o nowhere/x" \
  "convert table.arrows -o nowhere/x" "extract good.data -p 0 -o nowhere/x" "inspect good.data --html nowhere/x"; do
  run $call
  expect 3 "$call" "nowhere/x: No such file or directory; make the folder nowhere first"
done
run write table.arrows -o x -n 2 --hash id --spill-dir folder --spill-dir nowhere
expect 3 "a folder for spills that is not there" "nowhere/: No such file or directory; make the folder nowhere first"
run write table.arrows -o x -n 2 --hash id --spill-dir good.data
expect 3 "a file as the folder for spills" "good.data/: Not a directory"
no_output "folders that are not there" x

# What was probably meant, and nothing where nothing is near.
for pair in wriet:write raed:read catt:cat inspekt:inspect verfy:verify; do
  run ${pair%:*}
  expect 2 "${pair%:*}" "there is no command ${pair%:*}; did you mean ${pair#*:}?"
done
for word in x inspection frobnicate "" --codec; do
  run "$word"
  expect 2 "\"$word\"" "there is no command $word (see"
done
run read good.data --colums id
expect 2 "a mistyped option" "there is no option --colums; did you mean --columns?"
run verify good.data --hlep
expect 2 "a mistyped --help" "there is no option --hlep; did you mean --help?"
run write table.arrows --mem-limit=5M
expect 2 "an option of another program" "there is no option --mem-limit (see"
run write --help
mv out write-help
run help write
expect 0 "help of a command"
check "is what --help says" cmp -s out write-help
run help wriet
expect 2 "help of no command" "did you mean write?"
for form in --version -V version; do
  run $form
  check "$form" grep -qE '^colshuf [0-9]+\.' out
done
run read good.data --partition 4 -f csv
expect 2 "one partition too far" "partitions 4 to 4 of 4, which are counted from 0"
run cat hit.data
expect 1 "cat of a damaged file sends to verify" "partition 0, block 0 at offset 0"
check "by name" grep -q '(colshuf verify tells more)$' err

run write table.arrows -o x -n 2 --range id --bounds table.arrow
expect 2 "bounds of other columns" "--bounds table.arrow has 4 columns, --range names 1"
no_output "bounds of other columns" x

# The demo's table, where no packages can be put.
if command -v python3 >/dev/null && ! python3 -c 'import pyarrow' 2>/dev/null; then
  PIP_NO_INDEX=1 python3 "$root/tools/lineitem" 0.01 x.arrow --venv "$work/good.data/venv" >out 2>err
  check "a table that cannot be made: exit code" test $? -eq 1
  check "a table that cannot be made: says what it needs" grep -q '^lineitem: .*the first time it needs' err
  check "a table that cannot be made: no traceback" sh -c '! grep -q Traceback err'
fi

# An option that would do nothing is a mistake.
for pair in "--bounds table.arrow:--range" "--save-bounds b:--range" "--seed 5:--range" "--task-id 3:--round-robin" "--sort-first:--round-robin"; do
  run write table.arrows -o x -n 2 --hash id ${pair%:*}
  expect 2 "${pair%:*} with --hash" "is for ${pair#*:} only"
done
run write table.arrows -o x -n 2 --round-robin --allow-map-keys
expect 2 "--allow-map-keys with --round-robin" "--allow-map-keys is for --hash only"
no_output "options without their way" x

# Without the rights of root. nobody must be able to reach the files.
as_other() {
  su -s /bin/sh nobody -c "cd '$work' && ./colshuf $1" >out 2>err
  code=$? ran="colshuf $1, as nobody"
}
if [ "$(id -u)" -eq 0 ] && chmod 711 "$work" && cp "$colshuf" colshuf && as_other --version && [ "$code" -eq 0 ]; then
  cp table.arrow secret.arrow && chmod 600 secret.arrow
  mkdir sealed && chmod 755 sealed
  for call in "cat secret.arrow" "stats secret.arrow" "inspect secret.arrow" "verify secret.arrow"; do
    as_other "$call"
    expect 3 "$call" "secret.arrow: Permission denied"
  done
  for call in "write good.data -o sealed/x -n 2 --hash id" "repack good.data -o sealed/x" "merge good.data -o sealed/x" "read good.data -o sealed/x" \
    "inspect good.data --html sealed/x"; do
    as_other "$call"
    expect 3 "$call" "sealed/x: Permission denied in the folder sealed"
  done
  no_output "a folder of others" sealed/x
else
  skip "rights of files: only root can be somebody else, and nobody must be there"
fi
finish
