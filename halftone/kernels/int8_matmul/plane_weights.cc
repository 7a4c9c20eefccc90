// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"

namespace halftone::kernels {
namespace {

/// The index of output `o` of a block in a piece. kFours: 0 to 15 are in the even bytes, 16 to 31
/// in the odd ones, so that sums of bytes are widened in place.
std::size_t lane_of(PlaneLayout layout, std::size_t o) {
  return layout == PlaneLayout::kFours ? o % 16 * 2 + o / 16 : o;
}

}  // namespace

PlaneMatmulWeights::PlaneMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::BasisEncoding& encoding,
                                       std::span<const float> bias, PlaneLayout layout)
    : Int8Weights("plane_matmul", codes, encoding, bias, kMaxInputs), layout_(layout) {
  make_chunks();
  std::size_t bytes = 0;
  for (PlaneChunk& chunk : chunks_) {
    chunk.planes = bytes;
    bytes += num_blocks() * block_bytes(chunk);
  }
  planes_ = AlignedBuffer(bytes);
  floats_ = AlignedBuffer(num_groups() * num_blocks() * float_rows() * kBlock * sizeof(float));
  pack_planes(codes);
  pack_floats(encoding);
  finish(*this, plane_matmul, bias);
}

void PlaneMatmulWeights::make_chunks() {
  const PlaneFormat& f = format();
  const std::size_t step_inputs = f.step * f.piece_inputs;
  const std::size_t group_pieces =
      (group_inputs() / step_inputs + (group_inputs() % step_inputs != 0)) * f.step;
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

void PlaneMatmulWeights::pack_planes(const numerics::BitPlanes& codes) {
  const PlaneFormat& f = format();
  const std::size_t piece_bytes = kBlock * f.lane_bytes;
  auto* to = planes_.as<std::uint8_t>().data();
  for (const PlaneChunk& chunk : chunks_) {
    for (std::size_t block = 0; block < num_blocks(); ++block) {
      const std::size_t present = std::min(kBlock, outputs() - block * kBlock);
      for (std::size_t g = chunk.first_group; g < chunk.first_group + chunk.num_groups; ++g) {
        const std::size_t first = g * group_inputs() + chunk.first_piece * f.piece_inputs;
        const std::size_t end = group_end(g);
        for (std::size_t j = 0; j < bits(); ++j, to += chunk.pieces * piece_bytes) {
          for (std::size_t o = 0; o < present; ++o) {
            const auto row = codes.planes.row((block * kBlock + o) * bits() + j);
            std::uint8_t* lane = to + lane_of(layout_, o) * f.lane_bytes;
            for (std::size_t p = 0; p < chunk.pieces; ++p) {
              const std::size_t begin = std::min(first + p * f.piece_inputs, end);
              const auto piece_bits =
                  bits_between(row, begin, std::min(begin + f.piece_inputs, end));
              lane[p * piece_bytes] = static_cast<std::uint8_t>(piece_bits);
              if (f.lane_bytes == 2) {
                lane[p * piece_bytes + 1] = static_cast<std::uint8_t>(piece_bits >> 8);
              }
            }
          }
        }
      }
    }
  }
}

void PlaneMatmulWeights::pack_floats(const numerics::BasisEncoding& encoding) {
  float* to = floats_.as<float>().data();
  for (const PlaneChunk& chunk : chunks_) {
    for (std::size_t o = 0; o < outputs(); ++o) {
      float* column = to + first_float(chunk, o / kBlock) + o % kBlock;
      for (std::size_t g = 0; g < chunk.num_groups; ++g, column += float_rows() * kBlock) {
        const numerics::Basis& basis = encoding.basis(o, chunk.first_group + g, inputs());
        for (std::size_t j = 0; j < bits(); ++j) column[j * kBlock] = basis.a()[j];
        if (has_offset()) column[bits() * kBlock] = basis.offset;
      }
    }
  }
}

}  // namespace halftone::kernels
