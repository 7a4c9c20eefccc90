// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/graft.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

std::vector<NodeId> layers_with_weights(const ir::Graph& graph) {
  std::vector<NodeId> layers;
  for (const NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::traits_of(node.op).layer == ir::LayerKind::kNone) continue;
    if (graph.constant(node.inputs[weights_input(node.op)]) != nullptr) layers.push_back(id);
  }
  return layers;
}

const ir::Shape& shape_of_weights(const ir::Graph& graph, const ir::Node& node) {
  return graph.value(node.inputs[weights_input(node.op)]).type.shape;
}

void check_pair(const ir::Graph& reference, const ir::Graph& quantized, LayerPair pair) {
  const ir::Node& original = reference.node(pair.original);
  const ir::Node& counterpart = quantized.node(pair.quantized);
  const ir::Shape& expected = shape_of_weights(reference, original);
  const ir::Shape& found = shape_of_weights(quantized, counterpart);
  if (original.op.index() == counterpart.op.index() && expected == found) return;
  fail(ErrorKind::kShape, "layers do not match: expected " + describe(original) + " with weights " +
                              expected.to_string() + " as in the reference, found " +
                              describe(counterpart) + " with " + found.to_string());
}

/// The original's operator with what its counterpart has been given: encoded states, an arithmetic.
ir::Operator op_of(const ir::Operator& original, ir::Operator counterpart) {
  ir::Operator op = original;
  if (auto* states = ir::activation_encoding(op)) *states = *ir::activation_encoding(counterpart);
  if (ir::Arithmetic* arithmetic = ir::arithmetic(op)) *arithmetic = *ir::arithmetic(counterpart);
  return op;
}

/// The operators that round the input of a layer; empty if nothing does. 8-bit integers may have
/// been moved or pooled since they were rounded, so their own step rounds.
std::vector<ir::Operator> rounding(const ir::Graph& graph, ValueId input) {
  const auto producer = graph.producer(input);
  if (!producer) return {};
  const ir::Node& node = graph.node(*producer);
  ir::Operator op = node.op;
  if (auto* encode = std::get_if<ir::Encode>(&op)) {
    encode->activation = {};  // the original's input has it
    return {op};
  }
  if (const auto* floats = std::get_if<ir::DequantizeLinear>(&op)) {
    const ir::ElementType element = graph.value(node.inputs[0]).type.encoding.element;
    return {ir::QuantizeLinear{floats->parameters, element}, op};
  }
  return std::holds_alternative<ir::FakeQuantize>(op) ? std::vector{op}
                                                      : std::vector<ir::Operator>();
}

/// Adds the rounding of a counterpart's input to a value, unless it has just been rounded so.
ValueId add_rounding(ir::Graph& graph, ValueId value, const std::vector<ir::Operator>& rounding,
                     const std::string& layer) {
  const auto producer = graph.producer(value);
  if (rounding.empty() || (producer && graph.node(*producer).op == rounding.back())) return value;
  for (const ir::Operator& op : rounding) value = graph.add_node(layer + "/encode", op, {value});
  return value;
}

/// @param inputs  of the original, or of its counterpart
ValueId add_layer(ir::Graph& graph, const ir::Graph& quantized, LayerPair pair,
                  std::vector<ValueId> inputs) {
  const ir::Node original = graph.node(pair.original);
  const ir::Node& counterpart = quantized.node(pair.quantized);
  inputs.resize(std::max(inputs.size(), counterpart.inputs.size()), ir::kAbsent);
  for (std::size_t i = 0; i < counterpart.inputs.size(); ++i) {
    if (counterpart.inputs[i] == ir::kAbsent) continue;
    const ir::Value& value = quantized.value(counterpart.inputs[i]);
    if (value.constant != nullptr) inputs[i] = graph.add_constant(value.name, value.constant);
  }
  if (!ir::is_table(counterpart.op)) {
    inputs[0] =
        add_rounding(graph, inputs[0], rounding(quantized, counterpart.inputs[0]), original.name);
  }
  return graph.add_node(original.name, op_of(original.op, counterpart.op), std::move(inputs),
                        graph.value(original.output).name);
}

std::vector<NodeId> loops_of(const ir::Graph& graph) {
  std::vector<NodeId> loops = graph.topological_order();
  std::erase_if(loops,
                [&](NodeId id) { return !std::holds_alternative<ir::Loop>(graph.node(id).op); });
  return loops;
}

}  // namespace

std::vector<LayerPair> paired_layers(const ir::Graph& reference, const ir::Graph& quantized) {
  const std::vector<NodeId> originals = layers_with_weights(reference);
  const std::vector<NodeId> counterparts = layers_with_weights(quantized);
  if (originals.size() != counterparts.size()) {
    fail(ErrorKind::kShape, "layers do not match: expected " + std::to_string(originals.size()) +
                                " as in the reference, found " +
                                std::to_string(counterparts.size()));
  }
  std::vector<LayerPair> pairs;
  for (std::size_t i = 0; i < originals.size(); ++i) {
    pairs.push_back({originals[i], counterparts[i]});
    check_pair(reference, quantized, pairs.back());
  }
  return pairs;
}

ValueId add_beside(ir::Graph& graph, const ir::Graph& quantized, LayerPair pair) {
  return add_layer(graph, quantized, pair, graph.node(pair.original).inputs);
}

TwoNetworks beside(const ir::Graph& reference, const ir::Graph& quantized,
                   std::span<const LayerPair> pairs) {
  TwoNetworks both{reference, {}};
  for (const NodeId id : reference.topological_order()) {
    const ir::Node& node = reference.node(id);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) input = both.counterpart(input);
    const auto pair = std::ranges::find(pairs, id, &LayerPair::original);
    if (pair != pairs.end()) {
      both.counterparts[node.output] = add_layer(both.graph, quantized, *pair, std::move(inputs));
    } else if (inputs != node.inputs) {
      both.counterparts[node.output] = both.graph.add_node(node.name, node.op, std::move(inputs),
                                                           reference.value(node.output).name);
    }
  }
  for (const ValueId output : reference.outputs()) both.graph.add_output(both.counterpart(output));
  return both;
}

ir::Graph graft(const ir::Graph& reference, const ir::Graph& quantized,
                std::span<const LayerPair> pairs) {
  TwoNetworks both = beside(reference, quantized, pairs);
  std::vector<ValueId> outputs;
  for (const ValueId output : reference.outputs()) outputs.push_back(both.counterpart(output));
  both.graph.set_outputs(std::move(outputs));
  both.graph.remove_unused_nodes();
  return std::move(both.graph);
}

void graft_bodies(ir::Graph& graph, const ir::Graph& quantized) {
  const std::vector<NodeId> originals = loops_of(graph);
  const std::vector<NodeId> counterparts = loops_of(quantized);
  for (std::size_t i = 0; i < std::min(originals.size(), counterparts.size()); ++i) {
    const ir::Node& node = graph.node(originals[i]);
    const ir::Graph& body = *std::get<ir::Loop>(quantized.node(counterparts[i]).op).body;
    auto loop = std::get<ir::Loop>(node.op);
    auto grafted =
        std::make_shared<ir::Graph>(graft(*loop.body, body, paired_layers(*loop.body, body)));
    graft_bodies(*grafted, body);
    loop.body = std::move(grafted);
    graph.replace_node(originals[i], std::move(loop), node.inputs);
  }
}

ir::Graph graft_all(const ir::Graph& reference, const ir::Graph& quantized) {
  ir::Graph result = graft(reference, quantized, paired_layers(reference, quantized));
  graft_bodies(result, quantized);
  return result;
}

}  // namespace halftone::compress
