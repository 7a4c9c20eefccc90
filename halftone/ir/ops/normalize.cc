// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/normalize.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::ir {

ValueType infer_types(const Softmax& op, InputTypes inputs) {
  require_float(inputs, 0);
  require(op.axis < inputs[0]->shape.rank(),
          "axis " + std::to_string(op.axis) + " does not fit " + inputs[0]->shape.to_string());
  return *inputs[0];
}

Tensor evaluate(const Softmax& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const auto x = inputs[0]->as<float>();
  const auto y = result.as<float>();
  const auto extent = static_cast<std::size_t>(result.shape()[op.axis]);
  std::size_t inner = 1;
  for (std::size_t i = op.axis + 1; i < result.shape().rank(); ++i) {
    inner *= static_cast<std::size_t>(result.shape()[i]);
  }
  for (std::size_t line = 0; line < (extent == 0 ? 0 : y.size() / extent); ++line) {
    const std::size_t base = line / inner * extent * inner + line % inner;
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < extent; ++i) largest = std::max(largest, x[base + i * inner]);
    double sum = 0;
    for (std::size_t i = 0; i < extent; ++i) {
      sum += std::exp(static_cast<double>(op.beta * (x[base + i * inner] - largest)));
    }
    for (std::size_t i = 0; i < extent; ++i) {
      const double shifted = static_cast<double>(op.beta * (x[base + i * inner] - largest));
      y[base + i * inner] =
          static_cast<float>(op.log ? shifted - std::log(sum) : std::exp(shifted) / sum);
    }
  }
  return result;
}

std::string attributes(const Softmax& op) {
  return "axis=" + std::to_string(op.axis) +
         (op.beta == 1 ? "" : " beta=" + std::to_string(op.beta)) + (op.log ? " log" : "");
}

}  // namespace halftone::ir
