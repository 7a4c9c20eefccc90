// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "halftone/base/bits.h"
#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"

namespace halftone::kernels {
namespace {

/// Where output `o` of a block lies in a piece. kFours: 0 to 15 in the even bytes, 16 to 31 in the
/// odd ones, which is how sums of bytes are widened in place.
std::size_t lane_of(PlaneLayout layout, std::size_t o) {
  return layout == PlaneLayout::kFours ? o % 16 * 2 + o / 16 : o;
}

}  // namespace

PlaneMatmulWeights::PlaneMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::BasisEncoding& encoding,
                                       std::span<const float> bias, PlaneLayout layout)
    : layout_(layout),
      outputs_(codes.rows),
      inputs_(codes.cols),
      bits_(static_cast<std::size_t>(codes.bits)),
      group_inputs_(encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size
                                                                          : codes.cols),
      has_offset_(encoding.has_offset) {
  check_weights("plane_matmul", codes, encoding, bias, kMostInputs);
  const std::size_t num_groups = encoding.groups_per_row(inputs_);
  make_chunks(num_groups);
  std::size_t bytes = 0;
  for (PlaneChunk& chunk : chunks_) {
    chunk.planes = bytes;
    bytes += num_blocks() * block_bytes(chunk);
  }
  planes_ = AlignedBuffer(bytes);
  floats_ = AlignedBuffer(num_groups * num_blocks() * float_rows() * kBlock * sizeof(float));
  pack_planes(codes);
  pack_floats(encoding);
  totals_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  sum_up(codes, encoding);
  if (bias.empty()) return;
  bias_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  std::copy(bias.begin(), bias.end(), bias_.as<float>().begin());
}

void PlaneMatmulWeights::make_chunks(std::size_t num_groups) {
  const PlaneFormat& f = format();
  const std::size_t step_inputs = f.step * f.piece_inputs;
  const std::size_t group_pieces =
      (group_inputs_ / step_inputs + (group_inputs_ % step_inputs != 0)) * f.step;
  if (group_pieces > f.most_pieces) {
    for (std::size_t g = 0; g < num_groups; ++g) {
      for (std::size_t first = 0; first < group_pieces; first += f.most_pieces) {
        const std::size_t pieces = std::min(f.most_pieces, group_pieces - first);
        chunks_.push_back({g, 1, first, pieces, first + pieces == group_pieces});
      }
    }
    return;
  }
  const std::size_t most_groups = f.most_pieces / std::max<std::size_t>(group_pieces, 1);
  for (std::size_t g = 0; g < num_groups; g += most_groups) {
    chunks_.push_back({g, std::min(most_groups, num_groups - g), 0, group_pieces, true});
  }
}

void PlaneMatmulWeights::pack_planes(const numerics::BitPlanes& codes) {
  const PlaneFormat& f = format();
  const std::size_t piece_bytes = kBlock * f.lane_bytes;
  auto* to = planes_.as<std::uint8_t>().data();
  for (const PlaneChunk& chunk : chunks_) {
    for (std::size_t block = 0; block < num_blocks(); ++block) {
      const std::size_t outputs = std::min(kBlock, outputs_ - block * kBlock);
      for (std::size_t g = chunk.first_group; g < chunk.first_group + chunk.num_groups; ++g) {
        const std::size_t first = g * group_inputs_ + chunk.first_piece * f.piece_inputs;
        const std::size_t end = std::min((g + 1) * group_inputs_, inputs_);
        for (std::size_t j = 0; j < bits_; ++j, to += chunk.pieces * piece_bytes) {
          for (std::size_t o = 0; o < outputs; ++o) {
            const auto row = codes.planes.row((block * kBlock + o) * bits_ + j);
            std::uint8_t* lane = to + lane_of(layout_, o) * f.lane_bytes;
            for (std::size_t p = 0; p < chunk.pieces; ++p) {
              const std::size_t begin = std::min(first + p * f.piece_inputs, end);
              const auto bits = bits_between(row, begin, std::min(begin + f.piece_inputs, end));
              lane[p * piece_bytes] = static_cast<std::uint8_t>(bits);
              if (f.lane_bytes == 2) {
                lane[p * piece_bytes + 1] = static_cast<std::uint8_t>(bits >> 8);
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
    for (std::size_t o = 0; o < outputs_; ++o) {
      float* column = to + first_float(chunk, o / kBlock) + o % kBlock;
      for (std::size_t g = 0; g < chunk.num_groups; ++g, column += float_rows() * kBlock) {
        const numerics::Basis& basis = encoding.basis(o, chunk.first_group + g, inputs_);
        for (std::size_t j = 0; j < bits_; ++j) column[j * kBlock] = basis.a()[j];
        if (has_offset_) column[bits_ * kBlock] = basis.offset;
      }
    }
  }
}

void PlaneMatmulWeights::sum_up(const numerics::BitPlanes& codes,
                                const numerics::BasisEncoding& encoding) {
  const std::size_t num_groups = encoding.groups_per_row(inputs_);
  for (std::size_t o = 0; o < outputs_; ++o) {
    float& total = totals_.as<float>()[o];
    for (std::size_t g = 0; g < num_groups; ++g) {
      const numerics::Basis& basis = encoding.basis(o, g, inputs_);
      const std::size_t begin = g * group_inputs_;
      const std::size_t end = std::min(begin + group_inputs_, inputs_);
      for (std::size_t j = 0; j < bits_; ++j) {
        const auto row = codes.planes.row(o * bits_ + j);
        int ones = 0;
        for (std::size_t first = begin; first < end; first += 64) {
          ones += std::popcount(bits_between(row, first, std::min(first + 64, end)));
        }
        total += basis.a()[j] * static_cast<float>(2 * ones - static_cast<int>(end - begin));
      }
      if (has_offset_) total += basis.offset * static_cast<float>(end - begin);
    }
  }
}

}  // namespace halftone::kernels
