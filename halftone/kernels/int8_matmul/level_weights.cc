// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"

namespace halftone::kernels {
namespace {

std::size_t pieces_of(std::size_t inputs, std::size_t piece) {
  return inputs / piece + (inputs % piece != 0);
}

/// Codes of 8 inputs of an output, a byte each, the first one in the lowest.
std::uint64_t eight_codes(const numerics::BitPlanes& codes, std::size_t output, std::size_t first,
                          std::size_t last) {
  std::uint64_t eight = 0;
  for (int j = 0; j < codes.bits; ++j) {
    const auto row = codes.planes.row(codes.plane(output, j));
    eight |= spread_bits(static_cast<std::uint8_t>(bits_between(row, first, last))) << j;
  }
  return eight;
}

}  // namespace

LevelMatmulWeights::LevelMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::BasisEncoding& encoding,
                                       std::span<const float> bias, LevelLayout layout)
    : Int8Weights("level_matmul", codes, encoding, bias, kMostInputs),
      layout_(layout),
      steps_(weight_steps(codes.bits)) {
  const std::size_t entries = num_blocks() * num_groups() * kBlock;
  if (layout == LevelLayout::kBytes) {
    group_bytes_ = pieces_of(group_inputs(), kByteInputs) * kByteInputs * kBlock;
  } else {
    if (codes.bits > kMostNibbleBits) {
      fail(ErrorKind::kUnsupported, "level_matmul weights in nibbles: expected at most " +
                                        std::to_string(kMostNibbleBits) + " bits, found " +
                                        std::to_string(codes.bits));
    }
    group_bytes_ = pieces_of(group_inputs(), kNibbleInputs) * kNibbleInputs / 2 * kBlock;
    tables_ = AlignedBuffer(entries * kTableBytes);
  }
  weights_ = AlignedBuffer(num_blocks() * num_groups() * group_bytes_);
  floats_ = AlignedBuffer(entries * float_rows() * sizeof(float));
  pack(codes, encoding);
}

void LevelMatmulWeights::pack(const numerics::BitPlanes& codes,
                              const numerics::BasisEncoding& encoding) {
  float* floats = floats_.as<float>().data();
  for (std::size_t o = 0; o < outputs(); ++o) {
    const std::size_t block = o / kBlock;
    const std::size_t lane = o % kBlock;
    for (std::size_t g = 0; g < num_groups(); ++g) {
      const LevelGrid grid(encoding.basis(o, g, inputs()), steps_);
      float* column = floats + (g * num_blocks() + block) * float_rows() * kBlock + lane;
      column[0] = grid.half_step;
      if (has_offset()) column[kBlock] = grid.center;
      pack_group(codes, grid, o, g);
    }
  }
}

void LevelMatmulWeights::pack_group(const numerics::BitPlanes& codes, const LevelGrid& grid,
                                    std::size_t output, std::size_t group) {
  const std::size_t block = output / kBlock;
  const std::size_t lane = output % kBlock;
  const std::size_t begin = group_begin(group);
  const std::size_t end = group_end(group);
  std::uint8_t* to =
      weights_.as<std::uint8_t>().data() + (block * num_groups() + group) * group_bytes_;
  const bool nibbles = layout_ == LevelLayout::kNibbles;
  if (nibbles) {
    std::copy_n(grid.u.begin(), kTableBytes,
                tables_.as<std::uint8_t>().data() +
                    ((block * num_groups() + group) * kBlock + lane) * kTableBytes);
    to += lane / kNibbleOutputs * (group_bytes_ / (kBlock / kNibbleOutputs)) +
          lane % kNibbleOutputs * (kNibbleInputs / 2);
  } else {
    to += lane * kByteInputs;
  }
  std::int32_t sum = 0;
  for (std::size_t first = begin; first < end; first += 8) {
    const std::size_t last = std::min(first + 8, end);
    std::uint64_t eight = eight_codes(codes, output, first, last);
    for (std::size_t i = first - begin; i < last - begin; ++i, eight >>= 8) {
      const auto code = static_cast<std::uint8_t>(eight);
      if (nibbles) {
        constexpr std::size_t kHalf = kNibbleInputs / 2;
        to[i / kNibbleInputs * kNibbleOutputs * kHalf + i % kHalf] |=
            static_cast<std::uint8_t>(i % kNibbleInputs < kHalf ? code : code << 4);
      } else {
        to[i / kByteInputs * kBlock * kByteInputs + i % kByteInputs] = grid.u[code];
      }
      sum += 2 * grid.u[code] - steps_;
    }
  }
  totals()[output] += grid.half_step * static_cast<float>(sum);
  if (has_offset()) totals()[output] += grid.center * static_cast<float>(end - begin);
}

}  // namespace halftone::kernels
