// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"

namespace halftone::kernels {
LevelMatmulWeights::LevelMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::BasisEncoding& encoding,
                                       std::span<const float> bias)
    : outputs_(codes.rows),
      inputs_(codes.cols),
      group_inputs_(encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size
                                                                          : codes.cols),
      steps_(weight_steps(codes.bits)),
      has_center_(encoding.has_offset) {
  check_weights("level_matmul", codes, encoding, bias, kMostInputs);
  num_groups_ = encoding.groups_per_row(inputs_);
  group_pieces_ = group_inputs_ / kPiece + (group_inputs_ % kPiece != 0);
  const std::size_t pieces = num_blocks() * num_groups_ * group_pieces_;
  levels_ = AlignedBuffer(pieces * kBlock * kPiece);
  floats_ = AlignedBuffer(num_groups_ * num_blocks() * float_rows() * kBlock * sizeof(float));
  totals_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  pack(codes, encoding);
  if (bias.empty()) return;
  bias_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  std::copy(bias.begin(), bias.end(), bias_.as<float>().begin());
}

void LevelMatmulWeights::pack(const numerics::BitPlanes& codes,
                              const numerics::BasisEncoding& encoding) {
  std::uint8_t* levels = levels_.as<std::uint8_t>().data();
  float* floats = floats_.as<float>().data();
  const std::span<float> totals = totals_.as<float>();
  for (std::size_t o = 0; o < outputs_; ++o) {
    const std::size_t block = o / kBlock;
    const std::size_t lane = o % kBlock;
    for (std::size_t g = 0; g < num_groups_; ++g) {
      const LevelGrid grid(encoding.basis(o, g, inputs_), steps_);
      float* column = floats + (g * num_blocks() + block) * float_rows() * kBlock + lane;
      column[0] = grid.half_step;
      if (has_center_) column[kBlock] = grid.center;
      std::uint8_t* to = levels + (block * num_groups_ + g) * group_pieces_ * kBlock * kPiece;
      const std::size_t begin = g * group_inputs_;
      const std::size_t end = std::min(begin + group_inputs_, inputs_);
      std::int32_t sum = 0;
      for (std::size_t first = begin; first < end; first += 8) {
        const std::size_t last = std::min(first + 8, end);
        std::uint64_t eight = 0;  // codes, a byte each
        for (int j = 0; j < codes.bits; ++j) {
          const auto row = codes.planes.row(codes.plane(o, j));
          eight |= spread_bits(static_cast<std::uint8_t>(bits_between(row, first, last))) << j;
        }
        for (std::size_t i = first - begin; i < last - begin; ++i, eight >>= 8) {
          const std::uint8_t u = grid.u[eight & 255];
          to[(i / kPiece * kBlock + lane) * kPiece + i % kPiece] = u;
          sum += 2 * u - steps_;
        }
      }
      totals[o] += grid.half_step * static_cast<float>(sum);
      if (has_center_) totals[o] += grid.center * static_cast<float>(end - begin);
    }
  }
}

}  // namespace halftone::kernels
