#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of docs/crossbar.md: accuracy of networks with 4-bit weights on cells of 2, 4, 8 and 16
# levels, by programming noise (constant, in percent of the conductance of a cell that is on). MNIST
# comes from examples/; ResNet-20 and keyword spotting need the folder HALFTONE_DATA and are left out
# without it. Networks and reports stay in build/crossbar. Takes about half an hour on two cores.
#   scripts/crossbar_table.sh [mnist|resnet20|kws ...]
. "$(dirname "$0")/lib.sh"

halftone=build/release/halftone
data=${HALFTONE_DATA:-../shared/data}
out=build/crossbar
sigmas=(0 2 5 10 20)
levels=(2 4 8 16)
seeds=3
[ -x "$halftone" ] || die "$halftone is missing; run 'make' first"
mkdir -p "$out"

# device LEVELS SIGMA: writes its description. Calibrated converters have a code for each count of 128
# rows: 8 bits for 2 levels, 11 for 16; a bit doubles their energy.
device() {
  local bits=8
  while [ $((1 << bits)) -le $((128 * ($1 - 1))) ]; do bits=$((bits + 1)); done
  printf '[array]\nrows = 128\ncolumns = 256\n'
  printf '[cell]\nlevels = %s\non_siemens = 25e-6\non_off_ratio = 100\n' "$1"
  if [ "$2" != 0 ]; then
    printf '[programming]\nmodel = "constant"\nsigma = %s\n' "$(awk "BEGIN { print $2 / 100 }")"
  fi
  printf '[adc]\nbits = %s\nper_array = 8\ncalibrated = true\n' "$bits"
  printf '[cost]\ncell_joules = 1e-15\nconversion_joules = %se-12\nconversion_seconds = 1e-9\n' \
    $((2 << (bits - 8)))
}

# quantized NAME MODEL SAMPLES ACTIVATION_BITS OPTION...
quantized() {
  local name=$1 model=$2 samples=$3 bits=$4
  shift 4
  if [ -e "$out/$name.circle" ]; then return; fi
  say "Quantizing $name"
  "$halftone" quantize "$model" -o "$out/$name.circle" --data "$samples" --weight-bits 4 \
    --activation-bits "$bits" --quiet "$@" > "$out/$name.txt"
}

# table NAME TITLE SAMPLES OPTION...: one row for each number of levels.
table() {
  local name=$1 title=$2 samples=$3 level sigma mean deviation report
  shift 3
  printf '\n%s\n\n| levels | arrays | energy |' "$title"
  for sigma in "${sigmas[@]}"; do printf ' %s %% |' "$sigma"; done
  printf '\n|---|---|---|'
  for sigma in "${sigmas[@]}"; do printf -- '---|'; done
  for level in "${levels[@]}"; do
    for sigma in "${sigmas[@]}"; do
      report=$out/${name}_${level}_$sigma.json
      device "$level" "$sigma" > "$out/device.toml"
      say "$name: $level levels, noise $sigma %"
      "$halftone" crossbar "$out/$name.circle" --device "$out/device.toml" --data "$samples" \
        --seeds "$seeds" --json --quiet "$@" > "$report"
      if [ "$sigma" = 0 ]; then
        printf '\n| %s | %s | %s nJ |' "$level" "$(value_of "$report" arrays)" \
          "$(awk -v j="$(value_of "$report" joules)" 'BEGIN { printf "%.0f", 1e9 * j }')"
      fi
      mean=$(value_of "$report" mean)
      deviation=$(value_of "$report" deviation)
      awk -v m="$mean" -v d="$deviation" -v s="$sigma" \
        'BEGIN { printf (s == 0 ? " %.2f |" : " %.2f ± %.2f |"), 100 * m, 100 * d }'
    done
  done
  printf '\n\nDigital network: %s\n' \
    "$(awk -v v="$(value_of "$report" digital)" 'BEGIN { printf "%.2f %%", 100 * v }')"
}

networks=("$@")
if [ "${#networks[@]}" -eq 0 ]; then networks=(mnist resnet20 kws); fi
for network in "${networks[@]}"; do
  if [ "$network" != mnist ] && [ ! -d "$data" ]; then
    say "$network: left out, because there is no folder $data"
    continue
  fi
  case "$network" in
    mnist)
      quantized mnist examples/mnist/mnist_mlp_700.onnx examples/mnist 2 --split train
      table mnist "MNIST, 784-700-10, 2-bit activations, 10,000 images" examples/mnist
      ;;
    resnet20)
      quantized resnet20 "$data/models/resnet20_cifar10.onnx" \
        "$data/cifar10/lossless_train_7292.bin" 4 --limit 1000
      table resnet20 "ResNet-20 on CIFAR-10, 4-bit activations, 300 images" \
        "$data/cifar10/lossless_test_761.bin" --limit 300
      ;;
    kws)
      quantized kws "$data/models/kws_dscnn.tflite" "$data/kws/x.npy" 8
      table kws "Keyword spotting, DS-CNN, 8-bit activations, 500 samples" \
        "$data/kws/x.npy,$data/kws/y.npy"
      ;;
    *) die "unknown network $network; there are: mnist resnet20 kws" ;;
  esac
done
