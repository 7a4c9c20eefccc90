#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plain English, as far as a program can check it (docs/style.md, "Plain English"). Documents: lines of
# at most 100 columns (tables, pictures and the help of the program excepted), paragraphs of at most six lines, READMEs of
# modules of 5 to 15 lines of text. Sources and documents: none of the words to avoid.
. "$(dirname "$0")/lib.sh"

mapfile -t documents < <(find . -path ./build -prune -o -name '*.md' -print | sort)
mapfile -t code < <(sources)
[ "${#documents[@]}" -gt 0 ] && [ "${#code[@]}" -gt 0 ] || die "no documents or no sources found"
status=0

LC_ALL=C.UTF-8 awk '
  function breach(text) { print FILENAME ":" FNR ": " text; bad = 1 }
  function end_paragraph() {
    if (paragraph > 6) print file ":" start ": a paragraph of " paragraph " lines; at most 6"
    if (paragraph > 6) bad = 1
    paragraph = 0
  }
  FNR == 1 { end_paragraph(); fenced = 0; file = FILENAME }
  !/^\|/ && !/^!\[/ && FILENAME !~ /docs\/reference\// && length($0) > 100 { breach(length($0) " columns; at most 100") }
  /^```/ { fenced = !fenced }
  fenced || /^```/ || /^[ \t]*$/ || /^[|#!]/ || /^    / { end_paragraph(); next }
  /^ *([-*]|[0-9]+\.) / { end_paragraph() }
  { if (paragraph++ == 0) start = FNR }
  END { end_paragraph(); exit bad }
' "${documents[@]}" >&2 || status=1

for readme in halftone/*/README.md halftone/formats/*/README.md; do
  lines=$(grep -c '[^[:space:]]' "$readme")
  if [ "$lines" -lt 5 ] || [ "$lines" -gt 15 ]; then
    say "$readme: $lines lines of text; 5 to 15"
    status=1
  fi
done

# The third column of the table of words to avoid in docs/style.md, which alone may use them.
words=$(sed -n '/^| avoid /,/^$/s/.*| `\(.*\)` |$/\1/p' docs/style.md | sed 's/\\|/|/g' | paste -sd '|')
[ -n "$words" ] || die "docs/style.md has no table of words to avoid"
mapfile -t texts < <(printf '%s\n' "${documents[@]}" "${code[@]}" | grep -v 'docs/style\.md$')
if grep -nHE -- "$words" "${texts[@]}" >&2; then
  say "words to avoid; docs/style.md says what to write"
  status=1
fi
[ "$status" -eq 0 ] || die "not in plain English"
