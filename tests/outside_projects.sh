#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder, moves it, and builds and runs programs of others with it: C by
# pkg-config with the shared and the static library, C++ by find_package().
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

for component in runtime development programs training compress compress_development spmd \
  spmd_development; do
  cmake --install "$build" --prefix "$work/first" --component "$component" > /dev/null
done
mv "$work/first" "$work/second" # nothing in it may name where it was
prefix=$work/second
library=$(dirname "$(find "$prefix" -name halftone.pc)")/..
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library

# C, on the 10,000 images of MNIST.
pixels() { gzip -dc "$data/t10k-images-idx3-ubyte.gz" | tail -c +17; }
build_c() { # build_c EXAMPLE NAME ARGUMENT...
  local example=$1 name=$2
  shift 2
  cc -std=c11 -Wall -Wextra -Wpedantic -Werror -O1 "$source/examples/c/$example.c" -o "$work/$name" "$@"
}
mapfile -t -d ' ' shared < <(pkg-config --cflags --libs halftone | tr -d '\n')
build_c sensor sensor "${shared[@]}"
pixels | "$work/sensor" "$model" > "$work/classes"
gzip -dc "$data/t10k-labels-idx1-ubyte.gz" | tail -c +9 | od -An -v -tu1 -w1 | tr -d ' ' \
  > "$work/labels"
right=$(paste -d ' ' "$work/classes" "$work/labels" | awk '$1 == $2' | wc -l)
expect "right answers of the C program" 9777 "$right"
message() { # message SENSOR: its error message
  if "$work/$1" "$work/none.onnx" < /dev/null 2> "$work/message"; then fail "$1: no error"; fi
  cat "$work/message"
}
refusal=$(message sensor)
[[ $refusal == "sensor: "*none.onnx* ]] || fail "message: $refusal"

# C with the static library: alone, and with no shared library at all. It gives the same answers,
# catches its exceptions, and shows the C API only.
mapfile -t -d ' ' static < <(pkg-config --static --cflags --libs halftone | tr -d '\n')
build_c sensor sensor_static -Wl,-Bstatic "${static[@]:0:3}" -Wl,-Bdynamic "${static[@]:3}"
build_c sensor sensor_alone -static "${static[@]}"
ldd "$work/sensor_static" | grep -q libhalftone && fail "sensor_static needs libhalftone.so"
for sensor in sensor_static sensor_alone; do
  pixels | env -u LD_LIBRARY_PATH "$work/$sensor" "$model" | cmp - "$work/classes"
  expect "message of $sensor" "$refusal" "$(message "$sensor")"
done
nm --defined-only "$library/libhalftone.a" | awk '$2 ~ /[A-Zuvw]/ { print "shows", $3 }' |
  LC_ALL=C sort > "$work/shown"
grep '^shows' "$source/halftone/library/abi.txt" | diff - "$work/shown" ||
  fail "libhalftone.a shows other symbols than the C API (>)"

# A language model, with both libraries: the text of the program.
c++ -std=c++20 -I "$source" -x c++ -o "$work/make_model" - << 'END'
#include "tests/tiny_language_model.h"
int main(int, char** argv) { halftone::TinyLanguageModel model(argv[1]); }
END
tiny=$work/tiny.bin
"$work/make_model" "$tiny"
build_c generate generate "${shared[@]}"
build_c generate generate_alone -static "${static[@]}"
if "$build/halftone" generate "$tiny" --tokenizer "$tiny.tokenizer" -p Once -n 64 > "$work/text" \
  2> "$work/message"; then
  for generate in generate generate_alone; do
    "$work/$generate" Once "$tiny" "$tiny.tokenizer" 2> /dev/null | cmp - "$work/text"
  done
  wanted=none.gguf
else
  wanted="this build has none"
  grep -q "$wanted" "$work/message" || fail "$(cat "$work/message")"
fi
refusal=$("$work/generate" Once "$work/none.gguf" 2>&1) && fail "generate: no error"
[[ $refusal == "generate: "*"$wanted"* ]] || fail "message: $refusal"

# A language model in few bits, by the examples of the guides: the file of the program.
c++ -std=c++20 -I "$source" -x c++ -o "$work/make_wide_model" - << 'END'
#include "tests/tiny_language_model.h"
int main(int, char** argv) {
  const halftone::TinyLanguageModel model(argv[1], halftone::TinyLanguageModel::kWideSizes);
  halftone::write_tiny_text(argv[2]);
}
END
wide=$work/wide.bin
"$work/make_wide_model" "$wide" "$work/wide.txt"
block() { # block PAGE FILE: the contents of a file on a page
  awk -v name="$2" '/^```/ { on = $2 == name; next } on' "$source/docs/guides/$1.md" > "$work/${2##*/}"
}
block c build/small.c
block cpp build/app/small.cc
cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$work/small.c" -o "$work/small_c" "${shared[@]}"
c++ -std=c++20 -Wall -Wextra "$work/small.cc" -o "$work/small_cpp" -I "$prefix/include" \
  -L "$library" -lhalftone_compress
quantize_wide() { # quantize_wide PROGRAM FILE
  "$1" "$wide" "$work/wide.txt" "$work/$2" "$wide.tokenizer" > /dev/null 2> "$work/message" ||
    grep -q "this build has none" "$work/message" || fail "$(cat "$work/message")"
}
quantize_wide "$work/small_c" c.safetensors
quantize_wide "$work/small_cpp" cpp.safetensors
if [ -s "$work/text" ]; then
  for language in c cpp; do
    rules=()
    [ $language = c ] || rules=(--tensor '*attn_v*=Q8_0')
    "$build/halftone" quantize "$wide" --tokenizer "$wide.tokenizer" --text "$work/wide.txt" \
      -o "$work/program.safetensors" --type 4x8 "${rules[@]}" > /dev/null 2>&1
    cmp "$work/$language.safetensors" "$work/program.safetensors"
  done
fi

# C++ against what was installed.
find_component() { # find_component NAME
  cmake -S "$source/tests/outside/cmake" -B "$work/found_$1" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCOMPONENT="$1" > "$work/cmake.log" 2>&1
}
inputs="pixels float32 -1 784"
for component in runtime runtime_static; do
  find_component $component || fail "$(cat "$work/cmake.log")"
  cmake --build "$work/found_$component" > /dev/null
  expect "inputs with $component" "$inputs" "$("$work/found_$component/outside" "$model")"
done
for component in train none; do
  case $component in
    train) wanted="The component train of Halftone is not installed; install libhalftone-train-dev" ;;
    *) wanted="Halftone has no component none; it has: runtime, runtime_static, compress, train, spmd" ;;
  esac
  if find_component $component; then fail "component $component was found"; fi
  tr -s '\n ' ' ' < "$work/cmake.log" | grep -qF "$wanted" || fail "$(cat "$work/cmake.log")"
done

# The examples in C++: the file of the program, byte for byte, and ten images of MNIST.
cmake -S "$source/examples/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release > /dev/null
cmake --build "$work/cpp" > /dev/null
"$work/cpp/quantize" "$model" "$data" "$work/cpp.circle" > /dev/null 2>&1
"$prefix/bin/halftone" quantize "$model" -o "$work/program.circle" --data "$data" --limit 300 \
  --weight-bits 2 --activation-bits 2 > /dev/null 2>&1
cmp "$work/cpp.circle" "$work/program.circle"
mkdir "$work/images"
for i in 0 1 2 3 4 5 6 7 8 9; do
  { printf 'P5\n28 28\n255\n' && pixels | tail -c +$((1 + 784 * i)) | head -c 784; } \
    > "$work/images/$i.pgm" || true # head ends before its input does
done
"$work/cpp/classify" "$model" "$work/images" 3 4 | cut -d ' ' -f 2 > "$work/classified"
head -n 10 "$work/classes" | cmp - "$work/classified"
printf 'no image' > "$work/images/a.pgm"
refusal=$("$work/cpp/classify" "$model" "$work/images" 2>&1) && fail "classify: no error"
[[ $refusal == "classify: "*a.pgm* ]] || fail "message: $refusal"

# Functions over devices: the values of the document, which are those of JAX.
"$work/cpp/devices" | diff - "$source/tests/outside/devices.txt"
! ldd "$work/cpp/devices" | grep -qE 'lib(mpi|protobuf|dnnl)' || fail "devices needs other libraries"

# The answer of the program to a message.
if [ -s "$work/text" ]; then
  "$work/cpp/chat" "$tiny" "$tiny.tokenizer" zephyr <<< Hi > "$work/answer" 2> /dev/null
  "$build/halftone" chat "$tiny" --tokenizer "$tiny.tokenizer" --template zephyr <<< Hi \
    2> /dev/null | cmp - "$work/answer"
else
  refusal=$("$work/cpp/chat" "$work/none.gguf" 2>&1 < /dev/null) && fail "chat: no error"
  [[ $refusal == "chat: "*"$wanted"* ]] || fail "message: $refusal"
fi

# The program that was installed.
expect "version" "$("$build/halftone" --version)" "$("$prefix/bin/halftone" --version)"

echo "outside_projects.sh: passed"
