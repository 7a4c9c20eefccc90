// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/level_matmul.h"

#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/targets.h"

namespace halftone::kernels {
namespace {

std::size_t pieces_of(std::size_t inputs, std::size_t piece) {
  return inputs / piece + (inputs % piece != 0);
}

void check_nibble_bits(int bits) {
  constexpr int kMax = LevelMatmulWeights::kMaxNibbleBits;
  if (bits <= kMax) return;
  fail(ErrorKind::kUnsupported, "level_matmul weights in nibbles: expected at most " +
                                    std::to_string(kMax) + " bits, found " + std::to_string(bits));
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

/// Writes eight bytes, the lowest first.
void write_bytes(std::uint64_t eight, std::uint8_t* to) {
  for (int byte = 0; byte < 8; ++byte) to[byte] = static_cast<std::uint8_t>(eight >> 8 * byte);
}

/// Codes of the inputs [begin, end) of an output: of a group.
struct ChannelCodes {
  const numerics::BitPlanes& codes;
  std::size_t output, begin, end;

  [[nodiscard]] std::uint64_t eight(std::size_t first) const {
    return eight_codes(codes, output, first, end);
  }
};

/// The levels of all codes, without their common factor.
LevelGrid without_factor(LevelGrid grid, std::int32_t factor) {
  for (std::uint8_t& u : grid.u) u = static_cast<std::uint8_t>(u / factor);
  return grid;
}

/// Writes the pieces of kBytes and kSmallBytes.
/// @param u   the level of each code
/// @param to  of the output in the first piece
void pack_bytes(const ChannelCodes& group, std::span<const std::uint8_t> u, std::uint8_t* to) {
  constexpr std::size_t kInputs = LevelMatmulWeights::kByteInputs;
  for (std::size_t i = group.begin; i < group.end; i += 8) {
    std::uint64_t eight = group.eight(i);
    for (std::size_t piece = 0; piece < 8 && i + piece < group.end; piece += kInputs) {
      std::uint8_t* four = to + (i - group.begin + piece) * LevelMatmulWeights::kBlock;
      for (std::size_t j = 0; j < kInputs && i + piece + j < group.end; ++j, eight >>= 8) {
        four[j] = u[eight & 255];
      }
    }
  }
}

/// Writes the pieces of kNibbles.
/// @param to  of the output in the first piece
void pack_nibbles(const ChannelCodes& group, std::uint8_t* to) {
  constexpr std::size_t kInputs = LevelMatmulWeights::kNibbleInputs;
  constexpr std::size_t kHalf = kInputs / 2;
  constexpr std::size_t kPieces = LevelMatmulWeights::kNibbleOutputs * kHalf;
  for (std::size_t i = group.begin; i < group.end; i += kInputs, to += kPieces) {
    for (std::size_t j = 0; j < kHalf; j += 8) {
      write_bytes(group.eight(i + j) | group.eight(i + j + kHalf) << 4, to + j);
    }
  }
}

}  // namespace

LevelMatmulWeights::LevelMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::MatrixEncoding& encoding,
                                       std::span<const float> bias, LevelLayout layout)
    : Int8Weights("level_matmul", codes, encoding, bias), layout_(layout) {
  switch (layout) {
    case LevelLayout::kSmallBytes:
      factor_ = common_factor(encoding);
      [[fallthrough]];
    case LevelLayout::kBytes:
      piece_bytes_ = pieces_of(group_inputs(), kByteInputs) * kByteInputs * kBlock;
      break;
    case LevelLayout::kNibbles:
      check_nibble_bits(codes.bits);
      table_bytes_ = kBlock * kTableBytes;
      piece_bytes_ = pieces_of(group_inputs(), kNibbleInputs) * kNibbleInputs / 2 * kBlock;
      break;
  }
  const std::size_t float_rows = has_offset() ? 2 : 1;
  group_bytes_ = piece_bytes_ + table_bytes_ + float_rows * kBlock * sizeof(float);
  groups_ = AlignedBuffer(num_blocks() * num_groups() * group_bytes_);
  pack(codes, encoding);
  finish(*this, level_matmul, bias);
}

void LevelMatmulWeights::pack(const numerics::BitPlanes& codes,
                              const numerics::MatrixEncoding& encoding) {
  for (std::size_t o = 0; o < outputs(); ++o) {
    for (std::size_t g = 0; g < num_groups(); ++g) {
      pack_group(codes, weight_grid(encoding.levels(o, g, inputs())), o, g);
    }
  }
}

void LevelMatmulWeights::pack_group(const numerics::BitPlanes& codes, const LevelGrid& grid,
                                    std::size_t output, std::size_t group) {
  const std::size_t block = output / kBlock;
  const std::size_t lane = output % kBlock;
  std::uint8_t* to =
      groups_.as<std::uint8_t>().data() + (block * num_groups() + group) * group_bytes_;
  std::uint8_t* tables = to + piece_bytes_;
  float* floats = reinterpret_cast<float*>(tables + table_bytes_) + lane;
  floats[0] = grid.half_step;
  if (has_offset()) floats[kBlock] = grid.center;
  const ChannelCodes inputs{codes, output, group_begin(group), group_end(group)};
  switch (layout_) {
    case LevelLayout::kBytes:
    case LevelLayout::kSmallBytes:
      return pack_bytes(inputs, without_factor(grid, factor_).u, to + lane * kByteInputs);
    case LevelLayout::kNibbles:
      std::copy_n(grid.u.begin(), kTableBytes, tables + lane * kTableBytes);
      // Of the pieces of a strip, whose outputs follow each other.
      to += lane / kNibbleOutputs * (piece_bytes_ / (kBlock / kNibbleOutputs));
      return pack_nibbles(inputs, to + lane % kNibbleOutputs * (kNibbleInputs / 2));
  }
}

LevelLayout preferred_byte_levels() noexcept {
  return prefers_small_levels() ? LevelLayout::kSmallBytes : LevelLayout::kBytes;
}

void level_matmul(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.q.cols() == weights.inputs() && y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.q.rows() == y.rows() && x.scales.size() == y.rows());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  switch (weights.layout()) {
    case LevelLayout::kBytes:
    case LevelLayout::kSmallBytes:
      return level_matmul_bytes(x, weights, blocks, y);
    case LevelLayout::kNibbles:
      return level_matmul_nibbles(x, weights, blocks, y);
  }
}

}  // namespace halftone::kernels
