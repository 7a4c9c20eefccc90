// SPDX-License-Identifier: Apache-2.0
// Operators that scale elements by a statistic of their neighbours.
#pragma once

#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y_i = e^(beta (x_i - m)) / sum_j e^(beta (x_j - m)) along one axis, where m is the largest x_j,
/// or the logarithm of that. x is float32, or 8-bit codes whose scale is part of beta. For codes
/// there is no logarithm, and y_i = e_i (1 / sum_j e_j) in float32, summed in the order of j, with
/// e_i from a table of 256 entries (Source: TensorFlow Lite,
/// kernels/internal/optimized/optimized_ops.h, Softmax of int8).
struct Softmax {
  static constexpr std::string_view kName = "Softmax";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  float beta = 1;
  bool log = false;
  bool operator==(const Softmax&) const = default;
};

/// y = (x - mean) / sqrt(variance + epsilon), with mean and variance over some axes, in ascending
/// order and without the batch. Without subtract_mean, y = x / sqrt(mean of x^2 + epsilon). Layer,
/// instance, group and RMS normalization are this followed by a scale and a bias.
struct Normalize {
  static constexpr std::string_view kName = "Normalize";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::vector<std::size_t> axes;
  float epsilon = 1e-5F;
  bool subtract_mean = true;
  bool operator==(const Normalize&) const = default;
};

/// y_i = x_i / (bias + alpha sum_j x_j^2)^beta along an axis, with j from i - before to i + after,
/// clipped to the axis.
struct LocalNormalize {
  static constexpr std::string_view kName = "LocalNormalize";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  std::size_t before = 0;
  std::size_t after = 0;
  float alpha = 1;
  float beta = 0.5F;
  float bias = 1;
  bool operator==(const LocalNormalize&) const = default;
};

ValueType infer_types(const Softmax& op, InputTypes inputs);
ValueType infer_types(const Normalize& op, InputTypes inputs);
ValueType infer_types(const LocalNormalize& op, InputTypes inputs);
Tensor evaluate(const Softmax& op, InputTensors inputs);
Tensor evaluate(const Normalize& op, InputTensors inputs);
Tensor evaluate(const LocalNormalize& op, InputTensors inputs);
std::string attributes(const Softmax& op);
std::string attributes(const Normalize& op);
std::string attributes(const LocalNormalize& op);

}  // namespace halftone::ir
