// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <string>

#include "halftone/base/error.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/check_weights.h"

namespace halftone::kernels {
namespace {

/// With more inputs, a dot product would not be exact in float32.
constexpr std::size_t kMaxInputs = std::size_t{1} << 24;

void check(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
           std::span<const float> bias) {
  check_weights("bit_matmul", codes, encoding, bias, kMaxInputs);
  check_summed("bit_matmul", encoding);
  if (encoding.granularity == numerics::Granularity::kGroup) {
    fail(ErrorKind::kUnsupported,
         "bit_matmul weights: expected one basis per tensor or channel, found groups of " +
             std::to_string(encoding.group_size));
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

/// The index of output `o` among the pieces of a block. For look-ups, outputs 0 to 15 are in the
/// even bytes and 16 to 31 in the odd ones, so that sums of bytes are widened in place.
std::size_t lane_of(BitLayout layout, std::size_t o) {
  return layout == BitLayout::kWords ? o : o % 16 * 2 + o / 16;
}

}  // namespace

BitMatmulWeights::BitMatmulWeights(const numerics::BitPlanes& codes,
                                   const numerics::MatrixEncoding& encoding,
                                   std::span<const float> bias, BitLayout layout)
    : layout_(layout),
      outputs_(codes.rows),
      inputs_(codes.cols),
      bits_(static_cast<std::size_t>(codes.bits)),
      words_(codes.planes.row_words()),
      has_offset_(!encoding.is_centred()),
      has_bias_(!bias.empty()) {
  check(codes, encoding, bias);
  planes_ = AlignedBuffer(num_blocks() * bits_ * plane_bytes());
  floats_ = AlignedBuffer(num_blocks() * (bits_ + 3) * block_outputs() * sizeof(float));
  pack_planes(codes);
  pack_floats(codes, encoding, bias);
}

void BitMatmulWeights::pack_planes(const numerics::BitPlanes& codes) {
  static_assert(std::endian::native == std::endian::little, "pieces of words are their low bytes");
  const std::size_t piece = piece_bytes() / block_outputs();
  std::byte* planes = planes_.as<std::byte>().data();
  for (std::size_t o = 0; o < outputs_; ++o) {
    const std::size_t lane = lane_of(layout_, o % block_outputs());
    for (std::size_t j = 0; j < bits_; ++j) {
      const auto plane = std::as_bytes(codes.planes.row(o * bits_ + j));
      std::byte* to = planes + (o / block_outputs() * bits_ + j) * plane_bytes() + lane * piece;
      for (std::size_t p = 0; p < pieces(); ++p) {  // the padding of a plane is zero
        std::memcpy(to + p * piece_bytes(), plane.data() + p * piece, piece);
      }
    }
  }
}

void BitMatmulWeights::pack_floats(const numerics::BitPlanes& codes,
                                   const numerics::MatrixEncoding& encoding,
                                   std::span<const float> bias) {
  const auto floats = floats_.as<float>();
  for (std::size_t o = 0; o < outputs_; ++o) {
    const numerics::Basis basis = encoding.basis(o, 0, inputs_);
    const auto float_row = [&](std::size_t row) -> float& {
      return floats[(o / block_outputs() * (bits_ + 3) + row) * block_outputs() +
                    o % block_outputs()];
    };
    for (std::size_t j = 0; j < bits_; ++j) float_row(j) = basis.a()[j];
    float_row(bits_) = basis.offset;
    float_row(bits_ + 1) = weighted_plane_sum(codes, o, basis);
    float_row(bits_ + 2) = has_bias_ ? bias[o] : 0;
  }
}

}  // namespace halftone::kernels
