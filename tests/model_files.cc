// SPDX-License-Identifier: Apache-2.0
// Writes files of tensors, which tests in Python read with other packages.
//
// Usage: model_files types FILE.gguf          blocks of every type, and their elements in float32
//        model_files safetensors FILE         elements of every type
//        model_files copy IN.gguf OUT.gguf    the same keys and tensors
//        model_files q8_0 IN.gguf OUT.gguf    matrices as Q8_0, rounded to the nearest
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/formats/safetensors/safetensors_writer.h"

namespace halftone {
namespace {

using formats::GgufFile;
using formats::GgufType;
using formats::NewGgufTensor;

ByteSource floats_source(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return source_of(own_bytes({bytes.begin(), bytes.end()}));
}

const GgufType& type_named(std::string_view name) {
  return *std::ranges::find(formats::gguf_types(), name, &GgufType::name);
}

/// A block of random numbers.
std::vector<std::byte> random_block(const GgufType& type, std::mt19937& random) {
  const auto half = [&] {
    const float number = static_cast<float>(random() % 2001) - 1000;
    return float_from_half(half_from_float(number / 1024));
  };
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  std::array<std::int8_t, numerics::kMaxBlock> codes;
  for (std::size_t i = 0; i < type.block; ++i) {
    const int index = pick(0, (1 << type.levels.bits) - 1);
    codes[i] = static_cast<std::int8_t>(type.levels.level(static_cast<std::size_t>(index)));
  }
  std::array<float, numerics::kMaxBlock / 16> scales;
  std::array<float, numerics::kMaxBlock / 16> offsets;
  const bool integers = type.scales == numerics::GroupScales::kHalfTimesByte;
  const bool powers = type.scales == numerics::GroupScales::kPowerOfTwo;
  for (std::size_t g = 0; g < type.block / type.group; ++g) {
    scales[g] = integers ? static_cast<float>(pick(type.min_scale, type.max_scale)) : half();
    offsets[g] = integers ? static_cast<float>(pick(0, type.max_offset)) : half();
    if (powers) scales[g] = std::ldexp(1.0F, pick(-20, 5));
  }
  std::vector<std::byte> bytes(type.block_bytes);
  type.pack(type, {codes.data(), scales.data(), offsets.data(), half(), half()}, bytes.data());
  return bytes;
}

void write_types(const std::string& path) {
  constexpr std::size_t kRows = 5;
  constexpr std::size_t kCols = 512;
  std::mt19937 random(1);
  std::vector<NewGgufTensor> tensors;
  constexpr std::uint32_t kKnownToPackages = 40;  // Q1_0 and Q2_0 are not
  for (const GgufType& type : formats::gguf_types()) {
    if (type.pack == nullptr || type.id > kKnownToPackages) continue;
    std::vector<std::byte> bytes;
    while (bytes.size() < type.bytes_of(kRows * kCols)) {
      const std::vector<std::byte> block = random_block(type, random);
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    std::vector<float> values(kRows * kCols);
    numerics::decode_blocks(type, bytes, values);
    const std::string name(type.name);
    tensors.push_back({name, {kRows, kCols}, &type, source_of(own_bytes(bytes))});
    tensors.push_back(
        {name + ".decoded", {kRows, kCols}, &type_named("F32"), floats_source(values)});
  }
  formats::GgufKeys keys;
  keys.set("general.architecture", "llama").set("general.alignment", std::uint32_t{64});
  keys.set("u8", std::uint8_t{200}).set("i8", std::int8_t{-3}).set("u16", std::uint16_t{60000});
  keys.set("i16", std::int16_t{-30000}).set("u32", 4000000000U).set("i32", -5);
  keys.set("f32", 1.5F).set("yes", true).set("u64", ~std::uint64_t{0});
  keys.set("i64", std::int64_t{-6}).set("f64", 0.1);
  keys.set("texts", std::vector<std::string>{"one", "two"}).set("list", std::vector<float>{1, -2});
  write_gguf(path, keys, tensors);
}

void write_all_elements(const std::string& path) {
  using Type = formats::SafetensorsType;
  std::vector<formats::NewSafetensorsTensor> tensors;
  for (int i = 0; i <= static_cast<int>(Type::kF64); ++i) {
    const auto type = static_cast<Type>(i);
    const auto rows = static_cast<std::size_t>(i % 3);  // one of three has no elements
    std::vector<std::byte> bytes(rows * 5 * size_bytes(type), std::byte{1});
    tensors.push_back({std::string(to_string(type)), type, {rows, 5}, source_of(own_bytes(bytes))});
  }
  write_safetensors(path, {{"format", "pt"}, {"note", "\"quoted\""}}, tensors);
}

/// Rows of Q8_0: each scale takes the greatest element to 127.
void pack_rows(const formats::GgufTensor& tensor, const GgufType& type, const ByteSink& sink) {
  const std::size_t cols = tensor.shape.back();
  const std::size_t row_bytes = tensor.type->bytes_of(cols);
  std::vector<float> row(cols);
  std::vector<std::byte> packed(type.bytes_of(cols));
  std::array<std::int8_t, 32> codes;
  for (std::size_t at = 0; at < tensor.bytes.bytes.size(); at += row_bytes) {
    numerics::decode_blocks(*tensor.type, tensor.bytes.bytes.subspan(at, row_bytes), row);
    for (std::size_t block = 0; block < cols / 32; ++block) {
      const auto values = std::span(row).subspan(block * 32, 32);
      float greatest = 0;
      for (const float value : values) greatest = std::max(greatest, std::abs(value));
      const float scale = float_from_half(half_from_float(greatest / 127));
      for (std::size_t i = 0; i < 32; ++i) {
        const float code = scale == 0 ? 0 : std::nearbyint(values[i] / scale);
        codes[i] = static_cast<std::int8_t>(std::clamp(code, -127.0F, 127.0F));
      }
      type.pack(type, {codes.data(), &scale}, packed.data() + block * type.block_bytes);
    }
    sink(packed);
  }
}

/// @param type  of matrices; null: as they are
void rewrite(const std::string& from, const std::string& to, const GgufType* type) {
  const GgufFile file = GgufFile::open(from);
  formats::GgufKeys keys(file);
  constexpr std::uint32_t kMostlyQ80 = 7;
  if (type != nullptr) keys.set("general.file_type", kMostlyQ80);
  std::vector<NewGgufTensor> tensors;
  for (const formats::GgufTensor& tensor : file.tensors()) {
    if (type == nullptr || tensor.shape.size() < 2) {
      tensors.push_back({tensor.name, tensor.shape, tensor.type, source_of(tensor.bytes)});
    } else {
      tensors.push_back({tensor.name, tensor.shape, type, [&tensor, type](const ByteSink& sink) {
                           pack_rows(tensor, *type, sink);
                         }});
    }
  }
  write_gguf(to, keys, tensors);
}

void run(const std::vector<std::string>& arguments) {
  const std::string& what = arguments.at(0);
  if (what == "types") return write_types(arguments.at(1));
  if (what == "safetensors") return write_all_elements(arguments.at(1));
  rewrite(arguments.at(1), arguments.at(2), what == "q8_0" ? &type_named("Q8_0") : nullptr);
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  try {
    halftone::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
