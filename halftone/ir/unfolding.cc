// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/unfolding.h"

#include <algorithm>
#include <utility>

namespace halftone::ir {

Unfolding::Unfolding(const Graph& graph, const Node& layer) {
  const Shape& weights = graph.value(layer.inputs[1]).type.shape;
  num_cols_ = matrix_extent(weights).cols;
  if (const auto* conv = std::get_if<Conv>(&layer.op)) {
    find_positions(conv->window, false, graph, layer);
  }
  if (const auto* conv = std::get_if<ConvTranspose>(&layer.op)) {
    find_positions(conv->window, true, graph, layer);
  }
  if (positions_.empty()) return;
  const Shape& image = graph.value(layer.inputs[0]).type.shape;
  channels_ = static_cast<std::size_t>(image.back());
  group_channels_ = static_cast<std::size_t>(weights.back());
  num_groups_ = channels_ / group_channels_;
  sample_elements_ = count_of(spatial_extents(image)) * channels_;
}

void Unfolding::find_positions(const Window& window, bool transposed, const Graph& graph,
                               const Node& layer) {
  const auto inputs = spatial_extents(graph.value(layer.inputs[0]).type.shape);
  const auto outputs = spatial_extents(graph.value(layer.output).type.shape);
  const auto kernel = kernel_extents(graph.value(layer.inputs[1]).type.shape);
  const WindowExtents extents =
      transposed ? WindowExtents{outputs, kernel, inputs} : WindowExtents{inputs, kernel, outputs};
  num_taps_ = count_of(kernel);
  positions_.assign(count_of(outputs) * num_taps_, kPadding);
  std::vector<Tap> taps;
  for (std::size_t p = 0; p < count_of(extents.output); ++p) {
    find_taps(window, extents, p, taps);
    for (const Tap& tap : taps) {
      const auto [output, input] =
          transposed ? std::pair(tap.position, p) : std::pair(p, tap.position);
      positions_[output * num_taps_ + tap.tap] = input;
    }
  }
}

std::size_t Unfolding::rows_per_sample() const {
  return positions_.empty() ? 1 : positions_.size() / num_taps_;
}

std::size_t Unfolding::sample_elements() const {
  return positions_.empty() ? num_cols_ : sample_elements_;
}

void Unfolding::gather(const float* sample, std::size_t group, float* rows) const {
  for (std::size_t i = 0; i < rows_per_sample(); ++i) {
    gather_row(sample, i, group, rows + i * num_cols_);
  }
}

void Unfolding::gather_row(const float* sample, std::size_t index, std::size_t group,
                           float* row) const {
  if (positions_.empty()) {
    std::copy_n(sample, num_cols_, row);
    return;
  }
  const std::size_t* positions = positions_.data() + index * num_taps_;
  for (std::size_t tap = 0; tap < num_taps_; ++tap, row += group_channels_) {
    if (positions[tap] == kPadding) {
      std::fill_n(row, group_channels_, 0.0F);
    } else {
      std::copy_n(sample + positions[tap] * channels_ + group * group_channels_, group_channels_,
                  row);
    }
  }
}

void Unfolding::scatter_add(const float* rows, std::size_t group, float* sample) const {
  if (positions_.empty()) {
    for (std::size_t i = 0; i < num_cols_; ++i) sample[i] += rows[i];
    return;
  }
  for (const std::size_t position : positions_) {
    if (position != kPadding) {
      float* to = sample + position * channels_ + group * group_channels_;
      for (std::size_t c = 0; c < group_channels_; ++c) to[c] += rows[c];
    }
    rows += group_channels_;
  }
}

}  // namespace halftone::ir
