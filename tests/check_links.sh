#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What scripts/check_links.sh says of links that lead nowhere, and of such that lead somewhere.
set -euo pipefail
script=$(dirname "$(realpath "$0")")/../scripts/check_links.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/docs"

expect() { # expect EXIT_CODE MESSAGES
  local code=0
  "$script" "$folder" 2> "$folder/log" || code=$?
  grep -v '^check_links.sh: ' "$folder/log" > "$folder/found" || true
  [ "$code" = "$1" ] || { echo "expected exit code $1, found $code" >&2; exit 1; }
  diff <(printf '%s' "$2") "$folder/found"
}

printf '%s\n' '# A, `b`' '## A b' '[a](#a-b) [b](#a-b-1) [c](docs/c.md#x_y) [d](docs)' \
  '`[code](none.md)` [e](https://example.org/a#b)' '```' '[fenced](none.md)' '```' > "$folder/README.md"
printf '%s\n' '# X_y' '[up](../README.md#a-b) [here](./../docs/c.md)' > "$folder/docs/c.md"
expect 0 ''

printf '%s\n' '# A' '[a](none.md) [b](#b)' '[c](https://example)' '[d]: docs/c.md' > "$folder/README.md"
expect 1 'README.md:4: write [text](target); references are not checked
README.md:2: there is no none.md
README.md:2: README.md has no heading #b
README.md:3: https://example is no address of a page
docs/c.md:2: README.md has no heading #a-b
docs/c.md: no link leads here from README.md
'
