// SPDX-License-Identifier: Apache-2.0
// Functions that are constant between thresholds, with the operators that every runtime has.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Adds nodes and constants that share a prefix.
class Nodes {
 public:
  Nodes(Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  ValueId add(const std::string& what, Operator op, std::vector<ValueId> inputs) {
    return graph_.add_node(name_ + "/" + what, std::move(op), std::move(inputs));
  }
  ValueId binary(const std::string& what, BinaryKind kind, ValueId a, ValueId b) {
    return add(what, Binary{kind, {}}, {a, b});
  }
  ValueId number(const std::string& what, float x) { return constant(what, {}, {&x, 1}); }
  ValueId numbers(const std::string& what, std::span<const float> numbers) {
    return constant(what, {static_cast<Dim>(numbers.size())}, numbers);
  }
  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }

 private:
  ValueId constant(const std::string& what, Shape shape, std::span<const float> numbers) {
    return graph_.add_constant(name_ + "/" + what, Tensor::from(std::move(shape), numbers));
  }

  Graph& graph_;
  std::string name_;
};

/// A function that is constant between thresholds.
struct StepFunction {
  std::vector<float> thresholds;
  std::vector<float> values;
};

/// Adds nodes that compute y = values[number of thresholds below x] for every element of x:
///
/// - values step q, evenly spaced, with thresholds midway: clamp(round(x / step)) step, or with
///   floor(x / step) + 1/2. Next to a threshold, within two units in the last place, x may take the
///   other value. NaN stays NaN;
/// - up to kMaxSummed others: values[0] + sum_i (x > thresholds[i]) d_i, with differences d_i whose
///   sums are the values. Exact. NaN takes values[0];
/// - more: a binary search; see add_step_function().
ValueId add_steps(Nodes& nodes, ValueId x, const StepFunction& function);

/// From here on the search is as fast in ONNX Runtime as the sum, which takes two comparisons and
/// sums for each value.
inline constexpr std::size_t kMaxSummed = 16;

/// The binary search of add_steps().
ValueId add_search(Nodes& nodes, ValueId x, const StepFunction& function);

}  // namespace halftone::ir
