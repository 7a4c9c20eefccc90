// SPDX-License-Identifier: Apache-2.0
// BitConvWeights: extents and constants of the outputs; bit_conv_planes.cc packs the bits.
#include <algorithm>
#include <string>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/padding.h"

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

}  // namespace halftone::kernels
