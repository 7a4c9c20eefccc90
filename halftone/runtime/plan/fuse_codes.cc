// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone::runtime {
namespace {

using ir::NodeId;
using ir::ValueId;

/// Below, a table of all pairs of codes is not worth its memory.
constexpr std::size_t kLeastPairsForTable = 2048;

class Finder {
 public:
  Finder(const ir::Graph& graph, const PlanSettings& options, std::span<const CodeLayout> layouts)
      : graph_(graph), options_(options), layouts_(layouts) {}

  CodeFusions find() {
    for (const NodeId id : graph_.topological_order()) {
      const ir::Node& node = graph_.node(id);
      if (std::holds_alternative<ir::Binary>(node.op)) {
        fuse_binary(id, node);
        fuse_integers(id, node);
      } else if (std::holds_alternative<ir::Conv>(node.op) ||
                 std::holds_alternative<ir::FullyConnected>(node.op)) {
        fuse_layer(id, node);
      }
    }
    return std::move(found_);
  }

 private:
  /// The node that alone reads a value which the caller does not see, if it is an Op.
  template <typename Op>
  std::optional<NodeId> only_reader(ValueId value) const {
    const std::vector<NodeId> readers = graph_.consumers(value);
    if (readers.size() != 1 || graph_.num_uses(value) != 1) return std::nullopt;
    const bool fits = std::holds_alternative<Op>(graph_.node(readers[0]).op);
    return fits ? std::optional(readers[0]) : std::nullopt;
  }

  [[nodiscard]] bool chooses(const ir::Node& node, const Implementation& wanted) const {
    return choose(context_of(graph_, node, options_, layouts_)).implementation == &wanted;
  }

  void fuse_layer(NodeId id, const ir::Node& layer) {
    const auto reader = only_reader<ir::Requantize>(layer.output);
    if (!reader || !chooses(layer, kIntegerLayer)) return;
    const ir::Node& conversion = graph_.node(*reader);
    const FusedCodes codes{.requantize = &std::get<ir::Requantize>(conversion.op)};
    found_.fusions.push_back({id, codes, layer.inputs, conversion.output});
    found_.absorbed.insert(*reader);
  }

  /// The conversion that gives a value from codes of one scale and type.
  std::optional<NodeId> dequantize_of(ValueId value, ir::ElementType element) const {
    const auto producer = graph_.producer(value);
    if (!producer) return std::nullopt;
    const ir::Node& node = graph_.node(*producer);
    const auto* op = std::get_if<ir::DequantizeLinear>(&node.op);
    const bool fits = op != nullptr && op->parameters.scales.size() == 1 &&
                      graph_.value(node.inputs[0]).type.is_dense(element);
    return fits ? producer : std::nullopt;
  }

  void fuse_binary(NodeId id, const ir::Node& binary) {
    if (!takes_pairs(std::get<ir::Binary>(binary.op))) return;
    const auto reader = only_reader<ir::QuantizeLinear>(binary.output);
    if (!reader) return;
    const ir::Node& conversion = graph_.node(*reader);
    const auto& quantize = std::get<ir::QuantizeLinear>(conversion.op);
    const bool gives_codes = ir::are_codes(graph_.value(conversion.output).type);
    if (quantize.parameters.scales.size() != 1 || !gives_codes) return;
    if (graph_.value(binary.output).type.shape.element_count() == 0) return;
    const auto a = dequantize_of(binary.inputs[0], quantize.element);
    const auto b = dequantize_of(binary.inputs[1], quantize.element);
    if (!a || !b) return;
    FusedCodes codes;
    codes.a = &std::get<ir::DequantizeLinear>(graph_.node(*a).op);
    codes.b = &std::get<ir::DequantizeLinear>(graph_.node(*b).op);
    codes.quantize = &quantize;
    add_pair(id, codes, {*a, *b}, *reader);
  }

  /// The table of integers that a value is looked up in.
  [[nodiscard]] std::optional<NodeId> lookup_of(ValueId value) const {
    const auto producer = graph_.producer(value);
    const bool fits = producer && std::holds_alternative<ir::Lookup>(graph_.node(*producer).op);
    return fits ? producer : std::nullopt;
  }

  /// TensorFlow Lite's arithmetic: see passes::use_integer_binary().
  void fuse_integers(NodeId id, const ir::Node& binary) {
    const auto reader = only_reader<ir::Requantize>(binary.output);
    const auto a = lookup_of(binary.inputs[0]);
    const auto b = lookup_of(binary.inputs[1]);
    const std::size_t count = graph_.value(binary.output).type.shape.element_count();
    if (!reader || !a || !b || count < kLeastPairsForTable) return;
    FusedCodes codes;
    codes.a_integers = &std::get<ir::Lookup>(graph_.node(*a).op);
    codes.b_integers = &std::get<ir::Lookup>(graph_.node(*b).op);
    codes.requantize = &std::get<ir::Requantize>(graph_.node(*reader).op);
    if (codes.requantize->multipliers.size() != 1) return;
    add_pair(id, codes, {*a, *b}, *reader);
  }

  /// @param operands  the nodes before a Binary
  /// @param reader    the node behind it
  void add_pair(NodeId id, const FusedCodes& codes, std::array<NodeId, 2> operands, NodeId reader) {
    const auto [a, b] = operands;
    found_.fusions.push_back({id,
                              codes,
                              {graph_.node(a).inputs[0], graph_.node(b).inputs[0]},
                              graph_.node(reader).output});
    for (const NodeId each : operands) {
      if (is_read_only_by(graph_.node(each).output, id)) found_.absorbed.insert(each);
    }
    found_.absorbed.insert(reader);
  }

  [[nodiscard]] bool is_read_only_by(ValueId value, NodeId reader) const {
    const std::vector<NodeId> readers = graph_.consumers(value);
    return std::ranges::count(graph_.outputs(), value) == 0 &&
           std::ranges::all_of(readers, [&](NodeId each) { return each == reader; });
  }

  const ir::Graph& graph_;
  const PlanSettings& options_;
  std::span<const CodeLayout> layouts_;
  CodeFusions found_;
};

}  // namespace

CodeFusions find_code_fusions(const ir::Graph& graph, const PlanSettings& options,
                              std::span<const CodeLayout> layouts) {
  return Finder(graph, options, layouts).find();
}

}  // namespace halftone::runtime
