// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/padding.h"

namespace halftone::kernels {
namespace {

/// Positions that a vector may reach past the end.
constexpr std::size_t kRoom = 32;

void check_bit_conv(const ConvShape& shape, const numerics::BitPlanes& codes,
                    const numerics::BasisEncoding& encoding, std::span<const float> bias) {
  shape.check();
  check_weights("bit_conv", codes, encoding, bias, BitConvWeights::kMaxInputs);
  check_codes("bit_conv", shape, codes);
  if (encoding.granularity == numerics::Granularity::kGroup) {
    fail(ErrorKind::kUnsupported,
         "bit_conv weights: expected one basis per tensor or channel, found groups of " +
             std::to_string(encoding.group_size));
  }
}

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

std::size_t divide_up(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

}  // namespace

BitConvWeights::BitConvWeights(const ConvShape& shape, const numerics::BitPlanes& codes,
                               const numerics::BasisEncoding& encoding, std::span<const float> bias,
                               const numerics::Basis& x_basis)
    : shape_((check_bit_conv(shape, codes, encoding, bias), shape)),
      x_basis_(x_basis),
      digits_(numerics::split_digits(x_basis, shape.inputs())),
      by_halves_(digits_.size() < x_basis.a().size()),
      patterns_(shape),
      bits_(static_cast<std::size_t>(codes.bits)),
      blocks_(divide_up(shape.group_outputs(), kBlock)),
      tap_pieces_(divide_up(shape.group_channels(), kPieceInputs)),
      has_offset_(encoding.has_offset) {
  strip_ =
      plan_strip(shape_, digits_.size() * num_positions() * tap_pieces_ * sizeof(std::uint16_t));
  digit_positions_ =
      divide_up(strip_.pixels() * num_positions() * tap_pieces_ + kRoom, kRoom) * kRoom;
  inputs_ = piece_positions(shape_, strip_, tap_pieces_);
  planes_ = AlignedBuffer(shape_.groups * blocks_ * block_bytes());
  const std::size_t rows = patterns_.count() + digits_.size() * bits_ + 1;
  floats_ = AlignedBuffer(rows * float_row() * sizeof(float));
  make_tables();
  pack_planes(codes);
  pack_floats(codes, encoding, bias);
}

std::size_t BitConvWeights::scratch_bytes() const {
  const std::size_t positions = digit_positions(digits_.size());
  // For the sums of windows: per line their sums and counts, per row of pixels counts of pixels
  // and of rows of windows.
  const std::size_t counts =
      has_offset_
          ? strip_.width + (3 + digits_.size() * strip_.slices * strip_.rows) * shape_.line_pixels()
          : 0;
  return divide_up((positions + counts) * sizeof(std::uint16_t), AlignedBuffer::kAlignment) *
         AlignedBuffer::kAlignment;
}

void BitConvWeights::make_tables() {
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

void BitConvWeights::pack_planes(const numerics::BitPlanes& codes) {
  const std::size_t channels = shape_.group_channels();
  for (std::size_t o = 0; o < shape_.outputs; ++o) {
    const std::size_t group = o / shape_.group_outputs();
    const std::size_t block = o % shape_.group_outputs() / kBlock;
    const std::size_t first_block = block / kPanelBlocks * kPanelBlocks;
    const std::size_t panel_blocks = std::min(kPanelBlocks, blocks_ - first_block);
    auto* const panel =
        planes_.as<std::uint8_t>().data() + (group * blocks_ + first_block) * block_bytes();
    for (std::size_t j = 0; j < bits_; ++j) {
      const auto row = codes.planes.row(o * bits_ + j);
      const std::size_t columns = bits_ * panel_blocks;
      const std::size_t column = j * panel_blocks + block - first_block;
      const bool paired = by_halves_ && (column % 2 == 1 || column + 1 != columns);
      const std::size_t first =
          paired ? column / 2 * 4 * kBlock + column % 2 * kBlock : column * 2 * kBlock;
      std::uint8_t* to = panel + first + o % shape_.group_outputs() % kBlock;
      for (std::size_t tap = 0; tap < shape_.taps(); ++tap) {
        const std::size_t end = (tap + 1) * channels;
        for (std::size_t c = tap * channels; c < end; c += kPieceInputs) {
          const std::uint64_t bits = bits_between(row, c, std::min(c + kPieceInputs, end));
          to[0] = static_cast<std::uint8_t>(bits & 15);
          to[paired ? 2 * kBlock : kBlock] = static_cast<std::uint8_t>(bits >> 4);
          to += columns * 2 * kBlock;
        }
      }
    }
  }
}

void BitConvWeights::pack_floats(const numerics::BitPlanes& codes,
                                 const numerics::BasisEncoding& encoding,
                                 std::span<const float> bias) {
  const auto floats = floats_.as<float>();
  const std::size_t first_product = patterns_.count();
  std::vector<double> base(patterns_.count());
  for (std::size_t o = 0; o < shape_.outputs; ++o) {
    const numerics::Basis& basis = encoding.basis(o, 0, codes.cols);
    const std::size_t column =
        o / shape_.group_outputs() * blocks_ * kBlock + o % shape_.group_outputs();
    const auto number = [&](std::size_t row) -> float& {
      return floats[row * float_row() + column];
    };
    const auto sums = tap_sums(shape_, codes, o, basis);
    padded_bases(patterns_, sums, {bias.empty() ? 0 : bias[o], x_basis_.offset, x_basis_.value(0)},
                 base);
    for (std::size_t p = 0; p < base.size(); ++p) number(p) = static_cast<float>(base[p]);
    for (std::size_t d = 0; d < digits_.size(); ++d) {
      for (std::size_t j = 0; j < bits_; ++j) {
        number(first_product + d * bits_ + j) = 2 * (digits_[d].unit * basis.a()[j]);
      }
    }
    number(first_product + digits_.size() * bits_) = basis.offset;
  }
}

}  // namespace halftone::kernels
