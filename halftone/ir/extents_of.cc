// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/extents_of.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/open_extents.h"

namespace halftone::ir {
namespace {

/// Whether an operator has extents among its attributes.
bool has_extents(const Operator& op) {
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<BroadcastTo>(op) ||
         std::holds_alternative<Slice>(op) || std::holds_alternative<Resize>(op) ||
         std::holds_alternative<TopK>(op) || std::holds_alternative<Pad>(op) ||
         std::holds_alternative<Tile>(op) || std::holds_alternative<OneHot>(op) ||
         std::holds_alternative<LoopResult>(op);
}

/// Whether an operator has extents among its attributes that may depend on those of its input.
/// @param x       the first input, with the wanted extents
/// @param before  with the others
bool may_have_extents(const Operator& op, const Shape& x, const Shape& before) {
  const auto moves = [&](std::size_t axis) { return x[axis] != before[axis]; };
  if (std::holds_alternative<Reshape>(op)) return x != before;
  if (std::holds_alternative<BroadcastTo>(op)) return true;
  if (const auto* slice = std::get_if<Slice>(&op)) return moves(slice->axis);
  if (const auto* top = std::get_if<TopK>(&op)) return moves(top->axis);
  if (const auto* resize = std::get_if<Resize>(&op)) return moves(resize->axis);
  if (std::holds_alternative<Pad>(op)) return x != before;
  return false;
}

/// The operators of a graph with the wanted extents, for those of the same with others.
class Attributes {
 public:
  Attributes(const Graph& wanted, const Graph& from) : wanted_(wanted), from_(from) {
    for (const NodeId id : wanted.topological_order()) {
      by_name_.emplace(wanted.node(id).name, id);
      Operator op = wanted.node(id).op;
      Operator other = from.node(id).op;
      const Window* window = window_of(op);
      moves_windows_ = moves_windows_ || (window != nullptr && *window != *window_of(other));
    }
  }

  /// That of a node of this name; nothing if there is none.
  /// @throws Error kUnsupported if several differ
  [[nodiscard]] std::optional<Operator> of(const Node& node) const {
    std::optional<Operator> found = with_moved_window(node);
    if (const auto* loop = std::get_if<Loop>(&node.op)) found = moved_loop(node, *loop);
    if (!has_extents(node.op)) return found;
    const auto [first, last] = by_name_.equal_range(node.name);
    for (auto at = first; at != last; ++at) {
      if (from_.node(at->second).op != node.op) continue;
      const Operator& op = wanted_.node(at->second).op;
      if (found && *found != op) fail_node(node);
      found = op;
    }
    return found;
  }

  [[noreturn]] static void fail_node(const Node& node) {
    fail(ErrorKind::kUnsupported, describe(node) + " has extents that are those of the samples");
  }

 private:
  /// A copy of a layer or pool, which may compute in other ways, with padding that follows extents.
  /// @throws Error kUnsupported if its padding is that of no layer of this name
  [[nodiscard]] std::optional<Operator> with_moved_window(const Node& node) const {
    Operator op = node.op;
    Window* window = window_of(op);
    if (window == nullptr || !moves_windows_) return std::nullopt;
    const auto [first, last] = by_name_.equal_range(node.name);
    for (auto at = first; at != last; ++at) {
      Operator other = from_.node(at->second).op;
      const Window* same = window_of(other);
      if (same == nullptr || *same != *window) continue;
      Operator moved = wanted_.node(at->second).op;
      *window = *window_of(moved);
      return op;
    }
    fail_node(node);
  }

  /// A loop whose body may be another one than that of the network.
  [[nodiscard]] Operator moved_loop(const Node& node, Loop loop) const {
    const auto [first, last] = by_name_.equal_range(node.name);
    for (auto at = first; at != last; ++at) {
      const auto* wanted = std::get_if<Loop>(&wanted_.node(at->second).op);
      const auto* from = std::get_if<Loop>(&from_.node(at->second).op);
      if (wanted == nullptr || from == nullptr) continue;
      loop.trips = wanted->trips;
      loop.body =
          std::make_shared<const Graph>(with_extents_of(*loop.body, *wanted->body, *from->body));
      return loop;
    }
    fail_node(node);
  }

  const Graph& wanted_;
  const Graph& from_;
  bool moves_windows_ = false;
  std::multimap<std::string, NodeId> by_name_;
};

}  // namespace

Graph with_extents_of(Graph graph, const Graph& wanted, const Graph& from) {
  const Attributes attributes(wanted, from);
  const Graph before = graph;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    ValueType type = graph.value(graph.inputs()[i]).type;
    type.shape = wanted.value(wanted.inputs()[i % wanted.inputs().size()]).type.shape;
    graph.set_input_type(graph.inputs()[i], std::move(type));
  }
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    const auto op = attributes.of(node);
    const auto shape = [&](const Graph& of) { return of.value(node.inputs[0]).type.shape; };
    if (!op && may_have_extents(node.op, shape(graph), shape(before))) Attributes::fail_node(node);
    graph.replace_node(id, op.value_or(node.op), node.inputs);
  }
  return graph;
}

}  // namespace halftone::ir
