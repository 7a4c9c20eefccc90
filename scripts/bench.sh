#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmark programs and runs them, one after the other. The argument is a regular expression
# for the names of the benchmarks to run; without it, all.
. "$(dirname "$0")/lib.sh"

cmake --preset release > /dev/null
cmake --build --preset release --target benchmarks
shopt -s nullglob
programs=(build/release/benchmarks/*_bench)
[ "${#programs[@]}" -gt 0 ] || die "no benchmark programs in build/release/benchmarks"
for program in "${programs[@]}"; do
  say "== $(basename "$program")"
  OMP_WAIT_POLICY=passive "$program" --benchmark_filter="${1:-.}"
done
