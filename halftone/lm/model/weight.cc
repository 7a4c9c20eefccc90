// SPDX-License-Identifier: Apache-2.0
// Decodes one weight of a file.
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/storage.h"
#include "halftone/lm/model/weights.h"

namespace halftone::lm {
namespace {

/// The blocks in which a file stores elements, or a GGUF file would; null if it has no such type.
numerics::SharedBlockEncoding encoding_of(const StorageType& type) {
  if (const auto* blocks = std::get_if<numerics::SharedBlockEncoding>(&type)) return *blocks;
  const auto* gguf =
      formats::gguf_type(formats::to_string(std::get<formats::SafetensorsType>(type)));
  return gguf == nullptr ? nullptr : numerics::without_owner(*gguf);
}

/// Bytes of two neighbours each as bytes of an element of the first half and one of the second.
void append_halves(std::span<const std::byte> neighbours, std::vector<std::byte>& to) {
  const auto element = [&](std::size_t i) {
    const std::byte both = neighbours[i / 2];
    return i % 2 == 0 ? both & std::byte{15} : both >> 4;
  };
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    to.push_back(element(i) | (element(i + neighbours.size()) << 4));
  }
}

}  // namespace

std::string_view type_name(const StorageType& type) {
  const auto* blocks = std::get_if<numerics::SharedBlockEncoding>(&type);
  return blocks != nullptr ? (*blocks)->name
                           : formats::to_string(std::get<formats::SafetensorsType>(type));
}

std::size_t bytes_of(const StorageType& type, std::size_t elements) {
  if (const auto* plain = std::get_if<formats::SafetensorsType>(&type)) {
    return elements * formats::size_bytes(*plain);
  }
  const numerics::BlockEncoding& blocks = *std::get<numerics::SharedBlockEncoding>(type);
  return elements / blocks.block * blocks.block_bytes;
}

void decode_elements(const StorageType& type, const SharedBytes& bytes, std::span<float> values) {
  if (const auto* blocks = std::get_if<numerics::SharedBlockEncoding>(&type)) {
    return numerics::decode_blocks(**blocks, bytes.bytes, values);
  }
  formats::decode_safetensors(
      {"", std::get<formats::SafetensorsType>(type), {values.size()}, bytes}, values);
}

void Weight::decode(std::size_t first, std::span<float> values) const {
  const std::size_t count = values.size() / inputs();
  if (count * inputs() != values.size() || first > outputs() || count > outputs() - first) {
    fail(ErrorKind::kShape, "tensor '" + printable(name) + "': has " + std::to_string(outputs()) +
                                " rows of " + std::to_string(inputs()) + ", asked for " +
                                std::to_string(values.size()) + " elements from row " +
                                std::to_string(first));
  }
  const auto take = [&](std::size_t begin_element, std::span<float> elements) {
    decode_elements(
        type, bytes.part(bytes_of(type, begin_element), bytes_of(type, elements.size())), elements);
  };
  if (!scales.bytes.empty()) {
    const SharedBytes rows = packed_rows(first, count);
    decode_elements(type, rows, values);
  } else if (shape.size() == 1 && step != 1) {
    std::vector<float> all(stored_outputs);
    take(0, all);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = all[begin + i * step];
  } else if (!is_transposed) {
    take(first * inputs(), values);
  } else if (count > 0) {
    std::vector<float> column((count - 1) * step + 1);
    for (std::size_t i = 0; i < inputs(); ++i) {
      take(i * stored_outputs + begin + first * step, column);
      for (std::size_t row = 0; row < count; ++row) values[row * inputs() + i] = column[row * step];
    }
  }
  if (factor == 1) return;
  for (float& value : values) value *= factor;
}

SharedBytes Weight::packed_rows(std::size_t first, std::size_t count) const {
  const std::size_t row_blocks = inputs() / (kMxfp4Bytes * 2);
  std::vector<std::byte> packed;
  packed.reserve(count * row_blocks * (kMxfp4Bytes + 1));
  for (std::size_t row = 0; row < count; ++row) {
    const std::size_t block = (begin + (first + row) * step) * row_blocks;
    for (std::size_t b = block; b < block + row_blocks; ++b) {
      packed.push_back(scales.bytes[b]);
      append_halves(bytes.bytes.subspan(b * kMxfp4Bytes, kMxfp4Bytes), packed);
    }
  }
  return own_bytes(std::move(packed));
}

SharedBytes Weight::packed() const {
  return scales.bytes.empty() ? bytes : packed_rows(0, outputs());
}

std::optional<ir::Constant> Weight::stored() const {
  if (shape.size() < 2 || is_transposed || factor != 1) return std::nullopt;
  numerics::SharedBlockEncoding encoding = encoding_of(type);
  if (encoding == nullptr || !encoding->can_decode() || inputs() % encoding->block != 0) {
    return std::nullopt;
  }
  ir::Shape extents(std::vector<ir::Dim>(shape.begin(), shape.end()));
  if (encoding->name == "F32") {
    return ir::Tensor::view(ElementType::kFloat32, std::move(extents), bytes);
  }
  return ir::BlockTensor{std::move(extents), std::move(encoding), packed()};
}

std::vector<float> Weight::decode() const {
  std::vector<float> values(num_elements());
  decode(0, values);
  return values;
}

}  // namespace halftone::lm
