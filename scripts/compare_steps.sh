#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each fitting step is worth: accuracy of the bundled network at 1, 2 and 3 bits, by recipe.
. "$(dirname "$0")/lib.sh"

halftone=build/release/halftone
data=examples/mnist
out=build/steps
[ -x "$halftone" ] || die "$halftone is missing; run 'make' first"
mkdir -p "$out"

accuracy() {
  "$halftone" quantize "$data/mnist_mlp_700.onnx" -o "$out/m.circle" --data "$data" --recipe "$1" \
    --weight-bits "$2" --activation-bits "$2" > /dev/null
  "$halftone" eval "$out/m.circle" --data "$data" --json > "$out/eval.json"
  value_of "$out/eval.json" value
}

printf '| recipe | 1 bit | 2 bits | 3 bits |\n|---|---|---|---|\n'
for recipe in "$data"/recipes/*.toml; do
  row=$(basename "$recipe" .toml)
  one=$(accuracy "$recipe" 1)
  two=$(accuracy "$recipe" 2)
  three=$(accuracy "$recipe" 3)
  awk -v row="$row" -v a="$one" -v b="$two" -v c="$three" \
    'BEGIN { printf "| %s | %.2f | %.2f | %.2f |\n", row, 100 * a, 100 * b, 100 * c }'
done
