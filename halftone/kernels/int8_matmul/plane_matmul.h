// SPDX-License-Identifier: Apache-2.0
// level_matmul() one bit plane of the weights at a time: for few rows and few bits, where the codes
// themselves are less to read than their levels. The MNIST network with 8-bit inputs takes 0.6 of
// the time of kNibbles in 1 bit, 0.88 in 2 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/encoded.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Some inputs whose tables fit the first-level cache: either whole groups, or a part of one.
struct PlaneChunk {
  std::size_t first_group = 0;
  std::size_t num_groups = 0;
  std::size_t first_piece = 0;  ///< of each of these groups
  std::size_t pieces = 0;       ///< of each of these groups, in whole steps
  bool ends_groups = false;     ///< whether they are the last pieces of their groups
  std::size_t planes = 0;       ///< where the chunk begins among the planes, in bytes
};

/// The layout of the bits of a plane, which determines how they are looked up. Each lane of a
/// vector computes one output.
enum class PlaneLayout {
  /// Pieces of 8 inputs, a byte per output: tables of 4 inputs, in digits of one byte.
  kFours,
  /// Pieces of 15 inputs, 16 bits per output: tables of 5 inputs, in 16 bits. For processors that
  /// look up 32 entries of 16 bits at once: AVX-512, where the MNIST network in 1 or 2 bits takes
  /// 0.6
  /// of the time of kFours.
  kSubsetTables,
};

/// The fastest layout for plane_matmul() on the current target.
PlaneLayout preferred_plane_layout();

/// The extents of a layout.
struct PlaneFormat {
  std::size_t piece_inputs;  ///< inputs of a piece
  std::size_t lane_bytes;    ///< of a piece of one output
  std::size_t step;          ///< pieces per step of look-ups; groups are padded to whole steps
  std::size_t max_pieces;    ///< of all groups of a chunk
};
inline constexpr PlaneFormat kFoursFormat{8, 1, 4, 256};
inline constexpr PlaneFormat kFivesFormat{15, 2, 1, 80};

/// The lane of output `o` of a block in a piece. kFours: 16 outputs are in the even bytes, 16 in
/// the odd ones, so that sums of bytes are widened in place. Both: eights in an order in which
/// interleaving the lanes of each 128 bits gives 32-bit vectors of outputs that follow each other.
constexpr std::size_t fours_lane(std::size_t o) {
  const std::size_t lane = o % 16 / 8 * 4 + o % 8 / 4 * 8 + o % 4;
  return lane * 2 + o / 16;
}
constexpr std::size_t fives_lane(std::size_t o) { return o / 16 * 4 + o % 16 / 4 * 8 + o % 4; }

/// Encoded weights [o, n] as plane_matmul() reads them, in the order it reads them:
///
///     chunk 0:  block 0:  group 0:  plane 0:     piece 0 [output 0, 1, ...]  piece 1 ...
///                                   ...
///                                   plane Kw-1
///                         group 1:  ...
///               block 1:  ...
///     chunk 1:  ...
///
/// A piece is some inputs of the 32 outputs of a block; missing inputs and outputs are zero bits.
/// The planes of negative coefficients are inverted. In the same order of chunks, blocks and groups
/// there are scales: coefficients(), then rows of half_step and, if there are offsets, center.
class PlaneMatmulWeights : public Int8Weights {
 public:
  static constexpr int kMaxBits = numerics::kMaxSummedBits;

  /// @param codes     [o, n], Kw planes
  /// @param encoding  of `codes`, any granularity
  /// @param bias      [o], or empty for none
  /// @throws Error as check_weights() with kMaxInputs; kUnsupported with more than kMaxBits;
  ///         kMemory as AlignedBuffer
  PlaneMatmulWeights(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                     std::span<const float> bias, PlaneLayout layout);

  [[nodiscard]] PlaneLayout layout() const { return layout_; }
  [[nodiscard]] const PlaneFormat& format() const {
    return layout_ == PlaneLayout::kFours ? kFoursFormat : kFivesFormat;
  }
  [[nodiscard]] std::size_t size_bytes() const {
    return planes_.size_bytes() + scales_.size_bytes() + output_bytes();
  }

  /// Pieces of a group, in whole steps.
  [[nodiscard]] std::size_t group_pieces() const {
    const std::size_t step_inputs = format().step * format().piece_inputs;
    return (group_inputs() + step_inputs - 1) / step_inputs * format().step;
  }
  [[nodiscard]] std::span<const PlaneChunk> chunks() const { return chunks_; }
  /// Bytes of the planes of a chunk and block.
  [[nodiscard]] std::size_t block_bytes(const PlaneChunk& chunk) const {
    return chunk.num_groups * bits() * chunk.pieces * kBlock * format().lane_bytes;
  }
  /// [groups, Kw, pieces, 32] of a chunk and block.
  [[nodiscard]] const std::uint8_t* planes(const PlaneChunk& chunk, std::size_t block) const {
    return planes_.as<std::uint8_t>().data() + chunk.planes + block * block_bytes(chunk);
  }
  /// [groups, scale_bytes()] of a chunk and block. Chunks of one group have the same.
  [[nodiscard]] const std::uint8_t* scales(const PlaneChunk& chunk, std::size_t block) const {
    return scales_.as<std::uint8_t>().data() + first_scale(chunk, block);
  }
  /// Bytes of the scales of a group and block.
  [[nodiscard]] std::size_t scale_bytes() const {
    return coefficient_bytes() + (has_offset() ? 2 : 1) * kBlock * sizeof(float);
  }
  /// The integer_coefficients() |k_j| of a group and block, bytes: [Kw, 32] of kFours, of
  /// kSubsetTables
  /// [(Kw + 1) / 2, 32, 2], padded with zeros. Those of one bit are the steps in all groups.
  [[nodiscard]] const std::uint8_t* coefficients(const std::uint8_t* scales) const {
    return bits() == 1 ? single_.data() : scales;
  }
  /// [1 or 2, 32] half_step and center of a group and block.
  [[nodiscard]] const float* floats(const std::uint8_t* scales) const {
    return reinterpret_cast<const float*>(scales + coefficient_bytes());
  }

 private:
  [[nodiscard]] std::size_t coefficient_bytes() const {
    if (bits() == 1) return 0;
    return (layout_ == PlaneLayout::kFours ? bits() : (bits() + 1) / 2 * 2) * kBlock;
  }
  /// Where the coefficient of a plane of an output is.
  [[nodiscard]] std::size_t coefficient_at(std::size_t plane, std::size_t lane) const {
    if (layout_ == PlaneLayout::kFours) return plane * kBlock + lane;
    return plane / 2 * 2 * kBlock + 2 * lane + plane % 2;
  }
  [[nodiscard]] std::size_t first_scale(const PlaneChunk& chunk, std::size_t block) const {
    return (chunk.first_group * num_blocks() + block * chunk.num_groups) * scale_bytes();
  }
  void make_chunks();
  void pack(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding);
  /// The bits of a plane of an output.
  struct OutputBits {
    std::span<const std::uint64_t> bits;
    bool inverted;
  };
  /// @param lane  of the output in the first piece
  void pack_plane(const OutputBits& row, const PlaneChunk& chunk, std::size_t group,
                  std::uint8_t* lane) const;
  /// @param scales  of a group and block
  void pack_scales(const numerics::Basis& basis, std::size_t lane, std::uint8_t* scales) const;

  PlaneLayout layout_ = PlaneLayout::kFours;
  std::vector<PlaneChunk> chunks_;
  std::array<std::uint8_t, 2 * kBlock> single_{};  ///< coefficients() of one bit
  AlignedBuffer planes_;
  AlignedBuffer scales_;
};

/// The result of level_matmul(), bit for bit, on every target and for every layout: with s_j the
/// sum of the q_i whose bit of plane j is set, sum_i u_i q_i = sum_j k_j s_j.
/// @param blocks   which blocks of outputs to compute, within weights.num_blocks()
/// @param y        [m, o]; only the columns of `blocks` are written
void plane_matmul(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept;

/// plane_matmul() for each layout of the weights. Arguments as there.
void plane_matmul_fours(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept;

void plane_matmul_fives(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept;

/// Whether the current target looks up 32 entries of 16 bits at once.
bool looks_up_fives() noexcept;

}  // namespace halftone::kernels
