#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every function that a library shows must be called by its tests, which include installed headers
# alone.
#
#     tests/public_functions.sh libhalftone_compress.so TEST_PROGRAM ...
set -euo pipefail
library=$1
shift

functions() { # functions NM_OPTION FILE: names that C++ people read, once each
  nm -D "$1" "$2" | awk '{ sub(/@.*/, "", $NF); print $(NF - 1), $NF }' | grep '^[TU] ' |
    cut -d ' ' -f 2 | c++filt | sed 's/\[abi:cxx11\]//' | LC_ALL=C sort -u
}

# What only the library itself can call has a type in its arguments that no header defines.
shown=$(functions --defined-only "$library" | grep -v -E '::State( const)?>')
[ "$(wc -l <<< "$shown")" -gt 10 ] || { echo "public_functions.sh: $library shows nothing" >&2; exit 1; }
called=$(for program in "$@"; do functions --undefined-only "$program"; done | LC_ALL=C sort -u)
missing=$(LC_ALL=C comm -23 <(printf '%s\n' "$shown") <(printf '%s\n' "$called"))
[ -z "$missing" ] || { printf 'public_functions.sh: no test calls\n%s\n' "$missing" >&2; exit 1; }
