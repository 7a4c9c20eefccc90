// SPDX-License-Identifier: Apache-2.0
// BitConvWeights: the planes of the weights and the tables in which they look up differences.
#include <algorithm>
#include <bit>
#include <vector>

#include "halftone/base/bits.h"
#include "halftone/kernels/conv/bit_conv.h"

namespace halftone::kernels {
namespace {

/// (4 M - sum X w) / 2 of four inputs; see BitConvWeights.
/// @param first, second  the bits of the planes of the digit; w: the bits of the weights
std::uint8_t distance(const numerics::Digit& digit, std::size_t first, std::size_t second,
                      std::size_t w) {
  const auto sign = [](std::size_t bits, std::size_t k) { return (bits >> k & 1) != 0 ? 1 : -1; };
  int sum = 4 * digit.reach();
  for (std::size_t k = 0; k < 4; ++k) {
    const int x = digit.multiples[0] * sign(first, k) + digit.multiples[1] * sign(second, k);
    sum -= x * sign(w, k);
  }
  return static_cast<std::uint8_t>(sum / 2);
}

}  // namespace

void BitConvWeights::make_shared_tables() {
  constexpr std::size_t kNumbers = 16;
  constexpr std::size_t kBytes = 256;
  std::vector<std::uint8_t> tables;
  const auto append = [&](const numerics::Digit& digit, std::size_t first, std::size_t second) {
    for (std::size_t w = 0; w < kNumbers; ++w) {
      tables.push_back(distance(digit, first, second, w));
    }
  };
  for (const numerics::Digit& digit : digits_) {
    first_table_.push_back(tables.size());
    if (!by_halves_) {
      for (std::size_t byte = 0; byte < kBytes; ++byte) {
        append(digit, byte % kNumbers, 0);
        append(digit, byte / kNumbers, 0);
      }
      continue;
    }
    const std::size_t seconds = digit.num_planes() == 2 ? kNumbers : 1;
    for (std::size_t codes = 0; codes < seconds * kNumbers; ++codes) {
      append(digit, codes % kNumbers, codes / kNumbers);
    }
  }
  tables_ = AlignedBuffer(tables.size());
  std::ranges::copy(tables, tables_.as<std::uint8_t>().begin());
}

void BitConvWeights::make_plane_tables() {
  const bool sixes = layout_ == BitConvLayout::kSixes;
  const std::size_t bits = sixes ? 6 : 8;
  const std::size_t entries = sixes ? 64 : 32;
  std::vector<std::uint8_t> tables;
  for (const numerics::Digit& digit : digits_) {
    first_table_.push_back(tables.size());
    for (std::size_t k = 0; k < digit.num_planes(); ++k) {
      for (std::size_t x = 0; x < std::size_t{1} << bits; ++x) {
        for (std::size_t w = 0; w < entries; ++w) {
          const std::size_t differing = sixes ? x ^ w : (x >> w / 16 * 4 ^ w) % 16;
          tables.push_back(
              static_cast<std::uint8_t>(digit.multiples[k] * std::popcount(differing)));
        }
      }
    }
  }
  tables_ = AlignedBuffer(tables.size());
  std::ranges::copy(tables, tables_.as<std::uint8_t>().begin());
}

void BitConvWeights::pack_piece(std::uint64_t bits, std::size_t output, std::size_t column,
                                std::size_t columns, std::uint8_t* to) const {
  switch (layout_) {
    case BitConvLayout::kTables: {
      const bool paired = by_halves_ && (column % 2 == 1 || column + 1 != columns);
      to += output + (paired ? column / 2 * 4 * kBlock + column % 2 * kBlock : column * 2 * kBlock);
      to[0] = static_cast<std::uint8_t>(bits & 15);
      to[paired ? 2 * kBlock : kBlock] = static_cast<std::uint8_t>(bits >> 4);
      return;
    }
    case BitConvLayout::kSixes:
      to[column / 4 * kVectorBytes + 4 * output + column % 4] = static_cast<std::uint8_t>(bits);
      return;
    case BitConvLayout::kFours:
      for (std::size_t k = 0; k < 4; ++k) {
        to[column * kVectorBytes + 4 * output + k] =
            static_cast<std::uint8_t>(16 * k + (bits >> 4 * k & 15));
      }
      return;
  }
}

void BitConvWeights::pack_planes(const numerics::BitPlanes& codes) {
  const std::size_t channels = shape_.group_channels();
  for (std::size_t o = 0; o < shape_.outputs; ++o) {
    const std::size_t group = o / shape_.group_outputs();
    const std::size_t block = o % shape_.group_outputs() / kBlock;
    const std::size_t first_block = block / kPanelBlocks * kPanelBlocks;
    const std::size_t panel_blocks = std::min(kPanelBlocks, blocks_ - first_block);
    const std::size_t columns = bits_ * panel_blocks;
    for (std::size_t j = 0; j < bits_; ++j) {
      const auto row = codes.planes.row(o * bits_ + j);
      std::uint8_t* to = planes_.as<std::uint8_t>().data() + panel_offset(group, first_block);
      for (std::size_t tap = 0; tap < shape_.taps(); ++tap) {
        const std::size_t begin = tap * channels;
        for (std::size_t c = 0; c < channels;) {
          const std::size_t end =
              std::min({c + piece_inputs(), (c / kWordInputs + 1) * kWordInputs, channels});
          pack_piece(bits_between(row, begin + c, begin + end), o % shape_.group_outputs() % kBlock,
                     j * panel_blocks + block - first_block, columns, to);
          to += piece_bytes(columns);
          c = end;
        }
      }
    }
  }
}

}  // namespace halftone::kernels
