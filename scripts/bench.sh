#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs benchmarks.
#   scripts/bench.sh [REGEX] [OPTION ...]  the suite: us beside our peers; see bench/README.md
#   scripts/bench.sh --kernels [REGEX]     single kernels, without peers
# REGEX narrows it to the cases with such names; options are those of halftone_bench --help.
. "$(dirname "$0")/lib.sh"

export GOMP_SPINCOUNT=3000 # as the program sets it for itself: idle threads soon sleep

# OpenBLAS 0.3.21 takes newer processors for older ones; it is told before it is loaded.
name_processor() {
  local simd=auto
  if [[ " $* " =~ \ --simd[=\ ]([A-Z0-9_]+)\  ]]; then simd=${BASH_REMATCH[1]}; fi
  case "$simd" in
    SSE4) echo Nehalem ;;
    AVX2 | AVX2_VNNI) echo Haswell ;;
    *) if grep -qw avx512vl /proc/cpuinfo; then echo SkylakeX; fi ;;
  esac
}

build() {
  cmake --preset release > /dev/null
  cmake --build --preset release --target "$1"
}

if [ "${1:-}" = --kernels ]; then
  build benchmarks
  shopt -s nullglob
  programs=(build/release/benchmarks/*_bench)
  [ "${#programs[@]}" -gt 0 ] || die "no benchmark programs in build/release/benchmarks"
  for program in "${programs[@]}"; do
    say "== $(basename "$program")"
    "$program" --benchmark_filter="${2:-.}"
  done
  exit 0
fi

build halftone_bench
coretype=${OPENBLAS_CORETYPE:-$(name_processor "$@")}
if [ -n "$coretype" ]; then export OPENBLAS_CORETYPE=$coretype; fi
options=()
if [[ " $* " != *" --json"* ]]; then options=(--json build/bench.json); fi
build/release/halftone_bench "$@" "${options[@]}"
if [ "${#options[@]}" -gt 0 ] && [[ " $* " != *" --list "* ]]; then say "The same as JSON: build/bench.json"; fi
