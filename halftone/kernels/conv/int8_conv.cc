// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/int8_conv.h"

#include <algorithm>

#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/encoded.h"

namespace halftone::kernels {
namespace {

/// Size of the windows of a tile, to fit the first-level cache while they are multiplied.
constexpr std::size_t kTileBytes = std::size_t{1} << 14;

void multiply(const Int8Rows& x, const LevelMatmulWeights& w, MatrixView<float> y) {
  level_matmul(x, w, {0, w.num_blocks()}, y);
}

numerics::MatrixEncoding group_encoding(const ConvShape& shape,
                                        const numerics::MatrixEncoding& encoding,
                                        std::size_t inputs, std::size_t group) {
  if (encoding.granularity == numerics::Granularity::kTensor) return encoding;
  const std::size_t count = shape.group_outputs() * encoding.groups_per_row(inputs);
  return encoding.slice(group * count, count);
}

/// The sums of the weights of each tap, as represented in the product.
/// @return [taps, outputs of the group]
std::vector<float> product_tap_sums(const ConvShape& shape, const LevelMatmulWeights& weights) {
  const std::size_t outputs = shape.group_outputs();
  const float scale[] = {1};
  std::vector<float> sums(shape.taps() * outputs);
  for (std::size_t tap = 0; tap < shape.taps(); ++tap) {
    std::vector<std::int8_t> ones(shape.inputs());
    std::fill_n(ones.data() + tap * shape.group_channels(), shape.group_channels(), std::int8_t{1});
    multiply({MatrixView<const std::int8_t>(ones, 1, ones.size()), scale}, weights,
             MatrixView<float>(sums.data() + tap * outputs, 1, outputs, outputs));
  }
  return sums;
}

}  // namespace

Int8ConvWeights::Int8ConvWeights(const ConvShape& shape, const EncodedWeights& weights,
                                 LevelLayout layout, float x_offset)
    : shape_((shape.check(), check_codes("int8_conv", shape, weights.codes),
              check_weights("int8_conv", weights.codes, weights.encoding, weights.bias,
                            LevelMatmulWeights::kMaxInputs),
              shape)),
      patterns_(shape) {
  const std::size_t max_pixels = std::max<std::size_t>(shape.line_pixels(), 1);
  tile_pixels_ =
      std::clamp<std::size_t>(kTileBytes / std::max<std::size_t>(shape.inputs(), 1), 8, 64);
  tile_pixels_ = std::min(tile_pixels_, max_pixels);
  bases_ = AlignedBuffer(patterns_.count() * shape.outputs * sizeof(float));
  std::vector<double> bases(patterns_.count());
  std::vector<double> tap_sums(shape.taps());
  for (std::size_t g = 0; g < shape.groups; ++g) {
    groups_.emplace_back(weights.codes.slice(g * shape.group_outputs(), shape.group_outputs()),
                         group_encoding(shape, weights.encoding, weights.codes.cols, g),
                         std::span<const float>(), layout);
    const auto sums = product_tap_sums(shape, groups_.back());
    for (std::size_t o = 0; o < shape.group_outputs(); ++o) {
      const std::size_t output = g * shape.group_outputs() + o;
      for (std::size_t tap = 0; tap < tap_sums.size(); ++tap) {
        tap_sums[tap] = sums[tap * shape.group_outputs() + o];
      }
      const float bias = weights.bias.empty() ? 0 : weights.bias[output];
      padded_bases(patterns_, tap_sums, {bias, 0, x_offset}, bases);
      for (std::size_t p = 0; p < bases.size(); ++p) {
        bases_.as<float>()[p * shape.outputs + output] = static_cast<float>(bases[p]);
      }
    }
  }
}

std::size_t Int8ConvWeights::size_bytes() const {
  std::size_t bytes = bases_.size_bytes();
  for (const LevelMatmulWeights& group : groups_) bytes += group.size_bytes();
  return bytes;
}

std::size_t Int8ConvWeights::scratch_bytes() const {
  constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
  const std::size_t bytes = tile_pixels_ * (sizeof(float) + shape_.inputs());
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void int8_conv(const Int8Pixels& x, const Int8ConvWeights& w, const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, w.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= w.scratch_bytes());
  const auto& [lines, finish, scratch, y] = part;
  const ConvShape& shape = w.shape();
  const std::size_t tile = w.tile_pixels();
  const std::span scales(reinterpret_cast<float*>(scratch.data()), tile);
  auto* const windows = reinterpret_cast<std::int8_t*>(scales.data() + tile);
  std::fill(scales.begin(), scales.end(), x.scale);
  for (std::size_t line = lines.begin; line < lines.end; ++line) {
    const ConvLine at = line_at(shape, line);
    for (std::size_t first = 0; first < shape.line_pixels(); first += tile) {
      const std::size_t count = std::min(tile, shape.line_pixels() - first);
      const std::size_t pixel = (line - lines.begin) * shape.line_pixels() + first;
      for (std::size_t g = 0; g < w.groups().size(); ++g) {
        const MatrixView<std::int8_t> rows(windows, count, shape.inputs(), shape.inputs());
        gather_windows(shape, x.q, g, {line, first, count}, rows);
        float* to = y.data_handle() + pixel * y.stride() + g * shape.group_outputs();
        multiply({rows, scales.first(count), x.offset}, w.groups()[g],
                 MatrixView<float>(to, count, shape.group_outputs(), y.stride()));
      }
      const std::size_t line_pattern = w.patterns().line(at.z, at.y);
      for (std::size_t p = 0; p < count; ++p) {
        const std::size_t pattern = line_pattern + w.patterns().along_line()[first + p];
        finish_pixel(w.base(pattern), finish, pixel + p, y);
      }
    }
  }
}

}  // namespace halftone::kernels
