// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "halftone/base/error.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/encoded.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"

namespace halftone::kernels {
namespace {

void check_byte_conv(const ConvShape& shape, const EncodedWeights& weights) {
  const auto& [codes, encoding, bias] = weights;
  shape.check();
  check_weights("byte_conv", codes, encoding, bias, ByteConvWeights::kMaxInputs);
  check_codes("byte_conv", shape, codes);
  constexpr std::size_t kWhole = ByteConvWeights::kSectionChannels;
  const bool is_whole = encoding.group_size % kWhole == 0 && shape.group_channels() % kWhole == 0;
  if (encoding.groups_per_row(codes.cols) > 1 && !is_whole) {
    fail(ErrorKind::kUnsupported,
         "byte_conv weights: expected groups of whole fours of the channels of a tap, found " +
             std::to_string(encoding.group_size) + " inputs and " +
             std::to_string(shape.group_channels()) + " channels");
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

ByteConvLevels::ByteConvLevels(const ConvShape& shape, ByteLayout layout,
                               std::size_t section_inputs)
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
      section_pieces_(inputs_.size()),
      span_inputs_(shape.group_channels()),
      levels_(shape.groups * blocks_ * block_bytes()) {
  if (section_inputs == 0 || section_inputs >= shape.inputs()) return;
  sections_ = divide_up(shape.inputs(), section_inputs);
  section_pieces_ = section_inputs / piece_inputs();
  span_inputs_ = std::gcd(section_inputs, shape.group_channels());
}

std::size_t ByteConvLevels::num_sums() const {
  if (sections_ == 1) return strip_.width + strip_.slices * strip_.rows * shape_.line_pixels();
  return strip_.pixels() * tap_spans();
}

std::size_t ByteConvLevels::scratch_bytes() const {
  const std::size_t bytes = AlignedBuffer::rounded_up(strip_.pixels() * tap_pieces_ * kPieceBytes);
  const std::size_t sums = sections_ * shape_.line_pixels() + num_sums();
  return AlignedBuffer::rounded_up(bytes + sums * sizeof(std::int32_t));
}

template <typename LevelOf>
std::vector<std::int64_t> ByteConvLevels::set_levels(std::size_t output, const LevelOf& level_of) {
  std::vector<std::int64_t> sums(shape_.taps() * tap_spans());
  const auto write = [&](auto all) {
    using Level = typename decltype(all)::value_type;
    constexpr std::size_t kPiece = kPieceBytes / sizeof(Level);
    const std::size_t channels = shape_.group_channels();
    // The inputs of a tap, or of a row of taps, fill whole pieces.
    const std::size_t row = joins_taps_ ? shape_.axes[2].kernel : channels;
    const std::size_t row_pieces = divide_up(row, kPiece);
    const std::size_t block = column(output) / kBlock;
    Level* to = &all[block * block_bytes() / sizeof(Level)] + column(output) % kBlock * kPiece;
    const std::size_t count = shape_.inputs();
    for (std::size_t first = 0; first < count; first += row, to += row_pieces * kPiece * kBlock) {
      for (std::size_t k = 0; k < row; ++k) {
        const int level = level_of(first + k);
        to[k / kPiece * kPiece * kBlock + k % kPiece] = static_cast<Level>(level);
        sums[(first + k) / span_inputs_] += level;
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
    : ByteConvLevels((check_byte_conv(shape, weights), shape), layout, weights.encoding.group_size),
      steps_(weights.encoding.weight_steps()),
      factor_(factor_of(layout, weights.encoding)),
      has_centers_(!weights.encoding.is_centred()),
      floats_((patterns().count() + 2 * sections()) * row_outputs() * sizeof(float)) {
  for (std::size_t o = 0; o < shape.outputs; ++o) pack(o, weights, x);
}

void ByteConvWeights::pack(std::size_t output, const EncodedWeights& weights, const Int8Pixels& x) {
  const numerics::BitPlanes& codes = weights.codes;
  std::vector<LevelGrid> grids;
  for (std::size_t s = 0; s < sections(); ++s) {
    grids.push_back(weight_grid(weights.encoding.levels(output, s, codes.cols)));
  }
  const std::size_t all = std::max<std::size_t>(codes.cols, 1);
  const std::size_t section_inputs = sections() == 1 ? all : weights.encoding.group_size;
  const auto grid_of = [&](std::size_t i) -> const LevelGrid& { return grids[i / section_inputs]; };
  const auto level_sums = set_levels(
      output, [&](std::size_t i) { return grid_of(i).u[codes.code(output, i)] / factor_; });
  std::vector<double> sums(shape().taps());
  const auto m = static_cast<std::int64_t>(span_inputs());
  for (std::size_t i = 0; i < level_sums.size(); ++i) {
    const LevelGrid& grid = grid_of(i * span_inputs());
    const std::int64_t odd = 2 * factor_ * level_sums[i] - steps_ * m;
    sums[i / tap_spans()] += static_cast<double>(grid.center) * static_cast<double>(m) +
                             static_cast<double>(grid.half_step) * static_cast<double>(odd);
  }
  std::vector<double> bases(patterns().count());
  const double offset = x.offset;
  const float bias = weights.bias.empty() ? 0 : weights.bias[output];
  padded_bases(patterns(), sums, {bias, offset, offset}, bases);
  std::vector<float> column_floats(bases.begin(), bases.end());
  for (const LevelGrid& grid : grids) {
    column_floats.push_back(grid.half_step * x.scale);
    column_floats.push_back(grid.center * x.scale);
  }
  for (std::size_t i = 0; i < column_floats.size(); ++i) {
    floats_.as<float>()[i * row_outputs() + column(output)] = column_floats[i];
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
