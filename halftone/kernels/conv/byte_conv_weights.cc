// SPDX-License-Identifier: Apache-2.0
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

}  // namespace

ByteConvWeights::ByteConvWeights(const ConvShape& shape, const EncodedWeights& weights,
                                 const Int8Pixels& x, ByteLayout layout)
    : shape_((check_byte_conv(shape, weights), shape)),
      patterns_(shape),
      layout_(layout),
      steps_(numerics::weight_steps(weights.codes.bits)),
      factor_(factor_of(layout, weights.encoding)),
      blocks_(divide_up(shape.group_outputs(), kBlock)),
      tap_pieces_(divide_up(shape.group_channels(), piece_inputs())),
      reads_in_place_(shape.is_pointwise() && shape.groups == 1 && layout != ByteLayout::kShorts &&
                      shape.channels % kPieceBytes == 0),
      strip_(plan_strip(shape, tap_pieces_ * kPieceBytes)),
      inputs_(piece_positions(shape, strip_, tap_pieces_)),
      levels_(shape.groups * blocks_ * block_bytes()),
      floats_((patterns_.count() + 2) * float_row() * sizeof(float)) {
  const auto& [codes, encoding, bias] = weights;
  std::vector<double> bases(patterns_.count());
  const auto floats = floats_.as<float>();
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    const LevelGrid grid = weight_grid(encoding.levels(o, 0, codes.cols));
    const std::vector<double> sums = layout_ == ByteLayout::kShorts
                                         ? pack_levels<std::int16_t>(codes, o, grid)
                                         : pack_levels<std::uint8_t>(codes, o, grid);
    const double offset = x.offset;
    padded_bases(patterns_, sums, {bias.empty() ? 0 : bias[o], offset, offset}, bases);
    const std::size_t column =
        o / shape.group_outputs() * blocks_ * kBlock + o % shape.group_outputs();
    for (std::size_t p = 0; p < bases.size(); ++p) {
      floats[p * float_row() + column] = static_cast<float>(bases[p]);
    }
    floats[bases.size() * float_row() + column] = grid.half_step * x.scale;
    floats[(bases.size() + 1) * float_row() + column] = grid.center * x.scale;
  }
}

template <typename Level>
std::vector<double> ByteConvWeights::pack_levels(const numerics::BitPlanes& codes,
                                                 std::size_t output, const LevelGrid& grid) {
  const std::size_t channels = shape_.group_channels();
  const std::size_t group = output / shape_.group_outputs();
  const std::size_t in_group = output % shape_.group_outputs();
  constexpr std::size_t kPiece = kPieceBytes / sizeof(Level);
  Level* to = levels_.as<Level>().data() +
              (group * blocks_ + in_group / kBlock) * block_bytes() / sizeof(Level) +
              in_group % kBlock * kPiece;
  std::vector<double> sums(shape_.taps());
  for (std::size_t tap = 0; tap < shape_.taps(); ++tap) {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint8_t u = grid.u[codes.code(output, tap * channels + c)];
      to[c / kPiece * kPiece * kBlock + c % kPiece] = static_cast<Level>(u / factor_);
      sum += u;
    }
    to += tap_pieces_ * kPiece * kBlock;
    const std::int64_t odd = 2 * sum - steps_ * static_cast<std::int64_t>(channels);
    sums[tap] = static_cast<double>(grid.center) * static_cast<double>(channels) +
                static_cast<double>(grid.half_step) * static_cast<double>(odd);
  }
  return sums;
}

std::size_t ByteConvWeights::scratch_bytes() const {
  constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
  const std::size_t bytes =
      divide_up(strip_.pixels() * tap_pieces_ * kPieceBytes, kAlignment) * kAlignment;
  // Sums of a row of pixels, of windows along each row, of the windows of a line.
  const std::size_t sums = strip_.width + (strip_.slices * strip_.rows + 1) * shape_.line_pixels();
  return divide_up(bytes + sums * sizeof(std::int32_t), kAlignment) * kAlignment;
}

}  // namespace halftone::kernels
