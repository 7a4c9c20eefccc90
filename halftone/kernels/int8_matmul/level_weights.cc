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

/// Codes of the 8 inputs of an output from `first` on, a byte each, the first one in the lowest;
/// inputs from `end` on are zero.
std::uint64_t eight_codes(const numerics::BitPlanes& codes, std::size_t output, std::size_t first,
                          std::size_t end) {
  if (first >= end) return 0;
  std::uint64_t eight = 0;
  for (int j = 0; j < codes.bits; ++j) {
    const auto row = codes.planes.row(codes.plane(output, j));
    const std::uint64_t bits = bits_between(row, first, std::min(first + 8, end));
    eight |= spread_bits(static_cast<std::uint8_t>(bits)) << j;
  }
  return eight;
}

}  // namespace

LevelMatmulWeights::LevelMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::BasisEncoding& encoding,
                                       std::span<const float> bias, LevelLayout layout)
    : Int8Weights("level_matmul", codes, encoding, bias, kMaxInputs),
      layout_(layout),
      steps_(weight_steps(codes.bits)) {
  if (layout == LevelLayout::kBytes) {
    piece_bytes_ = pieces_of(group_inputs(), kByteInputs) * kByteInputs * kBlock;
  } else {
    if (codes.bits > kMaxNibbleBits) {
      fail(ErrorKind::kUnsupported, "level_matmul weights in nibbles: expected at most " +
                                        std::to_string(kMaxNibbleBits) + " bits, found " +
                                        std::to_string(codes.bits));
    }
    piece_bytes_ = pieces_of(group_inputs(), kNibbleInputs) * kNibbleInputs / 2 * kBlock;
    table_bytes_ = kBlock * kTableBytes;
  }
  const std::size_t float_rows = has_offset() ? 2 : 1;
  group_bytes_ = piece_bytes_ + table_bytes_ + float_rows * kBlock * sizeof(float);
  groups_ = AlignedBuffer(num_blocks() * num_groups() * group_bytes_);
  pack(codes, encoding);
  finish(*this, level_matmul, bias);
}

void LevelMatmulWeights::pack(const numerics::BitPlanes& codes,
                              const numerics::BasisEncoding& encoding) {
  for (std::size_t o = 0; o < outputs(); ++o) {
    for (std::size_t g = 0; g < num_groups(); ++g) {
      pack_group(codes, LevelGrid(encoding.basis(o, g, inputs()), steps_), o, g);
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
      groups_.as<std::uint8_t>().data() + (block * num_groups() + group) * group_bytes_;
  std::uint8_t* tables = to + piece_bytes_;
  float* floats = reinterpret_cast<float*>(tables + table_bytes_) + lane;
  floats[0] = grid.half_step;
  if (has_offset()) floats[kBlock] = grid.center;
  if (layout_ == LevelLayout::kBytes) {
    to += lane * kByteInputs;
    for (std::size_t i = begin; i < end; i += 8) {
      std::uint64_t eight = eight_codes(codes, output, i, end);
      for (std::size_t piece = 0; piece < 8 && i + piece < end; piece += kByteInputs) {
        std::uint8_t* four = to + (i - begin + piece) * kBlock;
        for (std::size_t j = 0; j < kByteInputs && i + piece + j < end; ++j, eight >>= 8) {
          four[j] = grid.u[eight & 255];
        }
      }
    }
    return;
  }
  std::copy_n(grid.u.begin(), kTableBytes, tables + lane * kTableBytes);
  constexpr std::size_t kHalf = kNibbleInputs / 2;
  to += lane / kNibbleOutputs * (piece_bytes_ / (kBlock / kNibbleOutputs)) +
        lane % kNibbleOutputs * kHalf;
  for (std::size_t i = begin; i < end; i += kNibbleInputs, to += kNibbleOutputs * kHalf) {
    for (std::size_t j = 0; j < kHalf; j += 8) {
      const std::uint64_t lower = eight_codes(codes, output, i + j, end);
      const std::uint64_t upper = eight_codes(codes, output, i + j + kHalf, end);
      const std::uint64_t both = lower | upper << 4;
      for (std::size_t byte = 0; byte < 8; ++byte) {
        to[j + byte] = static_cast<std::uint8_t>(both >> 8 * byte);
      }
    }
  }
}

}  // namespace halftone::kernels
