// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/kernels/conv/float_conv_transpose.h"

namespace halftone::kernels {

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
