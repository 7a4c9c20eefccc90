#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On every emulated microcontroller, the products of the C kernels have the right sums, and the
# bundled network in two bits, of learned and of even levels, the outputs of the runtime.
#   tests/microcontrollers.sh PRODUCTS HALFTONE    the programs microcontroller_products and halftone
# Exits with 77 where a compiler or an emulator is missing.
set -euo pipefail
products=$(realpath "$1")
halftone=$(realpath "$2")
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$products" halftone/export_c/text "$folder/products" small
scripts/microcontrollers.sh "$folder/products"

# Whether the instructions of a run are within a quarter of those that `export` printed for the core.
expect_instructions() {
  local counted=$1 core=$2
  awk -v counted="$counted" -v core="$core" '
    $1 == core ":" && $2 == "instructions" { run = $3 }
    END { error = counted / run - 1; print core ": estimated " counted ", " 100 * error " % off"
          exit error > 0.25 || error < -0.25 }'
}

for levels in "" "--weight-scheme int --activation-scheme affine"; do
  # shellcheck disable=SC2086
  "$halftone" quantize examples/mnist/mnist_mlp_700.onnx -o "$folder/mnist.circle" \
    --data examples/mnist --weight-bits 2 --activation-bits 2 $levels --quiet
  "$halftone" export "$folder/mnist.circle" -o "$folder/mnist" --target c --quiet
  scripts/microcontrollers.sh "$folder/mnist"
  for core in m3:cortex-m3 rv32:rv32; do
    counted=$("$halftone" export "$folder/mnist.circle" -o "$folder/mnist" --target c \
      --core "${core#*:}" --vectors 1 --json | sed -n 's/^ *"instructions": \([0-9]*\),*$/\1/p' |
      sort -n | tail -1)
    scripts/microcontrollers.sh "$folder/mnist" "${core%:*}" |
      expect_instructions "$counted" "${core%:*}"
  done
done
