// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/pooling.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "halftone/base/elementary.h"
#include "halftone/ir/ops/integer.h"

namespace halftone::ir {
namespace {

/// Number of taps of a window inside the input or its padding.
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

/// sum / count rounded to nearest, ties away from zero.
std::int64_t rounded_mean(std::int64_t sum, std::int64_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

/// Accumulates the inputs of one window.
template <typename T>
class Reduced {
 public:
  void add(T value) {
    max_ = elementary::larger(max_, value);
    sum_ += static_cast<Sum>(value);
  }
  [[nodiscard]] T max() const { return max_; }
  [[nodiscard]] T mean(std::size_t count) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(rounded_mean(sum_, static_cast<std::int64_t>(count)));
    } else {
      return static_cast<T>(sum_ / static_cast<double>(count));
    }
  }

 private:
  using Limits = std::numeric_limits<T>;
  using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  T max_ = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  Sum sum_ = 0;
};

template <typename T>
void pool(const Pool& op, const Tensor& image, Tensor& result) {
  const auto extents = spatial_extents(image.shape());
  const auto counts = spatial_extents(result.shape());
  const auto samples = static_cast<std::size_t>(image.shape()[0]);
  const auto channels = static_cast<std::size_t>(image.shape().back());
  const std::size_t positions = image.size() / std::max<std::size_t>(samples * channels, 1);
  const std::size_t outputs = result.size() / (samples * channels);
  const auto x = image.as<T>();
  const auto y = result.as<T>();
  std::vector<Tap> taps;
  for (std::size_t p = 0; p < outputs; ++p) {
    find_taps(op.window, {extents, op.kernel, counts}, p, taps);
    const std::size_t counted = op.count_padding ? padded_taps(op, extents, counts, p)
                                                 : std::max<std::size_t>(taps.size(), 1);
    for (std::size_t i = 0; i < samples * channels; ++i) {
      const std::size_t n = i / channels;
      const std::size_t c = i % channels;
      Reduced<T> reduced;
      for (const Tap& tap : taps) reduced.add(x[(n * positions + tap.position) * channels + c]);
      y[(n * outputs + p) * channels + c] =
          op.kind == PoolKind::kMax ? reduced.max() : reduced.mean(counted);
    }
  }
}

}  // namespace

std::string_view to_string(PoolKind kind) {
  return kind == PoolKind::kMax ? "MaxPool" : "AveragePool";
}

ValueType infer_types(const Pool& op, InputTypes inputs) {
  const bool codes = are_codes(*inputs[0]);
  if (!codes) require_float(inputs, 0);
  require(!codes || !op.count_padding, "count_padding: expected false for codes");
  const Shape& x = inputs[0]->shape;
  const auto extents = spatial_extents(x);
  check_window(op.window, extents.size());
  require(op.kernel.size() == extents.size(), "kernel: expected " + std::to_string(extents.size()) +
                                                  " extents, found " +
                                                  std::to_string(op.kernel.size()));
  std::vector<Dim> dims = window_counts(op.window, extents, op.kernel, op.round_up);
  dims.insert(dims.begin(), x[0]);
  dims.push_back(x.back());
  return dense_type(inputs[0]->encoding.element, Shape(std::move(dims)));
}

Tensor evaluate(const Pool& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  if (result.size() == 0) return result;
  if (result.element() == ElementType::kInt8) {
    pool<std::int8_t>(op, *inputs[0], result);
  } else if (result.element() == ElementType::kUint8) {
    pool<std::uint8_t>(op, *inputs[0], result);
  } else {
    pool<float>(op, *inputs[0], result);
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

namespace {

Pool max_pool_of(const MaxPoolIndex& op) {
  return {PoolKind::kMax, op.kernel, op.window, false, op.round_up};
}

}  // namespace

ValueType infer_types(const MaxPoolIndex& op, InputTypes inputs) {
  require_float(inputs, 0);
  return dense_type(ElementType::kInt64, infer_types(max_pool_of(op), inputs).shape);
}

Tensor evaluate(const MaxPoolIndex& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  if (result.size() == 0) return result;
  const Shape& shape = inputs[0]->shape();
  const auto extents = spatial_extents(shape);
  const auto counts = spatial_extents(result.shape());
  const auto channels = static_cast<std::size_t>(shape.back());
  const std::size_t positions = count_of(extents);
  const std::size_t outputs = count_of(counts);
  const auto x = inputs[0]->as<float>();
  std::vector<Tap> taps;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t n = i / channels / outputs;
    find_taps(op.window, {extents, op.kernel, counts}, i / channels % outputs, taps);
    const auto at = [&](const Tap& tap) {
      return x[(n * positions + tap.position) * channels + i % channels];
    };
    const Tap* best = nullptr;
    for (const Tap& tap : taps) {
      if (best == nullptr || at(tap) > at(*best)) best = &tap;
    }
    result.as<std::int64_t>()[i] = best == nullptr ? -1 : static_cast<Dim>(best->position);
  }
  return result;
}

std::string attributes(const MaxPoolIndex& op) { return attributes(max_pool_of(op)); }

}  // namespace halftone::ir
