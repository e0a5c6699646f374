#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completions and manual page know every command and option. What the shells make of it: test_completions.py.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/harness.sh"
"$root/tools/completions" "$build" "$work/completions" || not_ok "tools/completions"
for shell in bash zsh fish; do
  check "completions/colshuf.$shell is up to date (tools/completions)" cmp -s "$work/completions/colshuf.$shell" "$root/completions/colshuf.$shell"
done
manual=$root/docs/man/colshuf.1
for command in $("$colshuf" --help | awk '/^  [a-z]/ {print $1}'); do
  check "the manual has $command" grep -q "^\.SS.*\b$command\b" "$manual"
  for option in $("$colshuf" "$command" --help | grep -oE '(^|, |^ +)--[a-z-]+' | grep -oE '[a-z][a-z-]*'); do
    escaped=$(printf '%s' "$option" | sed 's/-/\\\\-/g')
    [ "$option" = help ] || grep -q "\\\\-\\\\-$escaped\b" "$manual" || not_ok "the manual has no --$option (of $command)"
  done
done
# docs/json.md has every member that is printed, and a row for every command that prints JSON.
"$make_table" plain 2000 >table.arrows
"$make_table" plain 1990 >shorter.arrows
"$colshuf" write table.arrows -o a -n 3 --hash id >/dev/null && cp a.data b.data && cp a.index b.index && cp a.checksum.ADLER32 b.checksum.ADLER32
printf 'XX' | dd of=b.data bs=1 seek=40 conv=notrunc 2>/dev/null
documented=$root/docs/json.md
members() {
  run "$@" --json
  check "$1 --json prints an object with its version" grep -q '^  "version": 1,\{0,1\}$' out
  check "docs/json.md has a row for $1" grep -q "^| \`$1\`" "$documented"
  for member in $(sed -n 's/^ *"\([a-z0-9_A-Z]*\)":.*/\1/p' out | sort -u); do
    grep -q "\`$member\`" "$documented" || not_ok "docs/json.md has no $member (of $1)"
  done
}
members write table.arrows -o x -n 3 --hash id
members merge a.data x.data -o y
members repack a.data -o z
members inspect a.data --blocks
members verify a.data b.data
members stats a.data
members diff table.arrows shorter.arrows
members cat a.data -n 3
members clean .
members bench encode a.data
members bench write table.arrows -n 3 --scratch .
for command in $("$colshuf" --help | awk '/^  [a-z]/ {print $1}'); do
  ! "$colshuf" "$command" --help | grep -q -e '--json' || check "docs/json.md knows $command --json" grep -qE "\`$command\`[^|]*\|" "$documented"
done
if command -v groff >/dev/null; then
  check "the manual has no faults" test -z "$(groff -man -Tutf8 -ww "$manual" 2>&1 >/dev/null)"
fi
finish
