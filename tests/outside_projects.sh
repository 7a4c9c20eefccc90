#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder, moves it, and builds and runs programs of others with it: C by
# pkg-config, C++ by find_package(), C++ with Halftone as a part of the project.
#
#     tests/outside_projects.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$source/examples/mnist/mnist_mlp_700.onnx
data=$source/examples/mnist

fail() {
  echo "outside_projects.sh: $*" >&2
  exit 1
}

expect() { # expect NAME WANTED FOUND
  [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

for component in runtime development programs; do
  cmake --install "$build" --prefix "$work/first" --component "$component" > /dev/null
done
mv "$work/first" "$work/second" # nothing in it may name where it was
prefix=$work/second
library=$(dirname "$(find "$prefix" -name halftone.pc)")/..
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library

# C, on the 10,000 images of MNIST.
# shellcheck disable=SC2046 # several words
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -O1 "$source/examples/c/sensor.c" -o "$work/sensor" \
  $(pkg-config --cflags --libs halftone)
gzip -dc "$data/t10k-images-idx3-ubyte.gz" | tail -c +17 | "$work/sensor" "$model" > "$work/classes"
gzip -dc "$data/t10k-labels-idx1-ubyte.gz" | tail -c +9 | od -An -v -tu1 -w1 | tr -d ' ' \
  > "$work/labels"
right=$(paste -d ' ' "$work/classes" "$work/labels" | awk '$1 == $2' | wc -l)
expect "right answers of the C program" 9777 "$right"
"$work/sensor" "$work/none.onnx" < /dev/null 2> "$work/message" && fail "no error for a missing file"
grep -q "^sensor: .*none.onnx" "$work/message" || fail "message: $(cat "$work/message")"

# C++ against what was installed.
cmake -S "$source/tests/outside/cmake" -B "$work/found" -DCMAKE_PREFIX_PATH="$prefix" > /dev/null
cmake --build "$work/found" > /dev/null
inputs=$("$work/found/outside" "$model")
expect "inputs" "pixels float32 -1 784" "$inputs"

# The program that was installed.
expect "version" "$("$build/halftone" --version)" "$("$prefix/bin/halftone" --version)"

# Halftone as a part of the project, with the settings of this build so that ccache knows it; without
# ccache it would be compiled once more, which takes minutes.
if [ -z "$(command -v ccache)" ]; then
  echo "outside_projects.sh: passed; not tried without ccache: Halftone as a part of a project"
  exit 0
fi
cmake -S "$source/tests/outside/fetch" -B "$work/fetched" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DHALFTONE_CLONE="$source" -DHALFTONE_WITH_TORCH=OFF \
  -DHALFTONE_WITH_MPI=OFF > /dev/null
cmake --build "$work/fetched" --target outside > /dev/null
expect "inputs, built as a part" "$inputs" "$("$work/fetched/outside" "$model")"
echo "outside_projects.sh: passed"
