#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of all documents and compares what they print with the figures beside them, and
# the figures in the text with these. Takes half an hour; with --hours, blocks that train, too, a
# working day. Networks and data that are not bundled come from the folder HALFTONE_DATA.
#   scripts/figures.sh [--hours] [PAGE ...]
. "$(dirname "$0")/lib.sh"

export HALFTONE_FIGURES=minutes
if [ "${1-}" = --hours ]; then
  HALFTONE_FIGURES=hours
  shift
fi
[ -x build/release/halftone ] || die "build/release/halftone is missing; run 'make' first"
pages=("$@")
if [ "${#pages[@]}" -eq 0 ]; then
  mapfile -t pages < <(grep -lE '^```sh' README.md docs/*.md docs/guides/*.md)
fi
failed=()
for page in "${pages[@]}"; do
  say "$page"
  code=0
  scripts/python.sh tests/page_commands.py "$page" build/release || code=$?
  if [ "$code" -ne 0 ] && [ "$code" -ne 77 ]; then failed+=("$page"); fi
done
[ "${#failed[@]}" -eq 0 ] || die "these pages differ from what their commands print: ${failed[*]}"
python3 tests/page_figures.py README.md docs/results.md docs/faq.md docs/number_systems.md docs/guides/*.md
