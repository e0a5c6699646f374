#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signals, closed pipes, full disks: no output under the final name, no temporary file left.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 200000 20000 >table.arrows

# The input never ends: the command waits for more when the signal comes.
interrupt() {
  signal=$1
  shift
  rm -f pipe && mkfifo pipe && mkdir -p results
  { cat table.arrows; exec sleep 30; } >pipe &
  feeder=$!
  env --default-signal=INT "$colshuf" "$@" >out 2>err &
  pid=$!
  sleep 0.7
  kill -s "$signal" $pid
  wait $pid
  code=$?
  kill $feeder 2>/dev/null
  wait $feeder 2>/dev/null
  check "$1 ends by SIG$signal" test "$code" -gt 128
  check "$1 says that it was interrupted" grep -q '^colshuf: interrupted' err
  no_output "$1 after SIG$signal" results/x
}
head -c 3000000 table.arrows >half.arrows && mv half.arrows table.arrows # no end marker
for signal in INT TERM; do
  interrupt $signal write pipe -o results/x -n 50 --hash id --memory-limit 8M
  interrupt $signal convert pipe -o results/x.csv
  interrupt $signal convert pipe -o results/x.arrow
done
mkdir -p old && "$make_table" plain 50 >small.arrows && "$colshuf" write small.arrows -o results/x -n 2 --hash id >/dev/null
before=$(cat results/x.* | cksum)
rm -f pipe && mkfifo pipe
{ cat table.arrows; exec sleep 30; } >pipe &
feeder=$!
"$colshuf" write pipe -o results/x -n 50 --hash id >out 2>err &
pid=$!
sleep 0.5
kill -TERM $pid
wait $pid
kill $feeder 2>/dev/null
check "an interrupted second attempt leaves the first one" test "$before" = "$(cat results/x.* | cksum)"
rm -f results/*

"$make_table" plain 200000 20000 >table.arrows
"$colshuf" write table.arrows -o good -n 10 --hash id >/dev/null || exit 1
for command in "cat good.data" "read good.data -f csv" "read good.data" "convert table.arrows -f json -o -"; do
  { (trap - PIPE; "$colshuf" $command 2>err); echo $? >code; } | head -c 100 >/dev/null
  check "$command into a closed pipe: ends of SIGPIPE, as others do" test "$(cat code)" -eq 141
  check "$command into a closed pipe: says nothing" test ! -s err
  { (trap '' PIPE; "$colshuf" $command 2>err); echo $? >code; } | head -c 100 >/dev/null
  check "$command into a closed pipe, the signal silenced: exit code 3" test "$(cat code)" -eq 3
  check "$command into a closed pipe, the signal silenced: one sentence" grep -q '^colshuf: standard output: Broken pipe$' err
done
"$colshuf" inspect good.data --json >/dev/full 2>err
check "a full device as standard output: exit code 3" test $? -eq 3
check "a full device as standard output: named" grep -q 'standard output: No space left on device' err
"$colshuf" read good.data -f csv -o /dev/full 2>err
check "a full device as output: exit code 3" test $? -eq 3
"$colshuf" read good.data -o /dev/null 2>err
check "a device as output is written in place" test $? -eq 0
check "and stays a device" test -c /dev/null

# A disk of one MiB.
mkdir -p disk
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=1m none disk 2>/dev/null; then
  run write table.arrows -o disk/x -n 10 --hash id
  expect 3 "write onto a full disk" "No space left on device"
  no_output "write onto a full disk" disk/x
  run write table.arrows -o disk/x -n 10 --hash id --memory-limit 8M
  expect 3 "spilling onto a full disk" "No space left on device"
  no_output "spilling onto a full disk" disk/x
  run convert table.arrows -o disk/x.arrow
  expect 3 "convert onto a full disk" "No space left on device"
  no_output "convert onto a full disk" disk/x.arrow
  run read good.data -f csv -o disk/x.csv
  expect 3 "read onto a full disk" "No space left on device"
  no_output "read onto a full disk" disk/x.csv
  mkdir spill
  run write table.arrows -o x -n 10 --hash id --memory-limit 8M --spill-dir spill
  expect 0 "spilling elsewhere"
  check "spill files are gone" test -z "$(ls -A spill)"
  umount disk
else
  skip "a full disk: mounting needs root"
fi
finish
