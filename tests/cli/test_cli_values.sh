#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Values of every type as JSON and CSV equal what stands in types.json and types.csv (worked out by hand).
here=$(cd "$(dirname "$0")" && pwd)
. "$here/harness.sh"
"$make_table" types >types.arrows
run convert types.arrows -f json -o -
expect 0 "types as JSON"
check "types as JSON are right" cmp -s out "$here/types.json"
run convert types.arrows -f csv -o -
expect 0 "types as CSV"
check "types as CSV are right" cmp -s out "$here/types.csv"
run write types.arrows -o types -n 1 --single --compat arrow
expect 0 "all types through a shuffle"
run read types.data -f json
check "all types come back" cmp -s out "$here/types.json"
run write types.arrows -o comet -n 1 --single
expect 1 "types that Comet has not are refused by name" "column "
run cat types.arrows
expect 0 "types as a table"
check "control characters are shown, not sent" grep -qF 'line\nbreak\t' out
run stats types.arrows
expect 0 "statistics of all types"
finish
