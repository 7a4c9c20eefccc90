// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/decode_codes.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/rounding_nodes.h"
#include "halftone/ir/verify.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::NodeId;
using ir::ValueId;

/// @throws Error kUnsupported naming every node that cannot be decoded
void check_decodable(const ir::Graph& graph) {
  std::string states;
  std::string factors;
  for (const NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (const auto* recurrent = std::get_if<ir::Recurrent>(&node.op)) {
      if (recurrent->state_encoding != nullptr) {
        states += (states.empty() ? "'" : ", '") + node.name + "'";
      }
    } else if (const auto* rounding = std::get_if<ir::FakeQuantize>(&node.op)) {
      if (!has_fake_quantize_nodes(*rounding)) {
        factors += (factors.empty() ? "'" : ", '") + node.name + "'";
      }
    }
  }
  std::string message;
  if (!states.empty()) {
    message =
        "recurrent layers whose states are in codes, which no standard operator rounds: " + states +
        "; keep their activations float (activation_bits = \"none\")";
  }
  if (!factors.empty()) {
    message += (message.empty() ? "" : "; ") +
               std::string("roundings whose scales share factors within a row: ") + factors;
  }
  if (!message.empty()) fail(ErrorKind::kUnsupported, "cannot be decoded: " + message);
}

/// The node with decoded weights and without an arithmetic for codes.
bool decode_inputs(ir::Graph& graph, NodeId id, std::map<ValueId, ValueId>& decoded) {
  const ir::Node node = graph.node(id);
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& input : inputs) {
    const ir::Constant* constant = graph.constant(input);
    if (constant == nullptr || !std::holds_alternative<ir::EncodedTensor>(*constant)) continue;
    const auto [found, is_new] = decoded.try_emplace(input);
    if (is_new) {
      found->second = graph.add_constant(graph.value(input).name, ir::to_float(*constant));
    }
    input = found->second;
  }
  ir::Operator op = node.op;
  ir::Arithmetic* arithmetic = ir::arithmetic(op);
  if (arithmetic != nullptr) *arithmetic = ir::Arithmetic::kAuto;
  if (inputs == node.inputs && op == node.op) return false;
  graph.replace_node(id, std::move(op), std::move(inputs));
  return true;
}

/// The codes of a layer's weights; null if they are dense, or the node is no layer.
const ir::EncodedTensor* weight_codes(const ir::Graph& graph, const ir::Node& node) {
  if (ir::traits_of(node.op).layer == ir::LayerKind::kNone) return nullptr;
  const ir::Constant* weights = graph.constant(node.inputs[ir::weights_input(node.op)]);
  return weights == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(weights);
}

/// Whether a value that a node computes with is in codes.
bool reads_codes(const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId input) {
    return input != ir::kAbsent && graph.constant(input) == nullptr &&
           !graph.value(input).type.encoding.is_dense();
  });
}

}  // namespace

bool decode_codes(ir::Graph& graph) {
  check_decodable(graph);
  bool changed = false;
  for (const NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    ValueId rounded = ir::kAbsent;
    if (const auto* encode = std::get_if<ir::Encode>(&node.op)) {
      rounded = add_encode(graph, node.name, *encode, node.inputs[0]);
    } else if (const auto* fake = std::get_if<ir::FakeQuantize>(&node.op)) {
      rounded = add_fake_quantize(graph, node.name, *fake, node.inputs[0]);
    }
    if (rounded != ir::kAbsent) {
      replace_value(graph, node.output, rounded);
      changed = true;
    }
  }
  graph.infer_all();
  std::map<ValueId, ValueId> decoded;
  for (const NodeId id : graph.topological_order()) {
    changed = decode_inputs(graph, id, decoded) || changed;
  }
  graph.remove_unused_nodes();
  ir::verify(graph);
  return changed;
}

void decode_bytes(ir::Graph& graph) {
  constexpr int kBits = 8;
  std::map<ValueId, ValueId> decoded;
  for (const NodeId id : graph.topological_order()) {
    const ir::EncodedTensor* weights = weight_codes(graph, graph.node(id));
    if (weights == nullptr || weights->encoding->bits != kBits) continue;
    if (reads_codes(graph, graph.node(id))) continue;
    decode_inputs(graph, id, decoded);
  }
  graph.infer_all();
  ir::verify(graph);
}

std::vector<std::string> layers_in_codes(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.topological_order()) {
    if (weight_codes(graph, graph.node(id)) != nullptr) names.push_back(graph.node(id).name);
  }
  return names;
}

}  // namespace halftone::passes
