// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/testing/operator_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"

namespace halftone::ir::test {
namespace {

struct Range {
  double low;
  double high;
  bool has_both_signs;
};

Range range_of(const CaseInput& input) {
  if (!input.is_float()) {
    const ElementType element = input.type.encoding.element;
    if (element == ElementType::kBool) return {0, 1.99, false};
    return {0, element == ElementType::kUint8 ? 40.0 : 20.0, element != ElementType::kUint8};
  }
  switch (input.domain) {
    case Domain::kAnywhere:
      return {0.1, 2.5, true};
    case Domain::kPositive:
      return {0.5, 2.5, false};
    case Domain::kSmall:
      return {0.1, 0.8, true};
    case Domain::kAboveOne:
      return {1.2, 3, false};
  }
  return {};
}

Tensor values_of(const CaseInput& input, std::size_t batch, Random& random) {
  const Shape shape = input.type.shape.with_batch(batch);
  const ElementType element = input.type.encoding.element;
  if (!input.values.empty()) return floats(shape, input.values).cast(element);
  const Range range = range_of(input);
  Tensor result = uniform_tensor(shape, random, range.low, range.high);
  if (range.has_both_signs) {
    for (float& x : result.as<float>()) x = random.uniform() < 0.5 ? -x : x;
  }
  if (element == ElementType::kFloat32) return result;
  for (float& x : result.as<float>()) x = std::trunc(x);
  return result.cast(element);
}

/// Whether an input is a constant of the graph.
bool is_constant(const OperatorCase& test, std::size_t i, const CaseOptions& options) {
  const CaseInput& input = test.inputs[i];
  if (!input.type.shape.is_static()) return false;
  if (!input.is_float()) return input_role(test.op, i) == InputRole::kIndices;
  return options.constants && i > 0;
}

/// The same tensor with absolute values, if it has signs.
Tensor magnitudes_of(const Tensor& tensor) {
  Tensor result = tensor.clone();
  if (tensor.element() != ElementType::kFloat32) return result;
  for (float& x : result.as<float>()) x = std::abs(x);
  return result;
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (const float y : numbers(tensor)) {
    if (std::isfinite(y)) largest = std::max(largest, static_cast<double>(std::abs(y)));
  }
  return largest;
}

}  // namespace

CaseInput numbers_input(Shape shape, Domain domain) {
  return {dense_type(ElementType::kFloat32, std::move(shape)), domain};
}

CaseInput integers_input(ElementType element, Shape shape, std::vector<float> values) {
  return {dense_type(element, std::move(shape)), Domain::kAnywhere, std::move(values)};
}

CaseInput absent_input() { return {.type = {}, .is_absent = true}; }

const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all;
    for (const auto& family :
         {layer_cases(), recurrent_cases(), elementwise_cases(), statistic_cases(), layout_cases(),
          indexing_cases(), resampling_cases(), integer_cases(), sequence_cases(), control_cases(),
          selection_cases()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return cases;
}

CaseGraph graph_of(const OperatorCase& test, const CaseOptions& options) {
  Random random(5);
  CaseGraph result;
  result.batch = options.batch;
  Graph& graph = result.graph;
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const CaseInput& input = test.inputs[i];
    if (input.is_absent) {
      ids.push_back(kAbsent);
      continue;
    }
    const std::string name = "x" + std::to_string(i);
    Tensor values = values_of(input, options.batch, random);
    if (is_constant(test, i, options)) {
      ids.push_back(graph.add_constant(name, std::move(values)));
      continue;
    }
    ids.push_back(graph.add_input(name, options.symbolic ? input.type : values.type()));
    result.inputs.push_back(std::move(values));
    if (input.is_float()) result.float_inputs.push_back(ids.back());
  }
  Operator op = options.symbolic ? test.op : with_batch(test.op, options.batch);
  const ValueId output = graph.add_node("node", std::move(op), std::move(ids));
  result.node = *graph.producer(output);
  graph.add_output(output);
  return result;
}

bool has_slopes(const CaseGraph& graph) {
  const Node& node = graph.graph.node(graph.node);
  const ValueType& type = graph.graph.value(node.output).type;
  if (!type.is_dense(ElementType::kFloat32) || graph.float_inputs.empty()) return false;
  return activation_encoding(node.op) == nullptr || std::holds_alternative<Recurrent>(node.op);
}

double terms_of(const Operator& op, const std::vector<const Tensor*>& inputs) {
  const auto size = [&](std::size_t i) { return static_cast<double>(inputs[i]->size()); };
  if (std::holds_alternative<Recurrent>(op)) {
    // Of all steps, one after the other.
    return size(1) * static_cast<double>(std::max(inputs[0]->shape()[0], inputs[0]->shape()[1]));
  }
  if (is_layer(op)) return size(1) / static_cast<double>(std::max<Dim>(inputs[1]->shape()[0], 1));
  if (std::holds_alternative<MatMul>(op)) {
    const Shape& a = inputs[0]->shape();
    return static_cast<double>(*std::ranges::max_element(a.dims()));
  }
  if (works_elementwise(op) || moves_elements(op)) return 0;
  return size(0);
}

float tolerance_of(const CaseGraph& graph) {
  const Node& node = graph.graph.node(graph.node);
  if (!graph.graph.value(node.output).type.is_dense(ElementType::kFloat32)) return 0;
  std::vector<Tensor> magnitudes;
  std::vector<const Tensor*> inputs(node.inputs.size(), nullptr);
  std::vector<const Tensor*> absolute(node.inputs.size(), nullptr);
  magnitudes.reserve(node.inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const Constant* constant = graph.graph.constant(node.inputs[i]);
    inputs[i] = constant != nullptr ? &std::get<Tensor>(*constant) : &graph.inputs[next++];
    magnitudes.push_back(magnitudes_of(*inputs[i]));
    absolute[i] = &magnitudes.back();
  }
  const Operator op = with_batch(node.op, graph.batch);
  const double largest = std::max(largest_magnitude(evaluate_operator(op, inputs)),
                                  largest_magnitude(evaluate_operator(op, absolute)));
  constexpr double kEpsilon = 0x1p-24;
  return static_cast<float>((terms_of(op, inputs) + 8) * kEpsilon * (1 + largest));
}

std::string describe(const OperatorCase& test) {
  std::string text = test.name + ": " + std::string(name_of(test.op));
  const std::string attributes = attributes_of(test.op);
  if (!attributes.empty()) text += " " + attributes;
  for (const CaseInput& input : test.inputs) {
    text += input.is_absent ? " -" : " " + input.type.to_string();
  }
  return text;
}

}  // namespace halftone::ir::test
