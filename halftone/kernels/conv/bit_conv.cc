// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/bit_conv.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/encoded.h"

namespace halftone::kernels {
namespace {

/// Bytes that a vector may reach past the end.
constexpr std::size_t kRoom = 64;

/// The size of a strip of tables, which fits a second-level cache of 1 MiB: each row that two
/// strips share is filled twice.
constexpr std::size_t kTablesStripBytes = std::size_t{1} << 19;

void check_bit_conv(const ConvShape& shape, const numerics::BitPlanes& codes,
                    const numerics::MatrixEncoding& encoding, std::span<const float> bias) {
  shape.check();
  check_weights("bit_conv", codes, encoding, bias, BitConvWeights::kMaxInputs);
  check_summed("bit_conv", encoding);
  check_codes("bit_conv", shape, codes);
  if (encoding.granularity == numerics::Granularity::kGroup) {
    fail(ErrorKind::kUnsupported,
         "bit_conv weights: expected one basis per tensor or channel, found groups of " +
             std::to_string(encoding.group_size));
  }
}

std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

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

BitConvWeights::BitConvWeights(const ConvShape& shape, const EncodedWeights& weights,
                               const numerics::Basis& x_basis, BitConvLayout layout)
    : shape_((check_bit_conv(shape, weights.codes, weights.encoding, weights.bias), shape)),
      x_basis_(x_basis),
      digits_(numerics::split_digits(x_basis, shape.inputs())),
      layout_(layout),
      by_halves_(digits_.size() < x_basis.a().size()),
      patterns_(shape),
      bits_(static_cast<std::size_t>(weights.codes.bits)),
      blocks_(ceil_div(shape.group_outputs(), kBlock)),
      has_offset_(!weights.encoding.is_centred()) {
  tap_pieces_ = pieces_of(shape_.group_channels());
  const bool positions = layout_ == BitConvLayout::kTables;
  strip_ = plan_strip(shape_, digits_.size() * pixel_bytes(),
                      positions ? kStripBytes : kTablesStripBytes);
  digit_bytes_ = ceil_div(strip_.pixels() * pixel_bytes() + kRoom, kRoom) * kRoom;
  inputs_ = piece_positions(shape_, strip_, tap_pieces_);
  planes_ = AlignedBuffer(panel_offset(shape_.groups, 0));
  const std::size_t rows = patterns_.count() + digits_.size() * bits_ + 1;
  floats_ = AlignedBuffer(rows * float_row() * sizeof(float));
  if (positions) {
    make_shared_tables();
  } else {
    make_plane_tables();
  }
  pack_planes(weights.codes);
  pack_floats(weights.codes, weights.encoding, weights.bias);
}

std::size_t BitConvWeights::piece_inputs() const {
  switch (layout_) {
    case BitConvLayout::kTables:
      return kTablesInputs;
    case BitConvLayout::kSixes:
      return 6;
    case BitConvLayout::kFours:
      return 16;
  }
  return 0;
}

std::size_t BitConvWeights::pieces_of(std::size_t channels) const {
  return channels / kWordInputs * ceil_div(kWordInputs, piece_inputs()) +
         ceil_div(channels % kWordInputs, piece_inputs());
}

std::size_t BitConvWeights::piece_bytes(std::size_t columns) const {
  switch (layout_) {
    case BitConvLayout::kTables:
      return columns * 2 * kBlock;
    case BitConvLayout::kSixes:
      return ceil_div(columns, 4) * kVectorBytes;
    case BitConvLayout::kFours:
      return columns * kVectorBytes;
  }
  return 0;
}

std::size_t BitConvWeights::pixel_bytes() const {
  const bool positions = layout_ == BitConvLayout::kTables;
  return tap_pieces_ * (positions ? num_positions() * sizeof(std::uint16_t) : kVectorBytes);
}

std::size_t BitConvWeights::panel_offset(std::size_t group, std::size_t block) const {
  const auto bytes_before = [&](std::size_t blocks) {
    return pieces() * (blocks / kPanelBlocks * piece_bytes(bits_ * kPanelBlocks) +
                       piece_bytes(bits_ * (blocks % kPanelBlocks)));
  };
  return group * bytes_before(blocks_) + bytes_before(block);
}

std::size_t BitConvWeights::max_pieces(std::size_t digit) const {
  const std::size_t inputs = layout_ == BitConvLayout::kSixes ? 6 : 4;
  return 255 / (inputs * static_cast<std::size_t>(digits_[digit].reach()));
}

std::size_t BitConvWeights::scratch_bytes() const {
  // For the sums of windows: per line their sums and counts, per row of pixels counts of pixels
  // and of rows of windows.
  const std::size_t counts =
      has_offset_
          ? strip_.width + (3 + digits_.size() * strip_.slices * strip_.rows) * shape_.line_pixels()
          : 0;
  return ceil_div(digit_bytes(digits_.size()) + counts * sizeof(std::uint16_t),
                  AlignedBuffer::kAlignment) *
         AlignedBuffer::kAlignment;
}

void BitConvWeights::pack_floats(const numerics::BitPlanes& codes,
                                 const numerics::MatrixEncoding& encoding,
                                 std::span<const float> bias) {
  const auto floats = floats_.as<float>();
  const std::size_t first_product = patterns_.count();
  std::vector<double> base(patterns_.count());
  for (std::size_t o = 0; o < shape_.outputs; ++o) {
    const numerics::Basis basis = encoding.basis(o, 0, codes.cols);
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

BitConvLayout preferred_bit_conv_layout(const ConvShape& shape, int bits) {
  if (!permutes_bytes()) return BitConvLayout::kTables;
  constexpr std::size_t kBlock = BitConvWeights::kBlock;
  const std::size_t blocks =
      std::min((shape.group_outputs() + kBlock - 1) / kBlock, BitConvWeights::kPanelBlocks);
  const std::size_t columns = static_cast<std::size_t>(bits) * blocks;
  // A look-up of sixes has 4 columns where one of fours has 1, but takes twice as long, as it reads
  // larger tables, and of more than 6 channels more of them. Measured on Zen 5: fours take 8 % off
  // ResNet-20 and UltraFace in 2 bits, sixes a quarter off a network that begins with 1 channel
  // and 64 outputs.
  const bool few_channels = shape.group_channels() <= 6;
  return few_channels && columns > 2 ? BitConvLayout::kSixes : BitConvLayout::kFours;
}

void bit_conv(std::span<const std::uint64_t> x, const BitConvWeights& weights,
              const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  const auto kernel =
      weights.layout() == BitConvLayout::kTables ? bit_conv_tables : bit_conv_permutes;
  kernel(x.data(), weights, part);
}

}  // namespace halftone::kernels
