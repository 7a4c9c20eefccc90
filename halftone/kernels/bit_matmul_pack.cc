// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "halftone/kernels/bit_matmul.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kMaxInputs = std::size_t{1} << 24;

void check(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
           std::span<const float> bias) {
  const auto context = [&] {
    return "bit_matmul weights of " + std::to_string(codes.rows) + " x " +
           std::to_string(codes.cols) + ": ";
  };
  if (encoding.granularity == numerics::Granularity::kGroup) {
    fail(ErrorKind::kUnsupported, context() +
                                      "expected one basis per tensor or channel, found "
                                      "groups of " +
                                      std::to_string(encoding.group_size));
  }
  if (codes.cols > kMaxInputs) {
    fail(ErrorKind::kUnsupported,
         context() + "expected at most " + std::to_string(kMaxInputs) + " inputs");
  }
  with_context("bit_matmul weights", [&] { encoding.check(codes.rows, codes.cols); });
  if (codes.bits != encoding.bits) {
    fail(ErrorKind::kShape, context() + "expected codes of " + std::to_string(encoding.bits) +
                                " bits, found " + std::to_string(codes.bits));
  }
  if (!bias.empty() && bias.size() != codes.rows) {
    fail(ErrorKind::kShape,
         context() + "expected a bias for each output, found " + std::to_string(bias.size()));
  }
}

/// sum_j a_j T_j with T_j = 2 popcount(w_j) - n, the sum from 0 up in float32.
float weighted_plane_sum(const numerics::BitPlanes& codes, std::size_t row,
                         const numerics::Basis& basis) {
  float sum = 0;
  for (int j = 0; j < codes.bits; ++j) {
    const auto ones = static_cast<std::int64_t>(codes.planes.count(codes.plane(row, j)));
    const auto plane_sum = 2 * ones - static_cast<std::int64_t>(codes.cols);
    sum += basis.a()[static_cast<std::size_t>(j)] * static_cast<float>(plane_sum);
  }
  return sum;
}

}  // namespace

BitMatmulWeights::BitMatmulWeights(const numerics::BitPlanes& codes,
                                   const numerics::BasisEncoding& encoding,
                                   std::span<const float> bias)
    : outputs_(codes.rows),
      inputs_(codes.cols),
      bits_(static_cast<std::size_t>(codes.bits)),
      words_(codes.planes.row_words()),
      has_offset_(encoding.has_offset),
      has_bias_(!bias.empty()) {
  check(codes, encoding, bias);
  planes_ = AlignedBuffer(num_blocks() * bits_ * words_ * kOutputBlock * sizeof(std::uint64_t));
  floats_ = AlignedBuffer(num_blocks() * (bits_ + 3) * kOutputBlock * sizeof(float));
  const auto planes = planes_.as<std::uint64_t>();
  const auto floats = floats_.as<float>();
  for (std::size_t o = 0; o < outputs_; ++o) {
    const std::size_t block = o / kOutputBlock;
    const std::size_t lane = o % kOutputBlock;
    const numerics::Basis& basis = encoding.basis(o, 0, inputs_);
    const auto float_row = [&](std::size_t row) -> float& {
      return floats[(block * (bits_ + 3) + row) * kOutputBlock + lane];
    };
    for (std::size_t j = 0; j < bits_; ++j) {
      const auto plane = codes.planes.row(o * bits_ + j);
      for (std::size_t w = 0; w < words_; ++w) {
        planes[((block * bits_ + j) * words_ + w) * kOutputBlock + lane] = plane[w];
      }
      float_row(j) = basis.a()[j];
    }
    float_row(bits_) = basis.offset;
    float_row(bits_ + 1) = weighted_plane_sum(codes, o, basis);
    float_row(bits_ + 2) = has_bias_ ? bias[o] : 0;
  }
}

}  // namespace halftone::kernels
