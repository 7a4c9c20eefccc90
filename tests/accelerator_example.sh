#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of examples/accelerator/README.md with program $1. Skips (77) without verilator.
set -euo pipefail
program=$1
cd "$(dirname "$0")/.."
command -v verilator > /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
commands=$(sed -n 's/^    //p' examples/accelerator/README.md | sed -e ':a; /\\$/ { N; s/\\\n//; ta }')
[ "$(wc -l <<< "$commands")" -eq 5 ] || { echo "expected five commands" >&2; exit 1; }
commands=${commands//build\/release\/halftone/\"$program\"}
commands=${commands//build\/array/\"$folder\"\/array}
bash -euxo pipefail -c "$commands" | tee "$folder/output"
# What the page says of the last line.
grep -qF "$(tail -n 1 "$folder/output")" examples/accelerator/README.md
