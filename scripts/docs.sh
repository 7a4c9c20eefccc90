#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes pages of the public headers: build/docs/html/index.html.
. "$(dirname "$0")/lib.sh"

command -v doxygen > /dev/null || die "doxygen is missing; 'scripts/setup.sh --check-tools' installs it"
version=$(sed -n 's/^project(halftone VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || die "CMakeLists.txt: expected 'project(halftone VERSION ...'"
mkdir -p build/docs
{ cat docs/Doxyfile && printf 'PROJECT_NUMBER = %s\n' "$version"; } | doxygen - >&2 ||
  die "public declarations without a comment, or comments with errors (above)"
say "build/docs/html/index.html"
