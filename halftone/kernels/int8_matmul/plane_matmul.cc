// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/plane_matmul.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/encoded.h"

namespace halftone::kernels {
namespace {

std::size_t lane_of(PlaneLayout layout, std::size_t o) {
  return layout == PlaneLayout::kFours ? fours_lane(o) : fives_lane(o);
}

}  // namespace

PlaneMatmulWeights::PlaneMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::MatrixEncoding& encoding,
                                       std::span<const float> bias, PlaneLayout layout)
    : Int8Weights("plane_matmul", codes, encoding, bias), layout_(layout) {
  if (codes.bits > kMaxBits) {
    fail(ErrorKind::kUnsupported, "plane_matmul weights: expected at most " +
                                      std::to_string(kMaxBits) + " bits, found " +
                                      std::to_string(codes.bits));
  }
  check_summed("plane_matmul", encoding);
  for (std::size_t o = 0; o < kBlock; ++o) {
    single_[coefficient_at(0, o)] = static_cast<std::uint8_t>(steps());
  }
  make_chunks();
  std::size_t bytes = 0;
  for (PlaneChunk& chunk : chunks_) {
    chunk.planes = bytes;
    bytes += num_blocks() * block_bytes(chunk);
  }
  planes_ = AlignedBuffer(bytes);
  scales_ = AlignedBuffer(num_groups() * num_blocks() * scale_bytes());
  pack(codes, encoding);
  finish(*this, plane_matmul, bias);
}

void PlaneMatmulWeights::make_chunks() {
  const PlaneFormat& f = format();
  const std::size_t group_pieces = this->group_pieces();
  if (group_pieces > f.max_pieces) {
    for (std::size_t g = 0; g < num_groups(); ++g) {
      for (std::size_t first = 0; first < group_pieces; first += f.max_pieces) {
        const std::size_t pieces = std::min(f.max_pieces, group_pieces - first);
        chunks_.push_back({g, 1, first, pieces, first + pieces == group_pieces});
      }
    }
    return;
  }
  const std::size_t max_groups = f.max_pieces / std::max<std::size_t>(group_pieces, 1);
  for (std::size_t g = 0; g < num_groups(); g += max_groups) {
    chunks_.push_back({g, std::min(max_groups, num_groups() - g), 0, group_pieces, true});
  }
}

void PlaneMatmulWeights::pack(const numerics::BitPlanes& codes,
                              const numerics::MatrixEncoding& encoding) {
  const std::size_t plane_bytes = kBlock * format().lane_bytes;
  auto* planes = planes_.as<std::uint8_t>().data();
  for (const PlaneChunk& chunk : chunks_) {
    for (std::size_t o = 0; o < num_blocks() * kBlock; o += kBlock) {
      const std::size_t end = std::min(o + kBlock, outputs());
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        for (std::size_t j = 0; j < bits(); ++j, planes += chunk.pieces * plane_bytes) {
          for (std::size_t output = o; output < end; ++output) {
            const numerics::Basis basis = encoding.basis(output, chunk.first_group + g, inputs());
            const OutputBits row{codes.planes.row(output * bits() + j), std::signbit(basis.a()[j])};
            pack_plane(row, chunk, g,
                       planes + lane_of(layout_, output % kBlock) * format().lane_bytes);
          }
        }
        for (std::size_t output = o; output < end; ++output) {
          pack_scales(encoding.basis(output, chunk.first_group + g, inputs()), output % kBlock,
                      scales_.as<std::uint8_t>().data() + first_scale(chunk, o / kBlock) +
                          g * scale_bytes());
        }
      }
    }
  }
}

void PlaneMatmulWeights::pack_plane(const OutputBits& row, const PlaneChunk& chunk,
                                    std::size_t group, std::uint8_t* lane) const {
  const PlaneFormat& f = format();
  const std::size_t end = group_end(chunk.first_group + group);
  std::size_t first = group_begin(chunk.first_group + group) + chunk.first_piece * f.piece_inputs;
  for (std::size_t p = 0; p < chunk.pieces && first < end; ++p, first += f.piece_inputs) {
    const std::size_t count = std::min(f.piece_inputs, end - first);
    std::uint64_t piece = bits_between(row.bits, first, first + count);
    if (row.inverted) piece ^= (std::uint64_t{1} << count) - 1;
    for (std::size_t byte = 0; byte < f.lane_bytes; ++byte, piece >>= 8) {
      lane[p * kBlock * f.lane_bytes + byte] = static_cast<std::uint8_t>(piece);
    }
  }
}

void PlaneMatmulWeights::pack_scales(const numerics::Basis& basis, std::size_t lane,
                                     std::uint8_t* scales) const {
  const auto coefficients = numerics::integer_coefficients(basis, steps());
  for (std::size_t j = 0; bits() > 1 && j < bits(); ++j) {
    scales[coefficient_at(j, lane)] = static_cast<std::uint8_t>(std::abs(coefficients[j]));
  }
  auto* floats = reinterpret_cast<float*>(scales + coefficient_bytes());
  const LevelGrid grid = weight_grid(basis);
  floats[lane] = grid.half_step;
  if (has_offset()) floats[kBlock + lane] = grid.center;
}

PlaneLayout preferred_plane_layout() {
  return looks_up_fives() ? PlaneLayout::kSubsetTables : PlaneLayout::kFours;
}

void plane_matmul(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.q.cols() == weights.inputs() && y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.q.rows() == y.rows() && x.scales.size() == y.rows());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  if (weights.layout() == PlaneLayout::kFours) return plane_matmul_fours(x, weights, blocks, y);
  plane_matmul_fives(x, weights, blocks, y);
}

}  // namespace halftone::kernels
