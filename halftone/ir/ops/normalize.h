// SPDX-License-Identifier: Apache-2.0
// Operators that scale elements by a statistic of their neighbours.
#pragma once

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y_i = e^(beta (x_i - m)) / sum_j e^(beta (x_j - m)) along one axis, m the largest x_j; or its
/// logarithm.
struct Softmax {
  static constexpr std::string_view kName = "Softmax";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  float beta = 1;
  bool log = false;
  bool operator==(const Softmax&) const = default;
};

ValueType infer_types(const Softmax& op, InputTypes inputs);
Tensor evaluate(const Softmax& op, InputTensors inputs);
std::string attributes(const Softmax& op);

}  // namespace halftone::ir
