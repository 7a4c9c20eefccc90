#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A project that builds Halftone as a part of itself: configures it and builds what stands at its
# ends, the lowest module and the object of the program. With --whole, builds and runs the program,
# which compiles the whole library once more.
#
#     tests/part_of_project.sh [--whole]
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$source/tests/outside/fetch" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DHALFTONE_CLONE="$source" \
  -DHALFTONE_WITH_TORCH=OFF -DHALFTONE_WITH_MPI=OFF > /dev/null
if [ "${1:-}" = --whole ]; then
  cmake --build "$work" --target outside > /dev/null
  found=$("$work/outside" "$source/examples/mnist/mnist_mlp_700.onnx")
  [ "$found" = "pixels float32 -1 784" ] || { echo "part_of_project.sh: found $found" >&2; exit 1; }
else
  object=$(ninja -C "$work" -t targets all | sed -n 's/^\(CMakeFiles\/outside.*\.o\): .*/\1/p')
  [ -n "$object" ] || { echo "part_of_project.sh: the program has no object" >&2; exit 1; }
  # shellcheck disable=SC2086 # one object a source
  ninja -C "$work" halftone_base $object > /dev/null
fi
echo "part_of_project.sh: passed"
