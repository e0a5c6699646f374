#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What can be read only once, descriptors that the caller closed, devices and links as outputs.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 1000 >table.arrows
"$colshuf" convert table.arrows -o table.arrow || exit 1
"$colshuf" write table.arrows -o good -n 3 --hash id >/dev/null || exit 1

# once WHAT PART ARGUMENTS...: refused as a wrong call, at once, whatever standard input is.
once() {
  what=$1 part=$2
  shift 2
  ran="colshuf $*"
  timeout 20 "$colshuf" "$@" <table.arrow >out 2>err
  code=$?
  expect 2 "$what, from a file" "$part"
  cat table.arrow | timeout 20 "$colshuf" "$@" >out 2>err
  code=$?
  expect 2 "$what, from a pipe" "$part"
}
mkfifo pipe
once "diff of standard input" "can be read only once" diff - table.arrow
once "diff with standard input" "can be read only once" diff table.arrow -
once "diff of a named pipe" "pipe can be read only once" diff pipe table.arrow
once "ranges sampled from standard input" "can be read only once" write - -o x -n 2 --range id
once "ranges sampled from a named pipe" "pipe can be read only once" write pipe -o x -n 2 --range id
once "standard input named twice" "named 2 times" write - - -o x -n 2 --hash id
for command in "inspect -" "verify -" "repack - -o x"; do
  once "$command" "read by name, not from standard input" $command
done
no_output "what was refused" x

# A file that is opened while descriptor 1 is free must not receive what is printed.
for command in "write table.arrows -o x -n 3 --hash id" "repack good.data -o x" "verify good.data" "cat good.data" "read good.data" "inspect good.data"; do
  "$colshuf" $command >&- 2>err
  code=$? ran="colshuf $command"
  expect 3 "$command with standard output closed" "standard output: Bad file descriptor"
done
run verify x.data
expect 0 "what was written beside a closed standard output is whole"
run diff x.data good.data
expect 0 "and holds the rows"
"$colshuf" write - -o y -n 3 --hash id <&- >out 2>err
code=$? ran="colshuf write -"
expect 3 "standard input closed" "standard input: Bad file descriptor"
"$colshuf" write table.arrows -o y -n 3 --hash id >/dev/null 2>&-
check "standard error closed" "$colshuf" verify y.data >/dev/null
for command in verify inspect cat stats "diff good.data"; do
  "$colshuf" $command good.data >/dev/full 2>err
  code=$? ran="colshuf $command"
  expect 3 "$command onto a full device names the cause" "standard output: No space left on device"
done

"$colshuf" convert table.arrows -o /dev/stdout -f csv >stdout.csv
check "/dev/stdout stays" test ! -f /dev/stdout -o -L /dev/stdout
"$colshuf" convert table.arrows -o - -f csv >dash.csv
check "/dev/stdout is standard output" cmp -s stdout.csv dash.csv
echo old >target.csv && ln -s target.csv link.csv && ln -s nowhere/x.csv hanging.csv
run convert table.arrows -o link.csv
expect 0 "an output that is a link"
check "the link stays" test -L link.csv
check "what it leads to is replaced" cmp -s target.csv dash.csv
run convert table.arrows -o hanging.csv
expect 0 "a link that leads nowhere"
check "is replaced itself" cmp -s hanging.csv dash.csv
finish
