#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, once through: takes the bundled float network to 3, 2 and 1 bits and prints what that costs
# in accuracy and saves in size and time. Files and JSON reports stay in build/demo.
. "$(dirname "$0")/lib.sh"

halftone=build/release/halftone
data=examples/mnist
float_model=$data/mnist_mlp_700.onnx
out=build/demo
[ -x "$halftone" ] || die "$halftone is missing; run 'make' first"
mkdir -p "$out"
rm -f "$out"/*.circle "$out"/*.json
begin=$SECONDS

# measure NAME MODEL: accuracy, agreement with the float network, latency of one image on one thread.
measure() {
  "$halftone" eval "$2" --data "$data" --split test --reference "$float_model" --json > "$out/eval_$1.json"
  "$halftone" bench "$2" --batch 1 --threads 1 --json > "$out/bench_$1.json"
}

# row NAME MODEL
row() {
  # One assignment a line: a failure inside $(...) stops the script only there.
  local accuracy agreement us float_us
  accuracy=$(value_of "$out/eval_$1.json" value)
  agreement=$(value_of "$out/eval_$1.json" reference.agreement)
  us=$(value_of "$out/bench_$1.json" latency_us.median)
  float_us=$(value_of "$out/bench_float.json" latency_us.median)
  awk -v name="$1" -v bytes="$(wc -c < "$2")" -v accuracy="$accuracy" -v agreement="$agreement" \
    -v us="$us" -v float_us="$float_us" \
    'BEGIN { printf "| %-5s | %8.1f | %8.2f %% | %8.2f %% | %9.1f us | %7.1fx |\n",
             name, bytes / 1024, 100 * accuracy, 100 * agreement, us, float_us / us }'
}

say "Measuring the float network"
measure float "$float_model"
for bits in 3 2 1; do
  say "Quantizing to $bits bits"
  "$halftone" quantize "$float_model" -o "$out/mnist_$bits.circle" --data "$data" --split train \
    --weight-bits "$bits" --activation-bits "$bits" --json > "$out/quantize_$bits.json"
  measure "$bits" "$out/mnist_$bits.circle"
done

samples=$(value_of "$out/eval_float.json" samples)
printf '\nMNIST, 784-700-10 network, %s test images; bits per weight and per activation\n\n' "$samples"
printf '| bits  | file KiB | accuracy   | as float   | time / image | speed-up |\n'
printf '|-------|----------|------------|------------|--------------|----------|\n'
row float "$float_model"
for bits in 3 2 1; do row "$bits" "$out/mnist_$bits.circle"; done
printf '\n"as float": same answer as the float network. Time: median of one image on one thread.\n'
took=""
for bits in 3 2 1; do
  seconds=$(value_of "$out/quantize_$bits.json" seconds)
  took+=$(printf ', %d bit %.1f s' "$bits" "$seconds")
done
printf 'Quantizing:%s; everything together %d s. Models and reports: %s/\n' "${took#,}" "$((SECONDS - begin))" "$out"
