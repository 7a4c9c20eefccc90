// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/bit_matmul/bit_matmul.h"

#include <bit>
#include <cstring>
#include <string>

#include "halftone/base/error.h"
#include "halftone/kernels/encoded.h"

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

/// n - 2 popcount(a xor b): the dot product of two rows of +-1.
float dot(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::size_t n) {
  std::int64_t differences = 0;
  for (std::size_t w = 0; w < a.size(); ++w) differences += std::popcount(a[w] ^ b[w]);
  return static_cast<float>(static_cast<std::int64_t>(n) - 2 * differences);
}

/// 2 popcount(a) - n: the sum of a row of +-1.
float plane_sum(std::span<const std::uint64_t> a, std::size_t n) {
  std::int64_t ones = 0;
  for (const std::uint64_t word : a) ones += std::popcount(word);
  return static_cast<float>(2 * ones - static_cast<std::int64_t>(n));
}

/// sum_i a_i S_i over the planes of a row.
float weighted_sum(const numerics::BitPlanes& codes, std::size_t row,
                   const numerics::Basis& basis) {
  float sum = 0;
  for (int i = 0; i < codes.bits; ++i) {
    sum += basis.a()[static_cast<std::size_t>(i)] *
           plane_sum(codes.planes.row(codes.plane(row, i)), codes.cols);
  }
  return sum;
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

BitLayout preferred_bit_layout(std::size_t outputs, std::size_t inputs) {
  // Measured on Zen 3: for few outputs, blocks of 8 save more padding than look-ups gain. Long
  // rows, which come from the third-level cache, stream better word by word.
  constexpr std::size_t kFewOutputs = 16;
  constexpr std::size_t kLongRow = 2048;
  const bool pays = outputs > kFewOutputs && inputs <= kLongRow;
  return pays && lookup_beats_popcount() ? BitLayout::kLookup : BitLayout::kWords;
}

void bit_matmul(std::span<const std::uint64_t> x, const numerics::Basis& x_basis,
                const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.size() == y.rows() * x_basis.a().size() * weights.words());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  const auto kernel = weights.layout() == BitLayout::kWords ? bit_matmul_words : bit_matmul_lookup;
  kernel(x.data(), x_basis, weights, blocks, y);
}

void bit_matmul_reference(const EncodedInputs& inputs, const EncodedWeights& weights,
                          MatrixView<float> y) {
  const auto& [x, basis] = inputs;
  const numerics::BitPlanes& w = weights.codes;
  const std::size_t n = x.cols;
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t o = 0; o < w.rows; ++o) {
      const numerics::Basis w_basis = weights.encoding.basis(o, 0, n);
      float acc = 0;
      for (int i = 0; i < x.bits; ++i) {
        for (int j = 0; j < w.bits; ++j) {
          const float a =
              basis.a()[static_cast<std::size_t>(i)] * w_basis.a()[static_cast<std::size_t>(j)];
          acc += a * dot(x.planes.row(x.plane(r, i)), w.planes.row(w.plane(o, j)), n);
        }
      }
      if (!weights.encoding.is_centred()) {
        acc += w_basis.offset * (weighted_sum(x, r, basis) + static_cast<float>(n) * basis.offset);
      }
      if (basis.offset != 0) acc += basis.offset * weighted_sum(w, o, w_basis);
      if (!weights.bias.empty()) acc += weights.bias[o];
      y(r, o) = acc;
    }
  }
}

}  // namespace halftone::kernels
