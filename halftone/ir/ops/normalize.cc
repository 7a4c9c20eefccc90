// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/normalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halftone/base/elementary.h"
#include "halftone/ir/ops/integer.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

/// The index of the normalization group of each element, in order.
std::vector<std::size_t> groups_of(const Normalize& op, const Shape& x) {
  Shape kept = x;
  for (const std::size_t axis : op.axes) kept[axis] = 1;
  StridedWalk<1> walk(x, {broadcast_strides(kept, x)});
  std::vector<std::size_t> groups(x.element_count());
  for (std::size_t& group : groups) {
    group = walk.offset(0);
    walk.next();
  }
  return groups;
}

/// The mean of each group.
template <typename Term>
std::vector<double> means(std::span<const float> x, std::span<const std::size_t> groups,
                          Term&& term) {
  const std::size_t count = groups.empty() ? 0 : *std::ranges::max_element(groups) + 1;
  std::vector<double> sums(count, 0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[groups[i]] += term(i);
  const double per_group = static_cast<double>(x.size()) / static_cast<double>(count);
  for (double& sum : sums) sum /= per_group;
  return sums;
}

/// The elements of a tensor along an axis, line by line.
struct Lines {
  explicit Lines(const Shape& shape, std::size_t axis) : view(axis_view(shape, axis)) {}

  [[nodiscard]] std::size_t count() const { return view.extent == 0 ? 0 : view.outer * view.inner; }
  [[nodiscard]] std::size_t at(std::size_t line, std::size_t i) const {
    return (line / view.inner * view.extent + i) * view.inner + line % view.inner;
  }

  AxisView view;
};

void softmax(const Softmax& op, const Lines& lines, std::span<const float> x, std::span<float> y) {
  for (std::size_t line = 0; line < lines.count(); ++line) {
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < lines.view.extent; ++i) {
      largest = std::max(largest, x[lines.at(line, i)]);
    }
    double sum = 0;
    for (std::size_t i = 0; i < lines.view.extent; ++i) {
      sum += elementary::exp(static_cast<double>(op.beta * (x[lines.at(line, i)] - largest)));
    }
    for (std::size_t i = 0; i < lines.view.extent; ++i) {
      const auto shifted = static_cast<double>(op.beta * (x[lines.at(line, i)] - largest));
      y[lines.at(line, i)] = static_cast<float>(op.log ? shifted - elementary::log(sum)
                                                       : elementary::exp(shifted) / sum);
    }
  }
}

void softmax_of_codes(const Softmax& op, const Lines& lines, std::span<const std::int32_t> x,
                      std::span<float> y) {
  std::array<float, 256> powers{};  // indexed by the distance from the maximum
  for (std::size_t d = 0; d < powers.size(); ++d) {
    powers[d] = static_cast<float>(elementary::exp(-op.beta * static_cast<float>(d)));
  }
  for (std::size_t line = 0; line < lines.count(); ++line) {
    std::int32_t largest = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < lines.view.extent; ++i) {
      largest = std::max(largest, x[lines.at(line, i)]);
    }
    const auto power = [&](std::size_t i) {
      return powers[static_cast<std::size_t>(largest - x[lines.at(line, i)])];
    };
    float sum = 0;
    for (std::size_t i = 0; i < lines.view.extent; ++i) sum += power(i);
    const float factor = 1 / sum;
    for (std::size_t i = 0; i < lines.view.extent; ++i) y[lines.at(line, i)] = power(i) * factor;
  }
}

}  // namespace

ValueType infer_types(const Softmax& op, InputTypes inputs) {
  const bool codes = are_codes(*inputs[0]);
  if (!codes) require_float(inputs, 0);
  require(!codes || !op.log, "log: expected false for codes");
  require(op.axis < inputs[0]->shape.rank(),
          "axis " + std::to_string(op.axis) + " does not fit " + inputs[0]->shape.to_string());
  return dense_type(ElementType::kFloat32, inputs[0]->shape);
}

Tensor evaluate(const Softmax& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const Lines lines(result.shape(), op.axis);
  if (inputs[0]->element() == ElementType::kFloat32) {
    softmax(op, lines, inputs[0]->as<float>(), result.as<float>());
  } else {
    const Tensor codes = inputs[0]->cast(ElementType::kInt32);
    softmax_of_codes(op, lines, codes.as<std::int32_t>(), result.as<float>());
  }
  return result;
}

ValueType infer_types(const Normalize& op, InputTypes inputs) {
  require_float(inputs, 0);
  require_axes(inputs[0]->shape, op.axes);
  return *inputs[0];
}

ValueType infer_types(const LocalNormalize& op, InputTypes inputs) {
  require_float(inputs, 0);
  require_axis(inputs[0]->shape, op.axis);
  return *inputs[0];
}

Tensor evaluate(const Normalize& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const auto x = inputs[0]->as<float>();
  const auto y = result.as<float>();
  const std::vector<std::size_t> groups = groups_of(op, result.shape());
  std::vector<double> centres(x.size(), 0);
  if (op.subtract_mean) {
    centres = means(x, groups, [&](std::size_t i) { return static_cast<double>(x[i]); });
  }
  const auto centred = [&](std::size_t i) {
    return static_cast<double>(x[i]) - centres[groups[i]];
  };
  const std::vector<double> variances =
      means(x, groups, [&](std::size_t i) { return centred(i) * centred(i); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double deviation = std::sqrt(variances[groups[i]] + static_cast<double>(op.epsilon));
    y[i] = static_cast<float>(centred(i) / deviation);
  }
  return result;
}

Tensor evaluate(const LocalNormalize& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const auto x = inputs[0]->as<float>();
  const auto y = result.as<float>();
  const auto [outer, extent, inner] = axis_view(result.shape(), op.axis);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t at = i / inner % extent;
    const std::size_t first = at - std::min(op.before, at);
    const std::size_t last = at + std::min(op.after, extent - 1 - at);
    double sum = 0;
    for (std::size_t j = first; j <= last; ++j) {
      const auto other = static_cast<double>(x[i - at * inner + j * inner]);
      sum += other * other;
    }
    const double base = static_cast<double>(op.bias) + static_cast<double>(op.alpha) * sum;
    y[i] = static_cast<float>(static_cast<double>(x[i]) /
                              elementary::pow(base, static_cast<double>(op.beta)));
  }
  return result;
}

std::string attributes(const Normalize& op) {
  return "axes=" + joined(op.axes) + " epsilon=" + std::to_string(op.epsilon) +
         (op.subtract_mean ? "" : " around zero");
}

std::string attributes(const LocalNormalize& op) {
  return "axis=" + std::to_string(op.axis) + " before=" + std::to_string(op.before) +
         " after=" + std::to_string(op.after) + " alpha=" + std::to_string(op.alpha) +
         " beta=" + std::to_string(op.beta) + " bias=" + std::to_string(op.bias);
}

std::string attributes(const Softmax& op) {
  return "axis=" + std::to_string(op.axis) +
         (op.beta == 1 ? "" : " beta=" + std::to_string(op.beta)) + (op.log ? " log" : "");
}

}  // namespace halftone::ir
