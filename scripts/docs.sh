#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes pages of the public headers: build/docs/html/index.html. Fails for declarations without a
# comment; fields whose name and type say all, and defaulted functions, need none.
. "$(dirname "$0")/lib.sh"

command -v doxygen > /dev/null || die "doxygen is missing; 'scripts/setup.sh --check-tools' installs it"
version=$(sed -n 's/^project(halftone VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || die "CMakeLists.txt: expected 'project(halftone VERSION ...'"
rm -rf build/docs
mkdir -p build/docs
{ cat docs/Doxyfile && printf 'PROJECT_NUMBER = %s\n' "$version"; } | doxygen - 2> build/docs/log
if grep -vE '\(variable\) of (struct|class) .* is not documented|=default .* is not documented' build/docs/log >&2; then
  die "public declarations without a comment, or comments with errors (above)"
fi
say "build/docs/html/index.html"
