// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/insert_codes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/verify.h"
#include "halftone/passes/code_plan.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::AffineParameters;
using ir::NodeId;
using ir::ValueId;

/// Scale and zero point of a range, which is widened to hold zero.
AffineParameters parameters_of(const numerics::ValueRange& range, ir::ElementType element) {
  const ir::CodeRange codes = ir::code_range(element);
  const double low = std::min(0.0, double{range.low});
  const double high = std::max(0.0, double{range.high});
  auto scale = static_cast<float>((high - low) / (codes.high - codes.low));
  if (!(scale >= std::numeric_limits<float>::min())) scale = 1;
  const double zero = std::nearbyint(codes.low - low / double{scale});
  const double bounded = std::clamp<double>(zero, codes.low, codes.high);
  return {{scale}, {static_cast<std::int32_t>(bounded)}, 0};
}

/// Replaces float32 by codes, node by node in the order of execution.
class Rewriter {
 public:
  Rewriter(ir::Graph& graph, const std::map<ValueId, numerics::ValueRange>& ranges,
           const WantsCodes& wanted, const CodeForm& form)
      : graph_(graph), plan_(graph, wanted), form_(form) {
    for (const auto& [value, range] : ranges) {
      parameters_.emplace(value, parameters_of(range, form.element));
    }
  }

  void run() {
    const std::vector<NodeId> order = graph_.topological_order();
    for (const NodeId id : order) find_parameters(id);
    const std::vector<ValueId> inputs(graph_.inputs().begin(), graph_.inputs().end());
    for (const ValueId input : inputs) {
      if (plan_.has_codes(input)) add_codes(input);
    }
    for (const NodeId id : order) {
      if (plan_.computes(id)) {
        use_codes(id);
      } else if (ir::moves_elements(graph_.node(id).op) && read_codes_later(graph_, id)) {
        continue;
      }
      const ValueId output = graph_.node(id).output;
      if (plan_.has_codes(output)) add_codes(output);
    }
  }

 private:
  void find_parameters(NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (!plan_.has_codes(node.output)) return;
    if (plan_.keeps(node.output)) {
      parameters_[node.output] = parameters_.at(node.inputs[0]);
    } else if (const auto range = prescribed_range(node.op)) {
      parameters_[node.output] = parameters_of(*range, form_.element);
    }
  }

  /// Makes the readers of a value read what its codes represent; of one that is joined in
  /// float32, those that compute with codes.
  void add_codes(ValueId value) {
    const AffineParameters& own = parameters_.at(value);
    const std::string name = graph_.value(value).name;
    const bool stays = plan_.is_joined_in_float(value);
    // An input that is an output keeps its name, and remains what it is as an output.
    const bool is_output =
        !stays && graph_.producer(value) && std::ranges::count(graph_.outputs(), value) > 0;
    std::vector<NodeId> readers = graph_.consumers(value);
    if (stays) std::erase_if(readers, [this](NodeId id) { return !plan_.computes(id); });
    const ValueId codes = graph_.add_node(name + "/quantize", quantize(own), {value});
    const std::string end = is_output ? name : name + "/dequantize";
    if (is_output) graph_.rename(value, name + "/float");
    const ValueId back =
        graph_.add_node(name + "/dequantize", ir::DequantizeLinear{own}, {codes}, end);
    for (const NodeId reader : readers) replace_input(reader, value, back);
    if (!is_output) return;
    std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    std::ranges::replace(outputs, value, back);
    graph_.replace_outputs(std::move(outputs));
  }

  [[nodiscard]] ir::QuantizeLinear quantize(AffineParameters parameters) const {
    return {std::move(parameters), form_.element, form_.rounding};
  }

  void replace_input(NodeId reader, ValueId from, ValueId to) {
    std::vector<ValueId> inputs = graph_.node(reader).inputs;
    std::ranges::replace(inputs, from, to);
    graph_.replace_node(reader, ir::Operator(graph_.node(reader).op), std::move(inputs));
  }

  void use_codes(NodeId id) {
    const ir::Node node = graph_.node(id);
    if (ir::is_layer(node.op)) return use_code_weights(id);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (float_constant(graph_, input) != nullptr) input = code_constant(input);
    }
    if (std::holds_alternative<ir::Concat>(node.op)) equalize(inputs, parameters_.at(node.output));
    graph_.replace_node(id, ir::Operator(node.op), std::move(inputs));
  }

  /// A constant operand in codes of its own range.
  ValueId code_constant(ValueId id) {
    numerics::ValueRange range;
    const ir::Tensor& numbers = *float_constant(graph_, id);
    range.add(numbers.as<float>());
    const ir::QuantizeLinear op = quantize(parameters_of(range, form_.element));
    const std::string name = graph_.value(id).name;
    const ValueId codes =
        graph_.add_constant(name + "/codes", ir::evaluate(op, std::vector{&numbers}));
    return graph_.add_node(name + "/dequantize", ir::DequantizeLinear{op.parameters}, {codes});
  }

  /// Converts the operands of a Concat to the codes of its result.
  void equalize(std::vector<ValueId>& inputs, const AffineParameters& wanted) {
    for (ValueId& input : inputs) {
      const auto codes = codes_of(graph_, input);
      if (codes && codes->parameters == wanted) continue;
      const std::string name = graph_.value(input).name + "/joined";
      const ValueId other = graph_.add_node(name + "/quantize", quantize(wanted), {input});
      input = graph_.add_node(name + "/dequantize", ir::DequantizeLinear{wanted}, {other});
    }
  }

  void use_code_weights(NodeId id);

  ir::Graph& graph_;
  CodePlan plan_;
  CodeForm form_;
  std::map<ValueId, AffineParameters> parameters_;
};

/// Weights of a layer as int8, and its bias as int32.
struct CodeWeights {
  ir::Tensor weights;
  AffineParameters scales;
  ir::Tensor bias;
};

/// int8 weights with a scale for each output.
/// @param values  [outputs, n]
/// @param scales  [outputs]
CodeWeights round_weights(MatrixView<const float> values, const ir::Shape& shape,
                          std::vector<float> scales) {
  CodeWeights result;
  result.weights = ir::Tensor(ir::ElementType::kInt8, shape);
  const auto codes = result.weights.as<std::int8_t>();
  for (std::size_t o = 0; o < values.rows(); ++o) {
    for (std::size_t k = 0; k < values.cols(); ++k) {
      const float q = std::nearbyint(values(o, k) / scales[o]);
      codes[o * values.cols() + k] = static_cast<std::int8_t>(std::clamp(q, -127.0F, 127.0F));
    }
  }
  result.scales = {std::move(scales), std::vector<std::int32_t>(values.rows()), 0};
  return result;
}

/// The scale of a row: that of its encoding, whose sign moves to the codes, or max|w| / 127; larger
/// if the bias would be beyond half of int32 in units of the products.
float scale_of_row(std::span<const float> row, const numerics::MatrixEncoding* encoding,
                   std::size_t index, double least) {
  double scale = 0;
  if (encoding != nullptr) {
    scale = std::abs(double{encoding->levels(index, 0, row.size()).scale()});
  } else {
    for (const float w : row) scale = std::max(scale, double{std::abs(w)} / 127);
  }
  scale = std::max({scale, least, double{std::numeric_limits<float>::min()}});
  return static_cast<float>(scale);
}

CodeWeights code_weights(const ir::Constant& constant, std::span<const float> bias, float x_scale) {
  const ir::Tensor numbers = to_float(constant);
  const auto rows = static_cast<std::size_t>(numbers.shape()[0]);
  const std::size_t cols = rows == 0 ? 0 : numbers.size() / rows;
  const MatrixView<const float> values(numbers.as<float>(), rows, cols);
  const auto* encoded = std::get_if<ir::EncodedTensor>(&constant);
  const numerics::MatrixEncoding* encoding = encoded == nullptr ? nullptr : encoded->encoding.get();
  std::vector<float> scales;
  for (std::size_t o = 0; o < rows; ++o) {
    const double size = bias.empty() ? 0 : std::abs(double{bias[o]});
    scales.push_back(scale_of_row(values.row(o), encoding, o, size / double{x_scale} / (1 << 30)));
  }
  CodeWeights result = round_weights(values, numbers.shape(), std::move(scales));
  result.bias = ir::Tensor(ir::ElementType::kInt32, ir::Shape{static_cast<ir::Dim>(rows)});
  for (std::size_t o = 0; o < bias.size(); ++o) {
    const double unit = double{x_scale} * double{result.scales.scales[o]};
    result.bias.as<std::int32_t>()[o] =
        static_cast<std::int32_t>(std::nearbyint(double{bias[o]} / unit));
  }
  return result;
}

void Rewriter::use_code_weights(NodeId id) {
  const ir::Node node = graph_.node(id);
  const auto x = codes_of(graph_, node.inputs[0]);
  HALFTONE_ASSERT(x.has_value());
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent;
  std::span<const float> bias;
  if (has_bias) bias = float_constant(graph_, node.inputs[2])->as<float>();
  CodeWeights codes = code_weights(*graph_.constant(node.inputs[1]), bias, x->scale());
  const std::string weights = graph_.value(node.inputs[1]).name;
  std::vector<ValueId> inputs = node.inputs;
  AffineParameters sums = codes.scales;
  for (float& scale : sums.scales) scale *= x->scale();
  inputs[1] =
      graph_.add_node(weights + "/dequantize", ir::DequantizeLinear{std::move(codes.scales)},
                      {graph_.add_constant(weights, std::move(codes.weights))});
  if (has_bias) {
    const std::string name = graph_.value(node.inputs[2]).name;
    inputs[2] = graph_.add_node(name + "/dequantize", ir::DequantizeLinear{std::move(sums)},
                                {graph_.add_constant(name, std::move(codes.bias))});
  }
  ir::Operator op = node.op;
  *ir::arithmetic(op) = ir::Arithmetic::kAuto;
  graph_.replace_node(id, std::move(op), std::move(inputs));
}

}  // namespace

bool split_activations(ir::Graph& graph, const WantsCodes& wanted) {
  bool changed = false;
  for (const NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    ir::Operator op = node.op;
    ir::Activation* activation = ir::fused_activation(op);
    if (activation == nullptr || ir::limits_of(*activation) || !has_code_form(graph, node) ||
        !wanted(node)) {
      continue;
    }
    const ir::Unary function{std::exchange(*activation, {})};
    const std::string name = graph.value(node.output).name + "/before_function";
    const ValueId own = graph.add_node(node.name, std::move(op), node.inputs, name);
    graph.replace_node(id, function, {own});
    changed = true;
  }
  return changed;
}

std::vector<ValueId> values_for_codes(const ir::Graph& graph, const WantsCodes& wanted) {
  return CodePlan(graph, wanted).ranged();
}

void insert_codes(ir::Graph& graph, const std::map<ValueId, numerics::ValueRange>& ranges,
                  const WantsCodes& wanted, const CodeForm& form) {
  Rewriter(graph, ranges, wanted, form).run();
  graph.remove_unused_nodes();
  ir::verify(graph);
}

}  // namespace halftone::passes
