// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

/// The function that a reader applies to the outputs of a layer: scale[o] y[o] + shift[o].
struct OutputMap {
  std::vector<double> scale;
  std::vector<double> shift;
  ir::Activation activation;
  ir::ValueId constant = ir::kAbsent;

  [[nodiscard]] bool scales() const {
    return std::ranges::any_of(scale, [](double s) { return s != 1; });
  }
};

/// The constant as one value per output; empty if it does not have that form.
std::vector<double> per_output(const ir::Tensor& constant, std::size_t outputs) {
  const auto numbers = constant.as<float>();
  if (constant.size() == 1) return std::vector<double>(outputs, static_cast<double>(numbers[0]));
  const ir::Shape& shape = constant.shape();
  const bool along_outputs = constant.size() == outputs && shape.rank() != 0 &&
                             shape.back() == static_cast<ir::Dim>(outputs);
  return along_outputs ? std::vector<double>(numbers.begin(), numbers.end())
                       : std::vector<double>{};
}

std::optional<OutputMap> output_map(const ir::Graph& graph, const ir::Node& reader,
                                    ir::ValueId layer) {
  const auto* binary = std::get_if<ir::Binary>(&reader.op);
  if (binary == nullptr || graph.value(reader.output).type != graph.value(layer).type) return {};
  const bool layer_first = reader.inputs[0] == layer;
  OutputMap map;
  map.activation = binary->activation;
  map.constant = reader.inputs[layer_first ? 1 : 0];
  const ir::Tensor* constant = float_constant(graph, map.constant);
  if (constant == nullptr) return {};
  const ir::Dim extent = graph.value(layer).type.shape.back();
  const std::size_t outputs = ir::is_open(extent) ? 0 : static_cast<std::size_t>(extent);
  const std::vector<double> numbers = per_output(*constant, outputs);
  if (numbers.size() != outputs || outputs == 0) return {};
  map.scale.assign(outputs, 1);
  map.shift.assign(outputs, 0);
  if (binary->kind == ir::BinaryKind::kAdd) {
    map.shift = numbers;
  } else if (binary->kind == ir::BinaryKind::kSub && layer_first) {
    std::ranges::transform(numbers, map.shift.begin(), std::negate<>());
  } else if (binary->kind == ir::BinaryKind::kSub) {
    map.shift = numbers;
    map.scale.assign(outputs, -1);
  } else if (binary->kind == ir::BinaryKind::kMul) {
    map.scale = numbers;
  } else if (binary->kind == ir::BinaryKind::kDiv && layer_first) {
    std::ranges::transform(numbers, map.scale.begin(), [](double c) { return 1 / c; });
  } else {
    return {};
  }
  return map;
}

bool all_finite(const ir::Tensor& tensor) {
  return std::ranges::all_of(tensor.as<float>(), [](float x) { return std::isfinite(x); });
}

ir::Tensor scaled_weights(const ir::Tensor& weights, const OutputMap& map) {
  ir::Tensor result = weights.clone();
  const auto [rows, cols] = ir::matrix_extent(weights.shape());
  const auto numbers = result.as<float>();
  for (std::size_t i = 0; i < rows * cols; ++i) {
    numbers[i] = static_cast<float>(static_cast<double>(numbers[i]) * map.scale[i / cols]);
  }
  return result;
}

/// @param bias  null if the layer has none
ir::Tensor mapped_bias(const ir::Tensor* bias, const OutputMap& map) {
  ir::Tensor result(ir::ElementType::kFloat32, {static_cast<ir::Dim>(map.scale.size())});
  for (std::size_t o = 0; o < map.scale.size(); ++o) {
    const double old = bias != nullptr ? static_cast<double>(bias->as<float>()[o]) : 0;
    result.as<float>()[o] = static_cast<float>(map.scale[o] * old + map.shift[o]);
  }
  return result;
}

std::string bias_name(const ir::Graph& graph, const ir::Node& layer, ir::ValueId bias,
                      const OutputMap& map) {
  if (bias != ir::kAbsent) return replacement_name(graph, bias);
  if (!map.scales() && graph.num_uses(map.constant) == 1) return graph.value(map.constant).name;
  return layer.name + "/bias";
}

/// Fuses the only reader of a layer into it, if possible.
bool fuse_reader(ir::Graph& graph, ir::NodeId id) {
  const ir::Node layer = graph.node(id);
  const auto reader = only_reader(graph, layer.output);
  ir::Operator fused = layer.op;
  if (!ir::is_layer(fused) || !reader) return false;
  ir::Activation* activation = ir::fused_activation(fused);
  if (*activation != ir::Activation{}) return false;
  const auto map = output_map(graph, graph.node(*reader), layer.output);
  if (!map) return false;
  std::vector<ir::ValueId> inputs = layer.inputs;
  inputs.resize(3, ir::kAbsent);
  const ir::Tensor* bias = float_constant(graph, inputs[2]);
  if (inputs[2] != ir::kAbsent && bias == nullptr) return false;
  ir::Tensor new_bias = mapped_bias(bias, *map);
  if (!all_finite(new_bias)) return false;
  if (map->scales()) {
    const ir::Tensor* weights = float_constant(graph, inputs[1]);
    if (weights == nullptr || graph.num_uses(inputs[1]) != 1) return false;
    ir::Tensor new_weights = scaled_weights(*weights, *map);
    if (!all_finite(new_weights)) return false;
    inputs[1] = graph.add_constant(graph.value(inputs[1]).name, std::move(new_weights));
  }
  const bool shifts = std::ranges::any_of(map->shift, [](double t) { return t != 0; });
  if (bias != nullptr || shifts) {
    std::string name = bias_name(graph, layer, inputs[2], *map);
    inputs[2] = graph.add_constant(std::move(name), std::move(new_bias));
  } else {
    inputs.pop_back();
  }
  *activation = map->activation;
  graph.absorb(id, *reader, std::move(fused), std::move(inputs));
  return true;
}

constexpr auto kFloat = ir::ElementType::kFloat32;

/// The operator with an activation; none if it supports none or already has one.
std::optional<ir::Operator> with_activation(ir::Operator op, const ir::Activation& activation) {
  ir::Activation* fused = ir::fused_activation(op);
  if (fused == nullptr || *fused != ir::Activation{}) return std::nullopt;
  *fused = activation;
  return op;
}

}  // namespace

bool fuse_bias(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    while (graph.contains(id) && fuse_reader(graph, id)) changed = true;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

bool fuse_activation(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    if (!graph.contains(id)) continue;
    const ir::Node node = graph.node(id);
    const auto reader = only_reader(graph, node.output);
    const auto* unary = reader ? std::get_if<ir::Unary>(&graph.node(*reader).op) : nullptr;
    const bool fits = unary != nullptr && graph.value(node.output).type.is_dense(kFloat) &&
                      !ir::is_predicate(unary->activation.kind);
    if (!fits) continue;
    auto fused = with_activation(node.op, unary->activation);
    if (!fused) continue;
    graph.absorb(id, *reader, std::move(*fused), node.inputs);
    changed = true;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes
