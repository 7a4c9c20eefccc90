// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/quantized_weight.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "halftone/formats/onnx/axis_order.h"
#include "halftone/ir/operator.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using numerics::Granularity;
using numerics::StoredNumbers;

/// Calls visit(element, block) for all elements in order.
template <typename Visit>
void for_each_element(const QuantizedWeight& weight, const Visit& visit) {
  const auto dims = weight.shape.dims();
  const auto counts = weight.scales.shape().dims();
  std::vector<Dim> at(dims.size(), 0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    Dim block = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      block = block * counts[axis] + at[axis] / weight.blocks[axis];
    }
    visit(i, static_cast<std::size_t>(block));
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}

/// Which numbers of the matrix share a scale.
struct Blocks {
  Granularity granularity;
  std::size_t group_size = 0;
};

/// The blocks of the matrix whose rows are the first axis; nothing if it has no such blocks.
std::optional<Blocks> matrix_blocks(const QuantizedWeight& weight) {
  const auto dims = weight.shape.dims();
  const auto counts = weight.scales.shape().dims();
  if (dims.empty()) return std::nullopt;
  if (weight.scales.size() == 1) return Blocks{Granularity::kTensor};
  if (counts[0] != dims[0]) return std::nullopt;
  if (weight.scales.size() == static_cast<std::size_t>(dims[0])) {
    return Blocks{Granularity::kChannel};
  }
  const Dim group = std::min(weight.blocks.back(), dims.back());
  Dim rows = 1;  // of the last axis, in a row of the matrix
  for (std::size_t axis = 1; axis + 1 < dims.size(); ++axis) {
    if (counts[axis] != dims[axis]) return std::nullopt;
    rows *= dims[axis];
  }
  if (rows != 1 && dims.back() % group != 0) return std::nullopt;
  return Blocks{Granularity::kGroup, static_cast<std::size_t>(group)};
}

float middle(const QuantizedWeight& weight) {
  return static_cast<float>(weight.lowest + (1 << (weight.bits - 1)));
}

/// Whether the codes are those of `int`.
bool is_centred(const QuantizedWeight& weight) {
  const float zero = middle(weight);
  return std::ranges::all_of(weight.zero_points.as<float>(),
                             [zero](float each) { return each == zero; });
}

const numerics::NumberSystem& weight_system(const QuantizedWeight& weight) {
  if (weight.floats != nullptr) return *weight.floats;
  return numerics::find_system(is_centred(weight) ? "int" : "affine");
}

/// Sets scales and offsets, in the order of the blocks of the weight.
void set_scales(const QuantizedWeight& weight, numerics::MatrixEncoding& encoding) {
  const auto scales = weight.scales.as<float>();
  const auto zeros = weight.zero_points.as<float>();
  std::vector<float> own(scales.begin(), scales.end());
  std::vector<float> offsets;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const float zero = zeros[i] - static_cast<float>(weight.lowest);
    if (encoding.has_offset) offsets.push_back(-zero * own[i]);
    if (own[i] == 0) own[i] = numerics::least_scale(numerics::NumberType::kFloat32);
  }
  encoding.scales = StoredNumbers::of(own).compact();
  encoding.offsets = StoredNumbers::of(offsets).compact();
}

/// The code of level 0.
numerics::Code zero_code(const QuantizedWeight& weight, bool is_affine) {
  if (weight.floats != nullptr || is_affine) return 0;
  return static_cast<numerics::Code>(1 << (weight.bits - 1));
}

numerics::BitPlanes planes_of(const QuantizedWeight& weight, bool is_affine) {
  const ir::MatrixExtent extent = ir::matrix_extent(weight.shape);
  const std::size_t cols = extent.cols;
  numerics::BitPlanes planes(extent.rows, cols, weight.bits);
  const auto scales = weight.scales.as<float>();
  const numerics::Code zero = zero_code(weight, is_affine);
  for_each_element(weight, [&](std::size_t i, std::size_t block) {
    const bool is_zero = scales[block] == 0;
    planes.set_code(i / cols, i % cols, is_zero ? zero : numerics::Code{weight.code(i)});
  });
  return planes;
}

/// Blocks of one channel or the whole tensor, or of `group_size` neighbours along the last axis.
std::vector<Dim> encoded_blocks(const ir::EncodedTensor& weights) {
  const auto dims = weights.shape.dims();
  std::vector<Dim> blocks(dims.begin(), dims.end());
  const numerics::MatrixEncoding& encoding = *weights.encoding;
  if (encoding.granularity == Granularity::kChannel) blocks[0] = 1;
  if (encoding.granularity == Granularity::kGroup) {
    std::ranges::fill(blocks, 1);
    blocks.back() = static_cast<Dim>(encoding.group_size);
  }
  return blocks;
}

/// The integer that the quotient of two rounded numbers represents, if it is next to one.
float nearly_whole(float x) {
  const float whole = std::round(x);
  return std::abs(x - whole) <= 1e-6F * (1 + std::abs(whole)) ? whole : x;
}

std::vector<float> all_of(const StoredNumbers& numbers) {
  std::vector<float> values(numbers.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = numbers[i];
  return values;
}

}  // namespace

ir::Tensor codes_of(const QuantizedWeight& weight) {
  ir::Tensor codes(ir::ElementType::kUint8, weight.shape);
  const auto to = codes.as<std::uint8_t>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = weight.code(i);
  return codes;
}

void QuantizedWeight::set_codes(ir::Tensor codes) {
  const auto held = std::make_shared<const ir::Tensor>(std::move(codes));
  shape = held->shape();
  bytes = held->as<std::uint8_t>();
  first_byte = 0;
  owner = held;
}

ir::Shape QuantizedWeight::block_counts(const ir::Shape& shape, const std::vector<Dim>& blocks) {
  std::vector<Dim> counts;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    counts.push_back(shape[i] == 0 ? 0 : (shape[i] - 1) / blocks[i] + 1);
  }
  return ir::Shape(std::move(counts));
}

QuantizedWeight permuted(const QuantizedWeight& weight,
                         const std::vector<std::size_t>& permutation) {
  QuantizedWeight result;
  result.name = weight.name;
  result.floats = weight.floats;
  result.bits = weight.bits;
  result.lowest = weight.lowest;
  result.set_codes(in_order(codes_of(weight), permutation));
  result.scales = in_order(weight.scales, permutation);
  result.zero_points = in_order(weight.zero_points, permutation);
  for (const std::size_t axis : permutation) result.blocks.push_back(weight.blocks[axis]);
  return result;
}

std::optional<ir::EncodedTensor> encode(const QuantizedWeight& weight) {
  const auto blocks = matrix_blocks(weight);
  if (!blocks || weight.size() == 0) return std::nullopt;
  const numerics::NumberSystem& system = weight_system(weight);
  auto encoding = std::make_shared<numerics::MatrixEncoding>();
  encoding->bits = weight.bits;
  encoding->codebook = numerics::codebook_of(system, weight.bits);
  encoding->has_offset = system.has_offset;
  encoding->granularity = blocks->granularity;
  encoding->group_size = blocks->group_size;
  set_scales(weight, *encoding);
  return ir::EncodedTensor{weight.shape, encoding, planes_of(weight, system.has_offset)};
}

ir::Tensor decode(const QuantizedWeight& weight) {
  std::vector<float> levels(std::size_t{1} << weight.bits);
  if (weight.floats != nullptr) {
    std::ranges::copy(numerics::codebook_of(*weight.floats, weight.bits)->levels(), levels.begin());
  } else {
    for (std::size_t code = 0; code < levels.size(); ++code) {
      levels[code] = static_cast<float>(weight.lowest + static_cast<std::int32_t>(code));
    }
  }
  ir::Tensor result(ir::ElementType::kFloat32, weight.shape);
  const auto values = result.as<float>();
  const auto scales = weight.scales.as<float>();
  const auto zeros = weight.zero_points.as<float>();
  for_each_element(weight, [&](std::size_t i, std::size_t block) {
    values[i] = (levels[weight.code(i)] - zeros[block]) * scales[block];
  });
  return result;
}

std::optional<AffineIntegers> affine_integers(const QuantizedWeight& weight) {
  if (weight.floats != nullptr) return std::nullopt;
  const auto dims = weight.shape.dims();
  const auto counts = weight.scales.shape().dims();
  AffineIntegers result;
  std::size_t num_split = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (counts[axis] == 1) continue;
    if (counts[axis] != dims[axis]) return std::nullopt;
    result.parameters.axis = axis;
    ++num_split;
  }
  if (num_split > 1) return std::nullopt;
  const auto scales = weight.scales.as<float>();
  if (std::ranges::any_of(scales, [](float scale) { return scale <= 0; })) return std::nullopt;
  result.parameters.scales.assign(scales.begin(), scales.end());
  for (const float zero : weight.zero_points.as<float>()) {
    result.parameters.zero_points.push_back(static_cast<std::int32_t>(zero));
  }
  const bool is_signed = weight.lowest < 0;
  result.integers =
      ir::Tensor(is_signed ? ir::ElementType::kInt8 : ir::ElementType::kUint8, weight.shape);
  const std::span<std::byte> integers = result.integers.bytes();
  for (std::size_t i = 0; i < integers.size(); ++i) {
    integers[i] = static_cast<std::byte>(weight.code(i) + weight.lowest);
  }
  return result;
}

bool has_nbits_groups(const numerics::MatrixEncoding& encoding) {
  constexpr std::size_t kLeast = 16;
  const std::size_t size = encoding.group_size;
  return encoding.granularity == Granularity::kGroup && size >= kLeast && (size & (size - 1)) == 0;
}

QuantizedWeight quantized_weight(const ir::EncodedTensor& weights) {
  const numerics::MatrixEncoding& encoding = *weights.encoding;
  QuantizedWeight result;
  result.bits = encoding.bits;
  if (encoding.codebook->name() == "int") {
    result.lowest = -(1 << (encoding.bits - 1));
  } else if (!encoding.has_offset) {
    result.floats = &numerics::find_system(encoding.codebook->name());
  }
  result.blocks = encoded_blocks(weights);
  ir::Tensor all(ir::ElementType::kUint8, weights.shape);
  const std::span<std::uint8_t> codes = all.as<std::uint8_t>();
  const std::size_t cols = weights.codes.cols;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(weights.codes.code(i / cols, i % cols));
  }
  result.set_codes(std::move(all));
  const ir::Shape counts = QuantizedWeight::block_counts(weights.shape, result.blocks);
  const std::vector<float> scales = all_of(encoding.scales);
  std::vector<float> zeros(scales.size(), 0.0F);
  for (std::size_t i = 0; i < encoding.offsets.size(); ++i) {
    zeros[i] = nearly_whole(-encoding.offsets[i] / scales[i]);
  }
  result.scales = ir::Tensor::from<float>(counts, scales);
  result.zero_points = ir::Tensor::from<float>(counts, zeros);
  return result;
}

}  // namespace halftone::formats::onnx
