// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/ir/symbolic_batch.h"
#include "halftone/ir/verify.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone::runtime {
namespace {

void merge_equal_encodings(ir::Graph& graph) {
  std::vector<ir::NodeId> kept;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::Encode>(node.op)) continue;
    const auto equal = std::find_if(kept.begin(), kept.end(), [&](ir::NodeId other) {
      return graph.node(other).inputs == node.inputs && graph.node(other).op == node.op;
    });
    if (equal == kept.end()) {
      kept.push_back(id);
    } else {
      graph.replace_uses(node.output, graph.node(*equal).output);
      graph.remove_node(id);  // as a reader it would keep a layer from encoding its output itself
    }
  }
}

/// Moves the activation of a layer whose output is only encoded into its Encodes: they adjust their
/// thresholds, so that no step computes the activation.
void move_activations_into_encodings(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const auto* layer = std::get_if<ir::FullyConnected>(&node.op);
    if (layer == nullptr || layer->activation.kind == ir::ActivationKind::kIdentity) continue;
    ir::FullyConnected linear = *layer;
    const ir::Activation activation = std::exchange(linear.activation, {});
    const std::vector<ir::NodeId> readers = graph.consumers(node.output);
    const bool only_encoded =
        readers.size() == graph.num_uses(node.output) &&
        std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
          const auto* encode = std::get_if<ir::Encode>(&graph.node(reader).op);
          return encode != nullptr && encode->activation == ir::Activation{} &&
                 can_encode_argument(activation, encode->encoding->levels(0));
        });
    if (!only_encoded || readers.empty()) continue;
    for (const ir::NodeId reader : readers) {
      ir::Encode encode = std::get<ir::Encode>(graph.node(reader).op);
      encode.activation = activation;
      graph.replace_node(reader, std::move(encode), graph.node(reader).inputs);
    }
    graph.replace_node(id, std::move(linear), graph.node(id).inputs);
  }
}

/// The node that reads a value, if it is the only reader and the value is not a graph output.
std::optional<ir::NodeId> only_reader(const ir::Graph& graph, ir::ValueId id) {
  const std::vector<ir::NodeId> readers = graph.consumers(id);
  if (readers.size() != 1 || graph.num_uses(id) != 1) return std::nullopt;
  return readers.front();
}

bool is_output(const ir::Graph& graph, ir::ValueId id) {
  return std::ranges::find(graph.outputs(), id) != graph.outputs().end();
}

/// The other operand of an Add of two values of equal shape; nothing for any other node.
std::optional<ir::ValueId> added_to(const ir::Graph& graph, const ir::Node& node,
                                    ir::ValueId value) {
  const auto* add = std::get_if<ir::Binary>(&node.op);
  if (add == nullptr || add->kind != ir::BinaryKind::kAdd) return std::nullopt;
  const ir::ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
  if (graph.value(other).type != graph.value(value).type) return std::nullopt;
  return other;
}

/// Fuses the operators after a convolution into it while the outputs are in a near cache: adds a
/// residual, and encodes an output that is only read encoded.
class ConvFuser {
 public:
  /// @param layouts  of codes, by value; the fused outputs are added
  ConvFuser(ir::Graph& graph, const PlanSettings& options, std::vector<CodeLayout>& layouts)
      : graph_(graph), options_(options), layouts_(layouts) {}

  void fuse() {
    for (const ir::NodeId id : graph_.topological_order()) {
      if (!graph_.contains(id)) continue;
      const ir::Node& node = graph_.node(id);
      if (!std::holds_alternative<ir::Conv>(node.op)) continue;
      const Choice choice = choose(context_of(graph_, node, options_, layouts_));
      if (choice.implementation == nullptr || !choice.implementation->finishes_output) continue;
      fuse_residual(id);
      fuse_encoding(id);
    }
  }

 private:
  /// The only reader of a node's output, if that reader can be absorbed.
  [[nodiscard]] std::optional<ir::NodeId> follower(ir::NodeId id) const {
    const auto reader = only_reader(graph_, graph_.node(id).output);
    if (!reader || is_output(graph_, graph_.node(*reader).output)) return std::nullopt;
    return reader;
  }

  void fuse_residual(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    auto conv = std::get<ir::Conv>(node.op);
    if (conv.activation != ir::Activation{} || node.inputs.size() > 3) return;
    const auto add = follower(id);
    if (!add) return;
    const auto residual = added_to(graph_, graph_.node(*add), node.output);
    if (!residual) return;
    std::vector<ir::ValueId> inputs = node.inputs;
    inputs.resize(3, ir::kAbsent);
    inputs.push_back(*residual);
    conv.activation = std::get<ir::Binary>(graph_.node(*add).op).activation;
    graph_.absorb(id, *add, std::move(conv), std::move(inputs));
  }

  void fuse_encoding(ir::NodeId id) {
    const auto reader = follower(id);
    const auto* encode = reader ? std::get_if<ir::Encode>(&graph_.node(*reader).op) : nullptr;
    if (encode == nullptr || encode->activation != ir::Activation{}) return;
    auto conv = std::get<ir::Conv>(graph_.node(id).op);
    conv.codes = encode->encoding;
    const auto index = [&](ir::NodeId n) {
      return static_cast<std::size_t>(graph_.node(n).output);
    };
    layouts_[index(id)] = layouts_[index(*reader)];
    graph_.absorb(id, *reader, std::move(conv), graph_.node(id).inputs);
  }

  ir::Graph& graph_;
  const PlanSettings& options_;
  std::vector<CodeLayout>& layouts_;
};

}  // namespace

Prepared prepare(ir::Graph graph, const PlanSettings& options) {
  ir::verify(graph);
  ir::fill_in_batch(graph, options.batch);
  merge_equal_encodings(graph);
  move_activations_into_encodings(graph);
  std::vector<CodeLayout> layouts = choose_code_layouts(graph, options);
  ConvFuser(graph, options, layouts).fuse();
  graph.remove_unused_nodes();
  return {std::move(graph), std::move(layouts)};
}

}  // namespace halftone::runtime
