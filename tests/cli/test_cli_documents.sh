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
if command -v groff >/dev/null; then
  check "the manual has no faults" test -z "$(groff -man -Tutf8 -ww "$manual" 2>&1 >/dev/null)"
fi
finish
