#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What libhalftone shows and needs must be what the list says. A name that leaves the list breaks
# programs that were linked before; a new library is one more for everybody to install.
#
#     tests/library_abi.sh libhalftone.so halftone/library/abi.txt [WITHOUT]
#
# WITHOUT is a regular expression of libraries that the build was made without.
set -euo pipefail
library=$1
list=$2
without=${3:-^$}
{
  nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@.*/, "", $3); print "shows", $3 }'
  # Not the C library and its loader.
  readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/needs \1/p' |
    grep -v -E 'ld-linux|libc\.so|libm\.so' || true
} | LC_ALL=C sort | diff <(grep -v -E "^needs ($without)" "$list") - ||
  { echo "library_abi.sh: $library differs from $list (<: listed, >: found)" >&2; exit 1; }
