// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/encoded.h"

namespace halftone::kernels {
namespace {

void check_depthwise(const ConvShape& shape, const numerics::BitPlanes& codes,
                     const numerics::MatrixEncoding& encoding, std::span<const float> bias) {
  shape.check();
  check_weights("depthwise_conv", codes, encoding, bias, DepthwiseWeights::kMaxTaps);
  check_codes("depthwise_conv", shape, codes);
  if (shape.groups != shape.channels || shape.outputs != shape.channels) {
    fail(ErrorKind::kShape, "depthwise_conv weights: expected as many groups and outputs as " +
                                std::to_string(shape.channels) + " channels, found " +
                                std::to_string(shape.groups) + " and " +
                                std::to_string(shape.outputs));
  }
}

}  // namespace

DepthwiseChannel::DepthwiseChannel(const numerics::BitPlanes& codes,
                                   const numerics::MatrixEncoding& encoding, std::size_t row) {
  constexpr double kMax = 32767;
  const std::size_t width =
      encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size : codes.cols;
  const auto level = [&](std::size_t tap) -> double {
    return encoding.levels(row, tap / width, codes.cols).value(codes.code(row, tap));
  };
  double largest = 0;
  for (std::size_t t = 0; t < codes.cols; ++t) largest = std::max(largest, std::abs(level(t)));
  scale = static_cast<float>(largest / kMax);
  if (scale == 0) return;
  for (std::size_t t = 0; t < codes.cols; ++t) {
    i[t] = static_cast<std::int16_t>(std::clamp(std::round(level(t) / scale), -kMax, kMax));
  }
}

DepthwiseLevels::DepthwiseLevels(const ConvShape& shape)
    : shape_((shape.check(), shape)),
      patterns_(shape),
      levels_(blocks() * block_levels() * sizeof(std::int16_t)) {}

std::int16_t& DepthwiseLevels::level(std::size_t channel, std::size_t tap) {
  const std::size_t columns = shape_.axes[2].kernel;
  const std::size_t row = tap / columns;
  const std::size_t pair = tap % columns * pairs() + row / 2;
  return levels_.as<std::int16_t>()[channel / kBlock * block_levels() + pair * kBlock * 2 +
                                    channel % kBlock * 2 + row % 2];
}

DepthwiseWeights::DepthwiseWeights(const ConvShape& shape, const numerics::BitPlanes& codes,
                                   const numerics::MatrixEncoding& encoding,
                                   std::span<const float> bias, const Int8Pixels& x)
    : DepthwiseLevels((check_depthwise(shape, codes, encoding, bias), shape)),
      floats_((patterns().count() + 1) * row_outputs() * sizeof(float)) {
  const auto floats = floats_.as<float>();
  std::vector<double> sums(shape.taps());
  std::vector<double> bases(patterns().count());
  for (std::size_t c = 0; c < shape.channels; ++c) {
    const DepthwiseChannel channel(codes, encoding, c);
    for (std::size_t tap = 0; tap < shape.taps(); ++tap) {
      level(c, tap) = channel.i[tap];
      sums[tap] = static_cast<double>(channel.scale) * channel.i[tap];
    }
    padded_bases(patterns(), sums, {bias.empty() ? 0 : bias[c], x.offset, x.offset}, bases);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      floats[p * row_outputs() + c] = static_cast<float>(bases[p]);
    }
    floats[bases.size() * row_outputs() + c] = channel.scale * x.scale;
  }
}

IntegerDepthwiseWeights::IntegerDepthwiseWeights(const ConvShape& shape,
                                                 const IntegerWeights& weights, std::int32_t x_zero)
    : DepthwiseLevels(shape), numbers_(patterns().count() * row_outputs() * sizeof(std::int32_t)) {
  HALFTONE_ASSERT(weights.codes.size() == shape.channels * shape.taps());
  std::vector<double> sums(shape.taps());
  for (std::size_t c = 0; c < shape.channels; ++c) {
    for (std::size_t tap = 0; tap < shape.taps(); ++tap) {
      const int w = weights.code(c * shape.taps() + tap) - weights.zeros[c];
      level(c, tap) = static_cast<std::int16_t>(w);
      sums[tap] = w;
    }
    const auto bases = integer_bases(patterns(), sums, weights.bias_of(c), x_zero);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      numbers_.as<std::int32_t>()[p * row_outputs() + c] = bases[p];
    }
  }
}

std::size_t DepthwiseLevels::strip_width() const {
  const ConvAxis& x = shape_.axes[2];
  return x.output == 0 ? 0 : (x.output - 1) * x.stride + (x.kernel - 1) * x.dilation + 1;
}

std::size_t DepthwiseLevels::scratch_bytes() const {
  return rows_bytes() + strip_width() * pairs() * kBlock * 2 * sizeof(std::int16_t);
}

std::size_t DepthwiseLevels::rows_bytes() const {
  // Whole pairs; the last one may have no second row.
  return AlignedBuffer::rounded_up((rows() + 1) * sizeof(const std::int8_t*));
}

}  // namespace halftone::kernels
