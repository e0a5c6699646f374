#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The report of inspect --html: whole, self-contained, and of any file. In a browser: test_browser.py.
. "$(dirname "$0")/harness.sh"
"$make_table" plain 60000 >table.arrows
"$colshuf" write table.arrows -o '<a & b>' -n 20 --hash id --offsets plain --no-dictionary >/dev/null || exit 1
run inspect '<a & b>.data' --html report.html
expect 0 "inspect --html"
check "nothing is fetched from elsewhere" sh -c '! grep -qE "https?:|src=|@import|url\(|<script|<link" report.html'
check "names are escaped" grep -qF '<h1>&lt;a &amp; b&gt;.data</h1>' report.html
for part in "Partition sizes" "Block sizes" "What the bytes are" "Columns" "What would make it smaller"; do
  check "the report has: $part" grep -q "<h2>$part</h2>" report.html
done
check "every column has its row" test "$(grep -cE '<span class="soft">(int64|int32|utf8|float64)</span>' report.html)" = 4
check "every trial has its row" test "$(grep -cE '<td class="n (good|soft)">[+-]' report.html)" = 6
check "written anew in the same way it stays as large as it is" grep -qE 'nothing changed</td><td class="n">[^<]*</td><td class="n soft">[+-]0\.0%' report.html
check "a bar says which partition it is, and how large" grep -q '<title>partition 19: [0-9.]* KiB</title>' report.html
if command -v python3 >/dev/null; then
  check "tags are balanced" python3 - report.html <<'END'
import sys, html.parser
class Parser(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "line"): self.stack.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (tag, self.stack[-3:], self.getpos())
        self.stack.pop()
parser = Parser()
parser.feed(open(sys.argv[1]).read())
assert not parser.stack, parser.stack
END
fi
# change PART: what the report says of that trial, in tenths of a percent.
change() {
  sed -n "s/.*$1<\/td><td class=\"n\">[^<]*<\/td><td class=\"n [a-z]*\">\([+-]\)\([0-9]*\)\.\([0-9]\)%.*/\1\2\3/p" report.html | sed 's/+//; s/^\(-\{0,1\}\)0*\([0-9]\)/\1\2/'
}
check "dictionaries would pay: $(change 'dictionaries where they pay')" test "$(change 'dictionaries where they pay')" -lt -20
check "so would offsets as lengths: $(change 'offsets as lengths')" test "$(change 'offsets as lengths')" -lt -20
for codec in lz4 zstd snappy none; do
  "$colshuf" write table.arrows -o auto -n 20 --hash id --codec $codec >/dev/null || exit 1
  run inspect auto.data --html report.html
  new=$(change 'nothing changed')
  check "$codec: written anew with the best form of each block it stays as large as it is ($new)" test "$new" -ge -20 -a "$new" -le 20
done
run inspect '<a & b>.data' --html missing-folder/report.html
expect 3 "a report in a missing folder" "missing-folder/report.html"
cp '<a & b>.data' bad.data && cp '<a & b>.index' bad.index
printf 'XXXX' | dd of=bad.data bs=1 seek=16 conv=notrunc 2>/dev/null
run inspect bad.data --html bad.html
expect 1 "a damaged file has a report too"
check "which names the damage" grep -q 'Damaged blocks: 1' bad.html
# The first block of each partition in turn: what cannot be read at all gives no sample, and no crash.
"$make_table" plain 5000 >many.arrows && "$colshuf" write many.arrows -o many -n 3 --hash id --block-rows 500 >/dev/null
size=$(wc -c <many.data)
for at in 16 25 60 200 400 600 $((size / 3)) $((size * 2 / 3)); do
  cp many.data bad.data && cp many.index bad.index
  printf '\377\377\377\377\377\377\377\377' | dd of=bad.data bs=1 seek=$at conv=notrunc 2>/dev/null
  run inspect bad.data --html bad.html
  check "a report about damage at byte $at" test "$code" -le 1
done
"$make_table" plain 0 >none.arrows && "$colshuf" write none.arrows -o none -n 3 --hash id >/dev/null
run inspect none.data --html none.html
expect 0 "a file without rows has a report too"
finish
