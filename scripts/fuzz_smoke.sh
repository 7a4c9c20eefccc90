#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzzer of the asan build for some seconds (default 10). It starts from the seeds in
# fuzz/corpus/<format>, keeps what it finds in build/asan/corpus and what breaks in build/asan/artifacts.
. "$(dirname "$0")/lib.sh"

export SECONDS_EACH=${1:-10}
shopt -s nullglob
fuzzers=(build/asan/fuzzers/*)
[ "${#fuzzers[@]}" -gt 0 ] || die "no fuzzers in build/asan/fuzzers; build the preset asan first"

run_one() {
  local name corpus log
  name=$(basename "$1")
  corpus=build/asan/corpus/$name
  log=build/asan/corpus/$name.log
  mkdir -p "$corpus" build/asan/artifacts
  local folders=("$corpus")
  if [ -d "fuzz/corpus/${name#fuzz_}" ]; then folders+=("fuzz/corpus/${name#fuzz_}"); fi
  if [ "$name" = fuzz_api ]; then folders+=(fuzz/corpus/circle fuzz/corpus/onnx); fi
  if ! "$1" -max_total_time="$SECONDS_EACH" -timeout=20 -rss_limit_mb=3072 -seed=1 \
    -artifact_prefix="build/asan/artifacts/$name-" "${folders[@]}" > "$log" 2>&1; then
    printf '%s failed:\n' "$name"
    tail -n 40 "$log"
    return 1
  fi
  printf '%s: %s\n' "$name" "$(tail -n 1 "$log")"
}
export -f run_one
printf '%s\n' "${fuzzers[@]}" | xargs -P "$(cores)" -I{} bash -c 'run_one {}' ||
  die "a fuzzer found something; repeat it with: build/asan/fuzzers/NAME build/asan/artifacts/NAME-..."
