// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/padding.h"
#include "halftone/kernels/int8_matmul/level_grid.h"

namespace halftone::kernels {
namespace {

void check_byte_conv(const ConvShape& shape, const EncodedWeights& weights) {
  const auto& [codes, encoding, bias] = weights;
  shape.check();
  check_weights("byte_conv", codes, encoding, bias, ByteConvWeights::kMaxInputs);
  check_codes("byte_conv", shape, codes);
  if (encoding.granularity == numerics::Granularity::kGroup) {
    fail(ErrorKind::kUnsupported,
         "byte_conv weights: expected one basis per tensor or channel, found groups of " +
             std::to_string(encoding.group_size));
  }
}

std::int32_t factor_of(ByteLayout layout, const numerics::MatrixEncoding& encoding) {
  if (layout != ByteLayout::kSmall) return 1;
  const std::int32_t factor = common_factor(encoding);
  if (factor > 1) return factor;
  fail(ErrorKind::kUnsupported,
       "byte_conv weights: expected evenly spaced levels of at most 4 bits, found others");
}

std::size_t divide_up(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

bool has_joined_taps(const ConvShape& shape, ByteLayout layout) {
  const ConvAxis& axis = shape.axes[2];
  return layout != ByteLayout::kShorts && shape.group_channels() == 1 && axis.kernel > 1 &&
         axis.dilation == 1;
}

/// Those of piece_positions() at which a piece of neighbouring taps begins.
std::vector<std::uint32_t> joined_positions(const ConvShape& shape,
                                            const std::vector<std::uint32_t>& taps) {
  std::vector<std::uint32_t> first;
  for (std::size_t tap = 0; tap < taps.size(); ++tap) {
    if (tap % shape.axes[2].kernel % ByteConvLevels::kPieceBytes == 0) first.push_back(taps[tap]);
  }
  return first;
}

}  // namespace

ByteConvLevels::ByteConvLevels(const ConvShape& shape, ByteLayout layout)
    : shape_((shape.check(), shape)),
      patterns_(shape),
      layout_(layout),
      blocks_(divide_up(shape.group_outputs(), kBlock)),
      tap_pieces_(divide_up(shape.group_channels(), piece_inputs())),
      joins_taps_(has_joined_taps(shape, layout)),
      reads_in_place_(shape.is_pointwise() && shape.groups == 1 && layout != ByteLayout::kShorts &&
                      shape.channels % kPieceBytes == 0),
      strip_(plan_strip(shape, tap_pieces_ * kPieceBytes)),
      inputs_(joins_taps_ ? joined_positions(shape, piece_positions(shape, strip_, 1))
                          : piece_positions(shape, strip_, tap_pieces_)),
      levels_(shape.groups * blocks_ * block_bytes()) {}

std::size_t ByteConvLevels::scratch_bytes() const {
  const std::size_t bytes = AlignedBuffer::rounded_up(strip_.pixels() * tap_pieces_ * kPieceBytes);
  // Sums of a row of pixels, of windows along each row, of the windows of a line.
  const std::size_t sums = strip_.width + (strip_.slices * strip_.rows + 1) * shape_.line_pixels();
  return AlignedBuffer::rounded_up(bytes + sums * sizeof(std::int32_t));
}

template <typename LevelOf>
std::vector<std::int64_t> ByteConvLevels::set_levels(std::size_t output, const LevelOf& level_of) {
  std::vector<std::int64_t> sums(shape_.taps());
  const auto write = [&](auto all) {
    using Level = typename decltype(all)::value_type;
    constexpr std::size_t kPiece = kPieceBytes / sizeof(Level);
    const std::size_t channels = shape_.group_channels();
    // The inputs of a tap, or of a row of taps, fill whole pieces.
    const std::size_t row = joins_taps_ ? shape_.axes[2].kernel : channels;
    const std::size_t row_pieces = divide_up(row, kPiece);
    const std::size_t block = column(output) / kBlock;
    Level* to = &all[block * block_bytes() / sizeof(Level)] + column(output) % kBlock * kPiece;
    const std::size_t count = sums.size() * channels;
    for (std::size_t first = 0; first < count; first += row, to += row_pieces * kPiece * kBlock) {
      for (std::size_t k = 0; k < row; ++k) {
        const int level = level_of(first + k);
        to[k / kPiece * kPiece * kBlock + k % kPiece] = static_cast<Level>(level);
        sums[joins_taps_ ? first + k : first / channels] += level;
      }
    }
  };
  if (layout_ == ByteLayout::kShorts) {
    write(levels_.as<std::int16_t>());
  } else {
    write(levels_.as<std::uint8_t>());
  }
  return sums;
}

ByteConvWeights::ByteConvWeights(const ConvShape& shape, const EncodedWeights& weights,
                                 const Int8Pixels& x, ByteLayout layout)
    : ByteConvLevels((check_byte_conv(shape, weights), shape), layout),
      steps_(weights.encoding.weight_steps()),
      factor_(factor_of(layout, weights.encoding)),
      floats_((patterns().count() + 2) * row_outputs() * sizeof(float)) {
  const numerics::BitPlanes& codes = weights.codes;
  const auto channels = static_cast<std::int64_t>(shape.group_channels());
  std::vector<double> sums(shape.taps());
  std::vector<double> bases(patterns().count());
  const auto floats = floats_.as<float>();
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    const LevelGrid grid = weight_grid(weights.encoding.levels(o, 0, codes.cols));
    const auto level_sums =
        set_levels(o, [&](std::size_t i) { return grid.u[codes.code(o, i)] / factor_; });
    std::ranges::transform(level_sums, sums.begin(), [&](std::int64_t sum) {
      const std::int64_t odd = 2 * factor_ * sum - steps_ * channels;
      return static_cast<double>(grid.center) * static_cast<double>(channels) +
             static_cast<double>(grid.half_step) * static_cast<double>(odd);
    });
    const double offset = x.offset;
    padded_bases(patterns(), sums, {weights.bias.empty() ? 0 : weights.bias[o], offset, offset},
                 bases);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      floats[p * row_outputs() + column(o)] = static_cast<float>(bases[p]);
    }
    floats[bases.size() * row_outputs() + column(o)] = grid.half_step * x.scale;
    floats[(bases.size() + 1) * row_outputs() + column(o)] = grid.center * x.scale;
  }
}

IntegerConvWeights::IntegerConvWeights(const ConvShape& shape, const IntegerWeights& weights,
                                       std::int32_t x_zero, ByteLayout layout)
    : ByteConvLevels(shape, layout),
      numbers_((patterns().count() + 1) * row_outputs() * sizeof(std::int32_t)) {
  HALFTONE_ASSERT(weights.codes.size() == shape.outputs * shape.inputs());
  const auto channels = static_cast<double>(shape.group_channels());
  const auto numbers = numbers_.as<std::int32_t>();
  std::vector<double> sums(shape.taps());
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    // Levels are differences from this number: from 0 on, or less their zero points.
    const int lowest = layout == ByteLayout::kShorts ? weights.zeros[o] : weights.lowest();
    const auto level_sums =
        set_levels(o, [&](std::size_t i) { return weights.code(o * shape.inputs() + i) - lowest; });
    const int zero = weights.zeros[o] - lowest;
    std::ranges::transform(level_sums, sums.begin(), [&](std::int64_t sum) {
      return static_cast<double>(sum) - channels * zero;
    });
    const auto bases = integer_bases(patterns(), sums, weights.bias_of(o), x_zero);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      numbers[p * row_outputs() + column(o)] = bases[p];
    }
    numbers[bases.size() * row_outputs() + column(o)] = zero;
  }
}

}  // namespace halftone::kernels
