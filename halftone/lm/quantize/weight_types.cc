// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/weight_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/fit/nested_fit.h"
#include "halftone/numerics/nested_encoding.h"
#include "halftone/numerics/system_encoding.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::lm {
namespace {

using compress::GroupFit;
using numerics::BlockEncoding;
using numerics::GroupScales;

std::vector<WeightType> all_types() {
  std::vector<WeightType> types;
  for (const formats::GgufType& gguf : formats::gguf_types()) {
    if (gguf.pack != nullptr)
      types.push_back({std::string(gguf.name), &gguf, numerics::without_owner(gguf)});
  }
  for (const std::string_view rate : numerics::vector_rates()) {
    types.push_back({std::string(rate), nullptr,
                     std::make_shared<const numerics::VectorEncoding>(
                         numerics::shipped_vector_basis(rate), 1.0F)});
  }
  std::ranges::stable_sort(types, {}, &WeightType::bits);
  return types;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

/// Of weight_types(), or null.
const WeightType* listed_type(std::string_view name) {
  for (const WeightType& type : weight_types()) {
    if (upper(type.name) == upper(name)) return &type;
  }
  return nullptr;
}

const WeightType& nested_type() {
  static const WeightType type{std::string(numerics::kNestedName), nullptr,
                               numerics::without_owner(numerics::nested_encoding())};
  return type;
}

const WeightType& system_type(const numerics::SystemEncoding& encoding) {
  static std::mutex mutex;
  static std::map<const numerics::SystemEncoding*, WeightType> types;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = types.try_emplace(&encoding);
  if (is_new) {
    at->second = {std::string(encoding.name), nullptr, numerics::without_owner(encoding)};
  }
  return at->second;
}

/// Packs the rows of a fit. What is missing of the last block of a row has the first codeword.
class RowPacker {
 public:
  RowPacker(const GroupFit& fit, const WeightType& type, const BlockEncoding& encoding)
      : fit_(fit), type_(type), encoding_(encoding) {}

  void pack(std::size_t row, std::byte* bytes) const {
    const std::size_t blocks = type_.blocks_per_row(fit_.cols);
    for (std::size_t b = 0; b < blocks; ++b) {
      std::byte* to = bytes + b * encoding_.block_bytes;
      if (encoding_.pack != nullptr) {
        pack_levels(row, b, to);
      } else if (type_.is_vector()) {
        pack_vectors(row, b, to);
      } else {
        pack_numbers(row, b, to);
      }
    }
  }

 private:
  /// The codes of a block: [block / d].
  void take_codes(std::size_t row, std::size_t b, std::span<std::uint16_t> codes) const {
    const std::size_t per_row = encoding_.codes_per_row(fit_.cols);
    const std::size_t first = b * codes.size();
    const std::size_t count = std::min(codes.size(), per_row - first);
    const auto from = fit_.codes.begin() + static_cast<std::ptrdiff_t>(row * per_row + first);
    const auto end = std::copy_n(from, count, codes.begin());
    std::fill(end, codes.end(), std::uint16_t{0});
  }
  /// The numbers of the groups of a block.
  static void take_groups(const std::vector<float>& all, std::size_t first, std::size_t end,
                          std::span<float> numbers) {
    for (std::size_t g = 0; g < numbers.size(); ++g) {
      numbers[g] = first + g < end ? all[first + g] : 0;
    }
  }
  /// What a block of a fit has.
  struct Block {
    std::array<std::uint16_t, numerics::kMaxBlock> codes;
    std::array<float, numerics::kMaxBlock / 16> scales;
    std::array<float, numerics::kMaxBlock / 16> offsets;
    std::size_t groups = 0;
    float scale_factor = 1;
    float offset_factor = 1;
  };
  void take_block(std::size_t row, std::size_t b, Block& to) const {
    take_codes(row, b, std::span(to.codes).first(encoding_.block));
    const std::size_t per_row = encoding_.groups_per_row(fit_.cols);
    to.groups = encoding_.block / encoding_.group;
    const std::size_t first = row * per_row + b * to.groups;
    take_groups(fit_.scales, first, (row + 1) * per_row, std::span(to.scales).first(to.groups));
    if (encoding_.has_offsets) {
      take_groups(fit_.offsets, first, (row + 1) * per_row, std::span(to.offsets).first(to.groups));
    }
    if (encoding_.scales == GroupScales::kHalfTimesByte) {
      const std::size_t factor = row * encoding_.factors_per_row(fit_.cols) + b;
      to.scale_factor = fit_.scale_factors[factor];
      if (encoding_.has_offsets) to.offset_factor = fit_.offset_factors[factor];
    }
  }
  void pack_levels(std::size_t row, std::size_t b, std::byte* to) const {
    Block block;
    take_block(row, b, block);
    std::array<std::int8_t, numerics::kMaxBlock> levels;
    for (std::size_t i = 0; i < encoding_.block; ++i) {
      levels[i] = static_cast<std::int8_t>(encoding_.levels.level(block.codes[i]));
    }
    encoding_.pack(
        encoding_,
        {levels.data(), block.scales.data(), encoding_.has_offsets ? block.offsets.data() : nullptr,
         block.scale_factor, block.offset_factor},
        to);
  }
  void pack_numbers(std::size_t row, std::size_t b, std::byte* to) const {
    Block block;
    take_block(row, b, block);
    const std::size_t offsets = encoding_.has_offsets ? block.groups : 0;
    static_cast<const numerics::SystemEncoding&>(encoding_).pack_codes(
        {std::span(block.codes).first(encoding_.block), std::span(block.scales).first(block.groups),
         std::span(block.offsets).first(offsets), block.scale_factor, block.offset_factor},
        to);
  }
  void pack_vectors(std::size_t row, std::size_t b, std::byte* to) const {
    const auto& encoding = static_cast<const numerics::VectorEncoding&>(encoding_);
    std::array<std::uint16_t, numerics::VectorEncoding::kBlock> codes;
    const auto used = std::span(codes).first(encoding.codes_per_block());
    take_codes(row, b, used);
    const float scale = fit_.scales[row * encoding_.groups_per_row(fit_.cols) + b];
    encoding.pack_codes(used, fit_.scale_factors[0] > 0 ? scale : 1, to);
  }

  const GroupFit& fit_;
  const WeightType& type_;
  const BlockEncoding& encoding_;
};

}  // namespace

std::span<const WeightType> weight_types() {
  static const std::vector<WeightType> types = all_types();
  return types;
}

const WeightType& weight_type(std::string_view name) {
  if (const WeightType* type = listed_type(name)) return *type;
  if (name == numerics::kNestedName) return nested_type();
  if (const numerics::SystemEncoding* encoding = numerics::system_encoding(name)) {
    return system_type(*encoding);
  }
  std::string names;
  for (const WeightType& type : weight_types()) names += type.name + ", ";
  // llama.cpp's names of mixtures: Q4_K_M is mostly Q4_K.
  const std::string own = upper(name);
  const std::string mostly = own.substr(0, own.rfind('_'));
  const bool is_mixture = own.ends_with("_S") || own.ends_with("_M") || own.ends_with("_L");
  const bool is_known = is_mixture && std::ranges::any_of(weight_types(), [&](const auto& type) {
                          return upper(type.name) == mostly;
                        });
  fail(ErrorKind::kUsage,
       "type of weights '" + std::string(name) +
           "': " + (is_known ? "a mixture of types; did you mean " + mostly + "? " : "") +
           "expected one of " + names +
           "nested3+4, or a number system of up to 8 bits, such as nvfp4, nf4, int3 or int4/64 "
           "(halftone systems lists them)");
}

numerics::SharedBlockEncoding encoding_of(const WeightType& type, float factor) {
  if (!numerics::has_tensor_factor(type.encoding->scales)) return type.encoding;
  if (!type.is_vector()) {
    return static_cast<const numerics::SystemEncoding&>(*type.encoding).with_factor(factor);
  }
  return std::make_shared<const numerics::VectorEncoding>(type.encoding->basis->shared_from_this(),
                                                          factor);
}

GroupFit fit_to_type(const WeightType& type, MatrixView<const float> weights,
                     const compress::Metric<float>& metric,
                     const compress::MatrixFitOptions& options) {
  return type.is_nested() ? compress::fit_nested(weights, metric, options)
                          : compress::fit_matrix(weights, metric, *type.encoding, options);
}

EncodedMatrix encode_fit(const GroupFit& fit, const WeightType& type) {
  // A vector basis has no zero. A matrix of zeros, whose factor is 0, becomes numbers of 1e-36 and
  // below: with anything that a layer reads, their sums are no different from 0 in float32.
  const float factor = numerics::has_tensor_factor(type.encoding->scales)
                           ? std::max(fit.scale_factors[0], std::numeric_limits<float>::min())
                           : 1;
  numerics::SharedBlockEncoding encoding = encoding_of(type, factor);
  const std::size_t row_bytes = type.size_bytes(1, fit.cols);
  std::vector<std::byte> bytes(fit.rows * row_bytes);
  const RowPacker packer(fit, type, *encoding);
  parallel_for(fit.rows,
               [&](std::size_t row) { packer.pack(row, bytes.data() + row * row_bytes); });
  return {std::move(encoding), own_bytes(std::move(bytes))};
}

}  // namespace halftone::lm
