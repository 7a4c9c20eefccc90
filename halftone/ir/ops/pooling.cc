// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/pooling.h"

#include <algorithm>
#include <limits>

namespace halftone::ir {
namespace {

/// How many taps of a window lie inside the input or its padding.
std::size_t padded_taps(const Pool& op, std::span<const Dim> extents, std::span<const Dim> counts,
                        std::size_t output) {
  std::size_t taps = 1;
  for (std::size_t axis = counts.size(); axis-- > 0;) {
    const auto count = static_cast<std::size_t>(counts[axis]);
    const Dim first = static_cast<Dim>(output % count) * op.window.strides[axis];
    output /= count;
    const Dim room = extents[axis] + op.window.pads_before[axis] + op.window.pads_after[axis];
    const Dim fitting = (room - first + op.window.dilations[axis] - 1) / op.window.dilations[axis];
    taps *= static_cast<std::size_t>(std::min(op.kernel[axis], fitting));
  }
  return taps;
}

}  // namespace

std::string_view to_string(PoolKind kind) {
  return kind == PoolKind::kMax ? "MaxPool" : "AveragePool";
}

ValueType infer_types(const Pool& op, InputTypes inputs) {
  require_float(inputs, 0);
  const Shape& x = inputs[0]->shape;
  const auto extents = spatial_extents(x);
  check_window(op.window, extents.size());
  require(op.kernel.size() == extents.size(), "kernel: expected " + std::to_string(extents.size()) +
                                                  " extents, found " +
                                                  std::to_string(op.kernel.size()));
  std::vector<Dim> dims = window_counts(op.window, extents, op.kernel, op.round_up);
  dims.insert(dims.begin(), x[0]);
  dims.push_back(x.back());
  return dense_type(ElementType::kFloat32, Shape(std::move(dims)));
}

Tensor evaluate(const Pool& op, InputTensors inputs) {
  const ValueType type = inputs[0]->type();
  const std::vector<const ValueType*> types = {&type};
  Tensor result(ElementType::kFloat32, infer_types(op, types).shape);
  const auto extents = spatial_extents(type.shape);
  const auto counts = spatial_extents(result.shape());
  const auto samples = static_cast<std::size_t>(type.shape[0]);
  const auto channels = static_cast<std::size_t>(type.shape.back());
  if (result.size() == 0) return result;
  const std::size_t positions = inputs[0]->size() / std::max<std::size_t>(samples * channels, 1);
  const std::size_t outputs = result.size() / (samples * channels);
  const auto x = inputs[0]->as<float>();
  const auto y = result.as<float>();
  const bool is_max = op.kind == PoolKind::kMax;
  std::vector<Tap> taps;
  for (std::size_t p = 0; p < outputs; ++p) {
    find_taps(op.window, extents, op.kernel, counts, p, taps);
    const std::size_t counted = op.count_padding ? padded_taps(op, extents, counts, p)
                                                 : std::max<std::size_t>(taps.size(), 1);
    for (std::size_t i = 0; i < samples * channels; ++i) {
      const std::size_t n = i / channels;
      const std::size_t c = i % channels;
      double sum = 0;
      float most = -std::numeric_limits<float>::infinity();
      for (const Tap& tap : taps) {
        const float value = x[(n * positions + tap.position) * channels + c];
        sum += static_cast<double>(value);
        most = std::max(most, value);
      }
      y[(n * outputs + p) * channels + c] =
          is_max ? most : static_cast<float>(sum / static_cast<double>(counted));
    }
  }
  return result;
}

std::string attributes(const Pool& op) {
  std::string text = "kernel=";
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    text.append(i == 0 ? "" : ",").append(std::to_string(op.kernel[i]));
  }
  const std::string window = to_string(op.window);
  return window.empty() ? text : text + " " + window;
}

}  // namespace halftone::ir
