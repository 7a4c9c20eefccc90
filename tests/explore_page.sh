#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of docs/explore.md with program $1, in a folder of their own.
set -euo pipefail
program=$1
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
commands=$(sed -n 's/^    //p' docs/explore.md | sed -e ':a; /\\$/ { N; s/\\\n//; ta }')
[ "$(grep -c halftone <<< "$commands")" -eq 3 ] || { echo "expected three commands" >&2; exit 1; }
commands=${commands//build\/release\/halftone/PROGRAM}
commands=${commands//build\//\"$folder\"\/}
commands=${commands//PROGRAM/\"$program\"}
bash -euxo pipefail -c "$commands" | tee "$folder/output"
# The front, the chosen bits and the confirmation by the other verbs.
grep -q '^Chosen: 2-bit edge design' "$folder/output"
[ -s "$folder/front.svg" ] && [ -s "$folder/sensitivities.json" ]
