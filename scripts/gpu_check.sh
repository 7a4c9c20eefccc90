#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that is to be known of a graphics card, in one run of a few minutes on a machine without
# a connection or a compiler: bits of all kernels, networks and decoders, tokens of models, speeds,
# the description of the card, and what it predicts beside what is measured.
#   scripts/gpu_check.sh --pack FOLDER MODEL.gguf ...   on the machine that built: gathers programs
#                                                       with their libraries, and models
#   scripts/gpu_check.sh FOLDER DEVICE OUT.json         on the machine with the card, or on PoCL
# DEVICE is cuda:0, opencl:0, ... The results are one JSON file, after eight minutes at most: what does
# not fit them fails with its name. On PoCL, which is slow, fewer TOKENS (default 256), a shorter PROMPT
# (512), less to GENERATE (32), BENCHMARKS (a regular expression) and TESTS (a filter of GoogleTest)
# fit the time, and more seconds to DESCRIBE it (100). A step of training runs where
# PROGRAMS=halftone-train packed it, with a libtorch that was built for CUDA.
. "$(dirname "$0")/lib.sh"

max_seconds=480
read -ra programs <<< "${PROGRAMS:-}"
programs+=(halftone modules/gpu/gpu_test modules/gpu/gpu_network_test modules/lm/lm_decode_test benchmarks/gpu_bench)

pack() {
  local folder=$1 program
  shift
  mkdir -p "$folder/lib" "$folder/models"
  for program in "${programs[@]}"; do
    [ -x "build/release/$program" ] || die "no build/release/$program; build it first"
    cp "build/release/$program" "$folder/"
    ldd "build/release/$program" | awk '$3 ~ /^\// && $3 !~ /lib(c|m|dl|pthread|rt)\.so/ { print $3 }' |
      xargs -r cp -n -L -t "$folder/lib"
  done
  for model in "$@"; do cp "$model" "$folder/models/"; done
  cp -r examples/mnist "$folder/"
}

# Runs a program of the folder, at most so many seconds, and no longer than all of it may take.
run() {
  local seconds=$1 program=$2 left=$((max_seconds - SECONDS))
  shift 2
  if [ "$left" -lt "$seconds" ]; then seconds=$((left > 1 ? left : 1)); fi
  LD_LIBRARY_PATH="$folder/lib" timeout "$seconds" "$folder/$program" "$@"
}

# {"name": ..., "passed": ..., "failed": ..., "skipped": ...} of a test program.
tests() {
  local name=$1 filter=$2 log
  log=$(mktemp)
  HALFTONE_TEST_DEVICE=$device run 240 "$name" --gtest_filter="${TESTS:-$filter}" \
    --gtest_output="json:$log" > "$log.text" 2>&1 || true
  jq -c --arg name "$name" '{name: $name, tests: .tests, failures: .failures,
    failed: [.testsuites[].testsuite[] | select(.failures) | .classname + "." + .name]}' "$log" \
    2> /dev/null ||
    jq -nc --arg name "$name" --arg log "$(tail -c 500 "$log.text")" '{name: $name, error: $log}'
}

# Tokens of a model on the processor and on the device, and how fast both are.
tokens() {
  local model=$1 where
  for where in cpu "$device"; do
    run 60 halftone generate "$model" -p "The history of printing begins" -n "${TOKENS:-256}" --device "$where" \
      --json > "$folder/$where.json" 2> "$folder/$where.err" || true
  done
  jq -nc --arg model "$(basename "$model")" --slurpfile cpu "$folder/cpu.json" \
    --slurpfile device "$folder/$device.json" --rawfile error "$folder/$device.err" \
    '{model: $model, same: ($cpu[0].tokens == $device[0].tokens and $cpu[0].tokens != null),
      tokens: ($device[0].tokens | length), cpu_per_second: $cpu[0].tokens_per_second,
      device_per_second: $device[0].tokens_per_second,
      prompt_per_second: $device[0].prompt_tokens_per_second,
      error: (if $device[0] == null then $error else null end)}'
}

# The description of the device, as text of TOML.
describe() {
  run "${DESCRIBE:-100}" halftone estimate --measure --device "$device" -o "$folder/card.toml" \
    > /dev/null 2> "$folder/card.err" || true
  jq -nc --rawfile error "$folder/card.err" '{error: $error}' > "$folder/card.json"
  [ ! -s "$folder/card.toml" ] ||
    jq -nc --rawfile text "$folder/card.toml" '{text: $text}' > "$folder/card.json"
  cat "$folder/card.json"
}

# What is measured of a model beside what its description predicts.
predicted() {
  local log
  log=$(mktemp)
  run 60 halftone bench "$@" --device "$device" --accelerator "$folder/card.toml" --json \
    > "$log" 2> "$log.err" || true
  jq -c . "$log" 2> /dev/null | grep . ||
    jq -nc --arg error "$(tail -c 500 "$log.err")" '{error: $error}'
}

# A step of training on the card.
training() {
  local log
  if [ ! -x "$folder/halftone-train" ]; then
    jq -nc '{skipped: "no halftone-train was packed: libtorch for CUDA has gigabytes"}'
    return
  fi
  log=$(mktemp)
  run 60 halftone-train train "$folder/mnist/mnist_mlp_700.onnx" -o "$log.onnx" --json \
    --data "$folder/mnist" --limit 1280 --epochs 1 --device cuda > "$log" 2> "$log.err" || true
  jq -c '{final: .}' "$log" 2> /dev/null | grep . ||
    jq -nc --arg error "$(tail -c 500 "$log.err")" '{error: $error}'
}

if [ "${1:-}" = --pack ]; then
  [ "$#" -ge 2 ] || die "usage: scripts/gpu_check.sh --pack FOLDER MODEL.gguf ..."
  pack "${@:2}"
  exit 0
fi
[ "$#" -eq 3 ] || die "usage: scripts/gpu_check.sh FOLDER DEVICE OUT.json"
folder=$(cd "$1" && pwd)
device=$2
out=$3

# Speeds first: they are what only this machine can say.
speeds=$(HALFTONE_TEST_DEVICE=$device run 120 gpu_bench --benchmark_format=json \
  --benchmark_min_time=0.2 --benchmark_filter="${BENCHMARKS:-.}" 2> /dev/null | jq -c '[.benchmarks[] |
  {name, microseconds: .real_time, bytes_per_second: .bytes, operations_per_second: .operations}]') ||
  speeds='[]'
hardware=$(describe)
network=$(predicted "$folder/mnist/mnist_mlp_700.onnx" --float-order fixed)
models='[]'
for model in "$folder"/models/*; do
  [ -e "$model" ] || continue
  speed=$(predicted "$model" --prompt "${PROMPT:-512}" --generate "${GENERATE:-32}")
  models=$(jq -c --argjson one "$(tokens "$model")" --argjson speed "$speed" \
    '. + [$one + {speed: $speed}]' <<< "$models")
done
jq -n --argjson devices "$(run 60 halftone devices --json)" --arg device "$device" \
  --argjson speeds "$speeds" --argjson models "$models" --argjson hardware "$hardware" \
  --argjson network "$network" \
  --argjson kernels "$(tests gpu_test '-*ForCuda*')" \
  --argjson networks "$(tests gpu_network_test '*')" \
  --argjson decoders "$(tests lm_decode_test '*Device*')" --argjson training "$(training)" \
  '$devices + {device: $device, speeds: $speeds, hardware: $hardware, network: $network, models: $models,
    tests: [$kernels, $networks, $decoders], training: $training}' \
  > "$out"
jq -c '{tests, models: [.models[] | {model, same}]}' "$out"
