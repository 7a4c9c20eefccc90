// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/standard_weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using numerics::Granularity;

constexpr int kMaxNumber = 255;

/// Which integers the codes of a weight are.
struct IntegerForm {
  int bits = 8;
  int lowest = 0;  ///< of QuantizedWeight
  int shift = 0;   ///< code = number - shift
};

/// The shortest integers of at least `least_bits` that hold the numbers low to high.
std::optional<IntegerForm> integers_for(int low, int high, bool has_zero_points, int least_bits) {
  for (int bits = least_bits; bits <= 8; bits *= 2) {
    const int half = 1 << (bits - 1);
    if (!has_zero_points && low >= -half && high < half) return IntegerForm{bits, -half, -half};
    if (high - low < 2 * half) return IntegerForm{bits, 0, low};
  }
  return std::nullopt;
}

/// Neighbours along the last axis that share a scale: what divides a tap of a convolution.
Dim group_of(const ir::EncodedTensor& weights) {
  const auto group = static_cast<Dim>(weights.encoding->group_size);
  const bool is_matrix = static_cast<std::size_t>(weights.shape.back()) == weights.codes.cols;
  return is_matrix ? group : std::gcd(group, weights.shape.back());
}

std::vector<Dim> standard_blocks(const ir::EncodedTensor& weights) {
  const auto dims = weights.shape.dims();
  std::vector<Dim> blocks(dims.begin(), dims.end());
  if (weights.encoding->granularity == Granularity::kTensor) return blocks;
  blocks[0] = 1;
  if (weights.encoding->granularity == Granularity::kChannel) return blocks;
  std::ranges::fill(blocks, 1);
  blocks.back() = group_of(weights);
  return blocks;
}

/// For each block of the weight in ONNX's form, its block of the encoding.
std::vector<std::size_t> sources_of(const ir::EncodedTensor& weights, std::size_t count) {
  const numerics::MatrixEncoding& encoding = *weights.encoding;
  std::vector<std::size_t> sources(count);
  std::iota(sources.begin(), sources.end(), std::size_t{0});
  if (encoding.granularity != Granularity::kGroup) return sources;
  const auto [rows, cols] = ir::matrix_extent(weights.shape);
  const auto group = static_cast<std::size_t>(group_of(weights));
  const auto width = static_cast<std::size_t>(weights.shape.back());
  std::size_t at = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t tap = 0; tap < cols; tap += width) {
      for (std::size_t i = 0; i < width; i += group) {
        sources[at++] = encoding.block(row, (tap + i) / encoding.group_size, cols);
      }
    }
  }
  return sources;
}

/// Sets scales, each a multiple of the stored one, in the order of ONNX's blocks.
void set_standard_scales(const ir::EncodedTensor& weights, float step, QuantizedWeight& weight) {
  weight.blocks = standard_blocks(weights);
  const ir::Shape counts = QuantizedWeight::block_counts(weights.shape, weight.blocks);
  weight.scales = ir::Tensor(ir::ElementType::kFloat32, counts);
  weight.zero_points = ir::Tensor(ir::ElementType::kFloat32, counts);
  const auto sources = sources_of(weights, weight.scales.size());
  const auto scales = weight.scales.as<float>();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = step * weights.encoding->scales[sources[i]];
  }
}

template <typename CodeOf>
ir::Tensor standard_codes(const ir::EncodedTensor& weights, const CodeOf& code_of) {
  ir::Tensor codes(ir::ElementType::kUint8, weights.shape);
  const auto bytes = codes.as<std::uint8_t>();
  const std::size_t cols = weights.codes.cols;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(code_of(weights.codes.code(i / cols, i % cols)));
  }
  return codes;
}

/// Offsets of all blocks in steps below zero; empty if they are no whole numbers.
std::vector<int> zero_points_of(const numerics::MatrixEncoding& encoding, float step) {
  std::vector<int> zeros;
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    const auto zero = zero_point(encoding, block, step);
    if (!zero) return {};
    zeros.push_back(*zero);
  }
  return zeros;
}

/// Integers with zero points of floats.
StandardWeight shifted_weight(const ir::EncodedTensor& weights, const Multiples& multiples) {
  const numerics::MatrixEncoding& encoding = *weights.encoding;
  const auto [low, high] = std::ranges::minmax(multiples.numbers);
  const auto form = integers_for(low, high, true, 2);
  if (!form) return {{}, "levels that are no integers of 8 bits"};
  QuantizedWeight weight;
  weight.bits = form->bits;
  weight.set_codes(standard_codes(
      weights, [&](numerics::Code code) { return multiples.numbers[code] - form->shift; }));
  set_standard_scales(weights, multiples.step, weight);
  const auto sources = sources_of(weights, weight.scales.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const float zero = -encoding.offsets[sources[i]] / weight.scales.as<float>()[i];
    weight.zero_points.as<float>()[i] = zero - static_cast<float>(form->shift);
  }
  return {std::move(weight), {}};
}

StandardWeight integer_weight(const ir::EncodedTensor& weights, const Multiples& multiples,
                              bool for_nbits) {
  const std::vector<int> zeros = zero_points_of(*weights.encoding, multiples.step);
  if (zeros.empty() && for_nbits) return shifted_weight(weights, multiples);
  if (zeros.empty()) return {{}, "offsets that are no multiples of their scales"};
  const auto [low_zero, high_zero] = std::ranges::minmax(zeros);
  const auto [low, high] = std::ranges::minmax(multiples.numbers);
  const bool has_zeros = low_zero != 0 || high_zero != 0;
  const auto form = integers_for(std::min(low, low_zero), std::max(high, high_zero), has_zeros,
                                 for_nbits ? 2 : 4);
  if (!form) return {{}, "levels that are no integers of 8 bits"};
  QuantizedWeight weight;
  weight.bits = form->bits;
  weight.lowest = form->lowest;
  weight.set_codes(standard_codes(
      weights, [&](numerics::Code code) { return multiples.numbers[code] - form->shift; }));
  set_standard_scales(weights, multiples.step, weight);
  const auto sources = sources_of(weights, weight.scales.size());
  const int shift = form->lowest == 0 ? form->shift : 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    weight.zero_points.as<float>()[i] = static_cast<float>(zeros[sources[i]] - shift);
  }
  return {std::move(weight), {}};
}

}  // namespace

const numerics::NumberSystem* standard_floats(const numerics::Codebook& codebook) {
  if (!codebook.format()) return nullptr;
  for (const std::string_view name : {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1"}) {
    const auto& system = numerics::find_system(name);
    if (!system.allows(codebook.bits())) continue;
    if (numerics::codebook_of(system, codebook.bits())->format() == codebook.format()) {
      return &system;
    }
  }
  return nullptr;
}

std::optional<Multiples> multiples_of(const numerics::Codebook& codebook) {
  for (float step = 1; step >= 1.0F / 256; step /= 2) {
    const bool are_whole = std::ranges::all_of(codebook.levels(), [step](float level) {
      return std::isfinite(level) && std::abs(level) <= kMaxNumber * step &&
             level / step == std::round(level / step);
    });
    if (!are_whole) continue;
    Multiples multiples;
    multiples.step = step;
    for (const float level : codebook.levels()) {
      multiples.numbers.push_back(static_cast<int>(level / step));
    }
    return multiples;
  }
  return std::nullopt;
}

std::optional<int> zero_point(const numerics::MatrixEncoding& encoding, std::size_t block,
                              float step) {
  if (!encoding.has_offset) return 0;
  // Offset and scale are rounded to float32, their quotient has twice that error.
  constexpr double kMaxError = 0x1p-22;
  const double zero = -static_cast<double>(encoding.offsets[block]) /
                      (static_cast<double>(encoding.scales[block]) * static_cast<double>(step));
  if (std::abs(zero) > 2 * kMaxNumber) return std::nullopt;
  const double whole = std::round(zero);
  if (std::abs(zero - whole) > kMaxError * std::abs(whole)) return std::nullopt;
  return static_cast<int>(whole);
}

StandardWeight standard_weight(const ir::EncodedTensor& weights, bool for_nbits) {
  const numerics::Codebook* codebook = weights.encoding->codebook.get();
  if (codebook == nullptr) return {{}, "learned levels"};
  const numerics::NumberSystem* floats = standard_floats(*codebook);
  if (floats != nullptr && !weights.encoding->has_offset) {
    QuantizedWeight weight;
    weight.floats = floats;
    weight.bits = codebook->bits();
    weight.set_codes(standard_codes(weights, [](numerics::Code code) { return code; }));
    set_standard_scales(weights, 1, weight);
    return {std::move(weight), {}};
  }
  const auto multiples = multiples_of(*codebook);
  if (!multiples) return {{}, "levels of " + codebook->name() + " that are no integers of 8 bits"};
  return integer_weight(weights, *multiples, for_nbits);
}

}  // namespace halftone::formats::onnx
