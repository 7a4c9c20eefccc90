// SPDX-License-Identifier: Apache-2.0
// Fully connected layer on encoded weights and 8-bit activations, one bit plane of the weights at a
// time: exact for any basis, per tensor, channel or group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/int8_matmul/int8_rows.h"
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
  /// look up 32 entries of 16 bits at once: AVX-512. With VNNI, several rows of activations are
  /// multiplied by the same bits as bytes instead.
  kFives,
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
inline constexpr PlaneFormat kFivesFormat{15, 2, 1, 160};

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
/// In the same order of chunks, blocks and groups there are rows of floats: a_0 ... a_(Kw-1) and,
/// if there are offsets, c.
class PlaneMatmulWeights : public Int8Weights {
 public:
  /// With more inputs, a sum would not fit 32 bits.
  static constexpr std::size_t kMaxInputs = std::size_t{1} << 24;

  /// @param codes     [o, n], Kw planes
  /// @param encoding  of `codes`, any granularity
  /// @param bias      [o], or empty for none
  /// @throws Error as check_weights() with kMaxInputs; kMemory as AlignedBuffer
  PlaneMatmulWeights(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                     std::span<const float> bias, PlaneLayout layout);
  PlaneMatmulWeights(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                     std::span<const float> bias = {})
      : PlaneMatmulWeights(codes, encoding, bias, preferred_plane_layout()) {}

  [[nodiscard]] PlaneLayout layout() const { return layout_; }
  [[nodiscard]] const PlaneFormat& format() const {
    return layout_ == PlaneLayout::kFours ? kFoursFormat : kFivesFormat;
  }
  [[nodiscard]] std::size_t size_bytes() const {
    return planes_.size_bytes() + floats_.size_bytes() + output_bytes();
  }

  [[nodiscard]] std::span<const PlaneChunk> chunks() const { return chunks_; }
  /// [groups, Kw, pieces, 32] of a chunk and block.
  [[nodiscard]] const std::uint8_t* planes(const PlaneChunk& chunk, std::size_t block) const {
    return planes_.as<std::uint8_t>().data() + chunk.planes + block * block_bytes(chunk);
  }
  /// [groups, float_rows(), 32] of a chunk and block: a, c. Chunks of one group have the same.
  [[nodiscard]] const float* floats(const PlaneChunk& chunk, std::size_t block) const {
    return floats_.as<float>().data() + first_float(chunk, block);
  }
  [[nodiscard]] std::size_t float_rows() const { return bits() + (has_offset() ? 1 : 0); }

 private:
  [[nodiscard]] std::size_t first_float(const PlaneChunk& chunk, std::size_t block) const {
    return (chunk.first_group * num_blocks() + block * chunk.num_groups) * float_rows() * kBlock;
  }
  /// Bytes of a chunk and block.
  [[nodiscard]] std::size_t block_bytes(const PlaneChunk& chunk) const {
    return chunk.num_groups * bits() * chunk.pieces * kBlock * format().lane_bytes;
  }
  void make_chunks();
  void pack_planes(const numerics::BitPlanes& codes);
  void pack_floats(const numerics::BasisEncoding& encoding);

  PlaneLayout layout_ = PlaneLayout::kFours;
  std::vector<PlaneChunk> chunks_;
  AlignedBuffer planes_;
  AlignedBuffer floats_;
};

/// y[r, o] = dot product of activation row r and weight row o, plus bias.
/// With b_ij = +-1 the bit j of weight i, G the inputs of a group and, all exact integers,
/// P_j = sum_(i in G) b_ij q_i and Q = sum_(i in G) q_i, and all else in float32, in this order,
/// without contraction:
///
///     acc = 0;  for each group G:
///                 for j < Kw: acc += a_j P_j
///                 acc += c Q             if the weights have offsets
///     y = acc scale
///     y += offset acc', where acc' is acc for q_i = 1, if the activations have an offset
///     y += bias                          if there is one
///
/// The result is the same, bit for bit, on every target and for every layout.
/// @param blocks   which blocks of outputs to compute, within weights.num_blocks()
/// @param y        [m, o]; only the columns of `blocks` are written
void plane_matmul(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept;

/// Reference implementation of plane_matmul() in plain loops over the codes.
/// @param w     [o, n]
/// @param bias  [o], or empty for none
void plane_matmul_reference(const Int8Rows& x, const numerics::BitPlanes& w,
                            const numerics::BasisEncoding& w_encoding, std::span<const float> bias,
                            MatrixView<float> y);

}  // namespace halftone::kernels
