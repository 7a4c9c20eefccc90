#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how work scales over 1, 2 and 4 ranks here and predicts it for more: the tables of docs/scaling.md.
#   scripts/scaling.sh MODEL TRAIN TEST   ResNet-20 for CIFAR-10 in ONNX, and files of CIFAR-10 records
# What was measured is kept in build/scaling/measured.json.
. "$(dirname "$0")/lib.sh"

[ "$#" -eq 3 ] || die "expected MODEL TRAIN TEST, found $# arguments; see the head of scripts/scaling.sh"
model=$1 train=$2 test=$3
out=build/scaling
halftone=build/release/halftone
mkdir -p "$out"
cmake --preset release > /dev/null
cmake --build --preset release --target halftone ranks_bench halftone_scaling > "$out/build.log" || die "see $out/build.log"

# Ranks beyond the cores take turns; one that waits for another leaves its core.
ranks() {
  local count=$1
  shift
  mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$count" "$@"
}

# The median wall time of some runs, an odd number, in seconds.
seconds() {
  local runs=$1
  shift
  for ((run = 0; run < runs; run++)); do
    local begin=$EPOCHREALTIME
    ranks "$@" > "$out/last.log" 2>&1 || die "$(tail -n 1 "$out/last.log")"
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
  done | sort -n | sed -n "$(((runs + 1) / 2))p"
}

# What a command takes on 1, 2 and 4 ranks: measured KEYS NAME RUNS COMMAND...
measured() {
  local rows=""
  for count in 1 2 4; do
    say "$count ranks: $2"
    rows+="${rows:+, }[$count, $(seconds "$3" "$count" "${@:4}")]"
  done
  printf '{"name": "%s", "startup_s": %s, %s, "seconds": [%s]}' "$2" "$startup" "$1" "$rows"
}

cat > "$out/fit.toml" << 'TOML'
[default]
weight_bits = 4
activation_bits = 4
TOML
{
  cat "$out/fit.toml"
  printf '[fit]\nreconstruct_steps = 100\n'
} > "$out/reconstruct.toml"

eval=("$halftone" eval "$model" --devices 1 --threads 1 -q --json --data)
quantize=("$halftone" quantize "$model" -o "$out/model.circle" --data "$train" --limit 512 --devices 1 --threads 1 -q)
link=$(ranks 2 build/release/modules/spmd/ranks_bench --json)
startup=$(seconds 5 1 "${eval[@]}" "$test" --limit 1)
# Sums of one layer with n inputs: 16 n^2 bytes of second moments, and samples of its activations.
moments='"sums": [[331776, 7], [1327104, 6], [5308416, 5], [1048576, 20]]'
evaluation=$(measured '"lanes": 114, "sums": [[48, 1]]' "evaluation, 7,292 images" 5 "${eval[@]}" "$train")
fitting=$(measured '"lanes": 8, '"$moments" "calibration and fitting, 512 images" 1 "${quantize[@]}" --recipe "$out/fit.toml")
learning=$(measured '"lanes": 4, '"${moments%]}"', [100000, 1100]]' "the same and 100 steps a block" 1 "${quantize[@]}" --recipe "$out/reconstruct.toml")
image=$(awk -v n=7292 -v startup="$startup" \
  '{ match($0, /\[1, [0-9.]+\]/); print (substr($0, RSTART + 4, RLENGTH - 5) - startup) / n }' <<< "$evaluation")
work() {
  awk -v image="$image" -v images="$3" -v factor="$4" -v lanes="$2" -v sums="$5" -v name="$1" -v grows="$6" \
    'BEGIN { printf "{\"name\": \"%s\", \"shared_s\": %.6f, \"lanes\": %d, \"sums\": %s, \"grows\": %s}", name, image * images * factor, lanes, sums, grows }'
}

cat > "$out/measured.json" << JSON
{"here": {"cores": $(cores), ${link:1},
 "clusters": [{"name": "as here", ${link:1},
              {"name": "100 Gbit/s", "latency_us": 2, "ns_per_byte": 0.09, "ns_per_added_byte": 0.1},
              {"name": "10 Gbit/s", "latency_us": 25, "ns_per_byte": 0.9, "ns_per_added_byte": 0.1}],
 "measured": [$evaluation, $fitting, $learning],
 "predicted": [
   $(work "evaluation, 1,000,000 images" 15625 1000000 1 '[[48, 1]]' false),
   $(work "calibration, 1,000,000 images" 15625 1000000 1 '[[331776, 7], [1327104, 6], [5308416, 5]]' false),
   $(work "calibration, 512 images a machine" 8 512 1 '[[331776, 7], [1327104, 6], [5308416, 5]]' true),
   $(work "training step, 32 images a machine" 1 32 3 '[[1089896, 1]]' true)]}
JSON
build/release/halftone_scaling < "$out/measured.json"
