// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/kernels/conv/float_conv.h"

namespace halftone::kernels {
namespace {

/// The size of a strip: lines of many channels need not be so few that each reads all weights.
constexpr std::size_t kFloatStripBytes = std::size_t{1} << 18;

bool has_padding(const ConvShape& shape) {
  return std::ranges::any_of(shape.axes, [](const ConvAxis& axis) {
    const std::size_t seen =
        axis.output == 0 ? 0
                         : (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    return axis.pad_before != 0 || seen > axis.input;
  });
}

/// Rows of a whole image as a strip.
ConvStrip image_strip(const ConvShape& shape) {
  const auto& [z, y, x] = shape.axes;
  return {y.output, z.input, y.input, x.input};
}

/// @param strip  the rows from which windows are read
std::vector<FloatRun> runs_of(const ConvShape& shape, bool is_depthwise, const ConvStrip& strip) {
  const auto& [z, y, x] = shape.axes;
  // Neighbouring taps of all channels follow each other.
  const bool joins_taps = !is_depthwise && shape.groups == 1 && x.dilation == 1;
  const std::size_t step = joins_taps ? x.kernel : 1;
  std::vector<FloatRun> runs;
  for (std::size_t tap = 0; tap < shape.taps(); tap += step) {
    const std::size_t slice = tap / x.kernel / y.kernel * z.dilation;
    const std::size_t row = slice * strip.rows + tap / x.kernel % y.kernel * y.dilation;
    const std::size_t pixel = row * strip.width + tap % x.kernel * x.dilation;
    append_run(pixel * shape.channels, step * shape.group_channels(), runs);
  }
  return runs;
}

/// Repeats the floats of few channels in panels of FloatPanels::kOutputs.
void repeat_channels(std::size_t channels, std::span<float> panels) {
  constexpr std::size_t kOutputs = FloatPanels::kOutputs;
  if (channels >= kOutputs || kOutputs % channels != 0) return;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    if (i % kOutputs >= channels) panels[i] = panels[i - channels];
  }
}

}  // namespace

FloatConvWeights::FloatConvWeights(const ConvShape& shape, std::span<const float> weights,
                                   std::span<const float> bias)
    : shape_((shape.check(), shape)),
      is_depthwise_(shape.groups == shape.channels && shape.groups == shape.outputs),
      // A vector of channels may reach beyond the last one of an image.
      reads_image_(!has_padding(shape) &&
                   !(is_depthwise_ && shape.channels % FloatPanels::kOutputs)),
      strip_(reads_image_ ? image_strip(shape)
                          : plan_strip(shape, shape.channels * sizeof(float), kFloatStripBytes)),
      runs_(runs_of(shape, is_depthwise_, strip_)) {
  HALFTONE_ASSERT(weights.size() == shape.outputs * shape.inputs());
  const std::size_t sets = is_depthwise_ ? 1 : shape.groups;
  const std::size_t outputs = shape.outputs / sets;
  const std::size_t floats = FloatPanels::floats_for(outputs, shape.inputs());
  const std::size_t bias_floats = FloatPanels::floats_for(outputs, 1);
  panels_ = AlignedBuffer(sets * floats * sizeof(float));
  bias_.resize(sets * bias_floats);
  for (std::size_t s = 0; s < sets; ++s) {
    if (!bias.empty()) {
      std::ranges::copy(bias.subspan(s * outputs, outputs), bias_.data() + s * bias_floats);
    }
    const std::size_t count = outputs * shape.inputs();
    pack_float_panels({weights.subspan(s * count, count), outputs, shape.inputs()},
                      panels_.as<float>().subspan(s * floats, floats));
  }
  if (is_depthwise_) {
    repeat_channels(outputs, bias_);
    repeat_channels(outputs, panels_.as<float>());
  }
}

FloatPanels FloatConvWeights::panels(std::size_t group) const {
  const std::size_t outputs = is_depthwise_ ? shape_.outputs : shape_.group_outputs();
  const std::size_t floats = FloatPanels::floats_for(outputs, shape_.inputs());
  return {panels_.as<float>().data() + group * floats, outputs, shape_.inputs()};
}

const float* FloatConvWeights::bias(std::size_t group) const {
  return bias_.data() + group * panels(group).count() * FloatPanels::kOutputs;
}

std::size_t FloatConvWeights::scratch_bytes() const {
  if (reads_image_) return 0;
  return AlignedBuffer::rounded_up((strip_.pixels() * shape_.channels + FloatPanels::kOutputs) *
                                   sizeof(float));
}

FloatConvTransposeWeights::FloatConvTransposeWeights(const ConvShape& shape,
                                                     std::span<const float> weights,
                                                     std::span<const float> bias)
    : shape_((shape.check(), shape)),
      is_depthwise_(shape.groups == shape.channels && shape.groups == shape.outputs),
      bias_(bias.begin(), bias.end()) {
  HALFTONE_ASSERT(weights.size() == shape.outputs * shape.inputs());
  bias_.resize(shape.outputs, 0.0F);
  append_run(0, shape.group_channels(), runs_);
  if (is_depthwise_) {
    packed_ = AlignedBuffer(weights.size() * sizeof(float));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      packed_.as<float>()[i % shape.taps() * shape.channels + i / shape.taps()] = weights[i];
    }
    return;
  }
  const std::size_t floats = FloatPanels::floats_for(group_terms(), shape.group_channels());
  packed_ = AlignedBuffer(shape.groups * floats * sizeof(float));
  for (std::size_t g = 0; g < shape.groups; ++g) pack_group(g, weights);
}

void FloatConvTransposeWeights::pack_group(std::size_t group, std::span<const float> weights) {
  const std::size_t channels = shape_.group_channels();
  const std::size_t outputs = shape_.group_outputs();
  std::vector<float> matrix;  // [taps, outputs / groups; channels / groups]
  matrix.reserve(group_terms() * channels);
  for (std::size_t t = 0; t < shape_.taps(); ++t) {
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t row = (group * outputs + o) * shape_.taps() + t;
      const auto from = weights.subspan(row * channels, channels);
      matrix.insert(matrix.end(), from.begin(), from.end());
    }
  }
  const std::size_t floats = FloatPanels::floats_for(group_terms(), channels);
  pack_float_panels({matrix, group_terms(), channels},
                    packed_.as<float>().subspan(group * floats, floats));
}

FloatPanels FloatConvTransposeWeights::panels(std::size_t group) const {
  const std::size_t floats = FloatPanels::floats_for(group_terms(), shape_.group_channels());
  return {packed_.as<float>().data() + group * floats, group_terms(), shape_.group_channels()};
}

std::size_t FloatConvTransposeWeights::block_pixels() const {
  constexpr std::size_t kTerms = std::size_t{1} << 15;  // of a block, for a near cache
  constexpr std::size_t kMinPixels = 12;                // that share the weights of a panel
  constexpr std::size_t kMaxPixels = 96;
  const std::size_t terms = std::max<std::size_t>(pixel_terms(), 1);
  const std::size_t pixels = std::clamp(kTerms / terms, kMinPixels, kMaxPixels);
  return std::clamp<std::size_t>(shape_.image_input_pixels(), 1, pixels);
}

std::size_t FloatConvTransposeWeights::scratch_bytes() const {
  if (is_depthwise_) return 0;
  const std::size_t zeros = FloatPanels::floats_for(group_terms(), 1);
  return AlignedBuffer::rounded_up((zeros + block_pixels() * pixel_terms()) * sizeof(float));
}

}  // namespace halftone::kernels
