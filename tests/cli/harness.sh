# SPDX-License-Identifier: Apache-2.0
# For tests of the command: sourced, told where the build is by BUILD. Each check prints "ok N - what" or "not ok N - what".
build=$(cd "${BUILD:-build}" && pwd)
colshuf=$build/colshuf
make_table=$build/tests/make_table
work=$(mktemp -d "${TMPDIR:-/tmp}/colshuf-cli-XXXXXX")
n_checks=0
n_failed=0
n_skipped=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
if [ ! -x "$colshuf" ] || [ ! -x "$make_table" ]; then
  echo "  skip everything: $colshuf or $make_table is not built"
  exit 77
fi

ok() {
  n_checks=$((n_checks + 1))
  echo "ok $n_checks - $*"
}
not_ok() {
  n_checks=$((n_checks + 1))
  n_failed=$((n_failed + 1))
  echo "not ok $n_checks - $*"
}
skip() {
  n_skipped=$((n_skipped + 1))
  echo "  skip $*"
}
# check WHAT COMMAND...: the command succeeds.
check() {
  what=$1
  shift
  if "$@"; then ok "$what"; else not_ok "$what: $*"; fi
}

# run ARGUMENTS...: the command; its exit code is in $code, its output in the files out and err.
run() {
  ran="colshuf $*"
  "$colshuf" "$@" >out 2>err
  code=$?
}
# expect CODE WHAT [PART]: what the last run ended with. Failures say one sentence, with PART in it, and nothing else.
expect() {
  if [ "$code" -ne "$1" ]; then
    not_ok "$2: exit code $code, not $1 ($ran): $(head -c 300 err)"
  elif [ "$1" -ne 0 ] && { [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^colshuf: ' err; }; then
    not_ok "$2: not one sentence ($ran): $(head -c 300 err)"
  elif [ -n "${3-}" ] && ! grep -qF -- "$3" err; then
    not_ok "$2: no \"$3\" in: $(head -c 300 err)"
  else
    ok "$2"
  fi
}
# Nothing of an output NAME stands there, nor any temporary file in its folder.
no_output() {
  left=$(ls -A "$(dirname "$2")" | grep -E "^$(basename "$2")(\.|$)|colshuf-tmp$")
  if [ -z "$left" ]; then ok "$1: nothing is left"; else not_ok "$1: left behind: $left"; fi
}
# A JSON number by name, from the file out: the first of that name.
json_number() {
  sed -n "s/^ *\"$1\": \(-\{0,1\}[0-9.]*\),\{0,1\}$/\1/p" out | head -1
}
finish() {
  echo "$((n_checks - n_failed)) passed, $n_failed failed, $n_skipped skipped"
  [ "$n_failed" -eq 0 ]
  exit $?
}
