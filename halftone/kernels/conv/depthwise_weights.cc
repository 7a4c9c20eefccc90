// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/padding.h"

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

DepthwiseWeights::DepthwiseWeights(const ConvShape& shape, const numerics::BitPlanes& codes,
                                   const numerics::MatrixEncoding& encoding,
                                   std::span<const float> bias, const Int8Pixels& x)
    : shape_((check_depthwise(shape, codes, encoding, bias), shape)),
      patterns_(shape),
      levels_(blocks() * block_levels() * sizeof(std::int16_t)),
      floats_((patterns_.count() + 1) * blocks() * kBlock * sizeof(float)) {
  const std::size_t columns = shape.axes[2].kernel;
  const auto levels = levels_.as<std::int16_t>();
  const auto floats = floats_.as<float>();
  std::vector<double> sums(shape.taps());
  std::vector<double> bases(patterns_.count());
  for (std::size_t c = 0; c < shape.channels; ++c) {
    const DepthwiseChannel channel(codes, encoding, c);
    const std::size_t first = c / kBlock * block_levels() + c % kBlock * 2;
    for (std::size_t tap = 0; tap < shape.taps(); ++tap) {
      const std::size_t row = tap / columns;
      const std::size_t pair = tap % columns * pairs() + row / 2;
      levels[first + pair * kBlock * 2 + row % 2] = channel.i[tap];
      sums[tap] = static_cast<double>(channel.scale) * channel.i[tap];
    }
    padded_bases(patterns_, sums, {bias.empty() ? 0 : bias[c], x.offset, x.offset}, bases);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      floats[p * blocks() * kBlock + c] = static_cast<float>(bases[p]);
    }
    floats[bases.size() * blocks() * kBlock + c] = channel.scale * x.scale;
  }
}

std::size_t DepthwiseWeights::strip_width() const {
  const ConvAxis& x = shape_.axes[2];
  return x.output == 0 ? 0 : (x.output - 1) * x.stride + (x.kernel - 1) * x.dilation + 1;
}

std::size_t DepthwiseWeights::scratch_bytes() const {
  return rows_bytes() + strip_width() * pairs() * kBlock * 2 * sizeof(std::int16_t);
}

std::size_t DepthwiseWeights::rows_bytes() const {
  constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
  // Whole pairs; the last one may have no second row.
  const std::size_t bytes = (rows() + 1) * sizeof(const std::int8_t*);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace halftone::kernels
