// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "halftone/kernels/plane_matmul/plane_matmul.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kMaxInputs = std::size_t{1} << 24;

void check(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
           std::span<const float> bias) {
  const auto context = [&] {
    return "plane_matmul weights of " + std::to_string(codes.rows) + " x " +
           std::to_string(codes.cols) + ": ";
  };
  if (codes.cols > kMaxInputs) {
    fail(ErrorKind::kUnsupported,
         context() + "expected at most " + std::to_string(kMaxInputs) + " inputs");
  }
  with_context("plane_matmul weights", [&] { encoding.check(codes.rows, codes.cols); });
  if (codes.bits != encoding.bits) {
    fail(ErrorKind::kShape, context() + "expected codes of " + std::to_string(encoding.bits) +
                                " bits, found " + std::to_string(codes.bits));
  }
  if (!bias.empty() && bias.size() != codes.rows) {
    fail(ErrorKind::kShape,
         context() + "expected a bias for each output, found " + std::to_string(bias.size()));
  }
}

/// Bits [first, first + count) of a row, count <= 8; those past `end` are zero.
std::uint8_t bits_at(std::span<const std::uint64_t> row, std::size_t first, std::size_t end) {
  if (first >= end) return 0;
  const std::size_t word = first / 64;
  const std::size_t shift = first % 64;
  std::uint64_t bits = row[word] >> shift;
  if (shift > 56 && word + 1 < row.size()) bits |= row[word + 1] << (64 - shift);
  const std::size_t count = std::min<std::size_t>(end - first, PlaneMatmulWeights::kPiece);
  return static_cast<std::uint8_t>(bits & ((1U << count) - 1));
}

/// Where output `o` of a block lies in a piece: 0 to 15 in the even bytes, 16 to 31 in the odd
/// ones, which is how sums of bytes are widened in place.
std::size_t lane_of(std::size_t o) { return o % 16 * 2 + o / 16; }

}  // namespace

PlaneMatmulWeights::PlaneMatmulWeights(const numerics::BitPlanes& codes,
                                       const numerics::BasisEncoding& encoding,
                                       std::span<const float> bias)
    : outputs_(codes.rows),
      inputs_(codes.cols),
      bits_(static_cast<std::size_t>(codes.bits)),
      group_inputs_(encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size
                                                                          : codes.cols),
      has_offset_(encoding.has_offset) {
  check(codes, encoding, bias);
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
  if (bias.empty()) return;
  bias_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  std::copy(bias.begin(), bias.end(), bias_.as<float>().begin());
}

void PlaneMatmulWeights::make_chunks(std::size_t num_groups) {
  constexpr std::size_t kStepInputs = kStep * kPiece;
  const std::size_t group_pieces =
      (group_inputs_ / kStepInputs + (group_inputs_ % kStepInputs != 0)) * kStep;
  if (group_pieces > kMostPieces) {
    for (std::size_t g = 0; g < num_groups; ++g) {
      for (std::size_t first = 0; first < group_pieces; first += kMostPieces) {
        const std::size_t pieces = std::min(kMostPieces, group_pieces - first);
        chunks_.push_back({g, 1, first, pieces, first + pieces == group_pieces});
      }
    }
    return;
  }
  const std::size_t most_groups = kMostPieces / std::max<std::size_t>(group_pieces, 1);
  for (std::size_t g = 0; g < num_groups; g += most_groups) {
    chunks_.push_back({g, std::min(most_groups, num_groups - g), 0, group_pieces, true});
  }
}

void PlaneMatmulWeights::pack_planes(const numerics::BitPlanes& codes) {
  std::uint8_t* to = planes_.as<std::uint8_t>().data();
  for (const PlaneChunk& chunk : chunks_) {
    for (std::size_t block = 0; block < num_blocks(); ++block) {
      const std::size_t outputs = std::min(kBlock, outputs_ - block * kBlock);
      for (std::size_t g = chunk.first_group; g < chunk.first_group + chunk.num_groups; ++g) {
        const std::size_t first = g * group_inputs_ + chunk.first_piece * kPiece;
        const std::size_t end = std::min((g + 1) * group_inputs_, inputs_);
        for (std::size_t j = 0; j < bits_; ++j) {
          for (std::size_t o = 0; o < outputs; ++o) {
            const auto row = codes.planes.row((block * kBlock + o) * bits_ + j);
            for (std::size_t p = 0; p < chunk.pieces; ++p) {
              to[p * kBlock + lane_of(o)] = bits_at(row, first + p * kPiece, end);
            }
          }
          to += chunk.pieces * kBlock;
        }
      }
    }
  }
}

void PlaneMatmulWeights::pack_floats(const numerics::BasisEncoding& encoding) {
  float* to = floats_.as<float>().data();
  for (std::size_t g = 0; g < encoding.groups_per_row(inputs_); ++g) {
    for (std::size_t o = 0; o < outputs_; ++o) {
      const numerics::Basis& basis = encoding.basis(o, g, inputs_);
      float* column = to + (g * num_blocks() + o / kBlock) * float_rows() * kBlock + o % kBlock;
      for (std::size_t j = 0; j < bits_; ++j) column[j * kBlock] = basis.a()[j];
      if (has_offset_) column[bits_ * kBlock] = basis.offset;
    }
  }
}

}  // namespace halftone::kernels
