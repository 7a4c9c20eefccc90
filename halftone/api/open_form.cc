// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/open_form.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "halftone/api/sample_shapes.h"
#include "halftone/base/error.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/text.h"

namespace halftone {
namespace {

/// Whether an operator has extents among its attributes.
bool has_extents(const ir::Operator& op) {
  return std::holds_alternative<ir::Reshape>(op) || std::holds_alternative<ir::BroadcastTo>(op) ||
         std::holds_alternative<ir::Slice>(op) || std::holds_alternative<ir::Resize>(op) ||
         std::holds_alternative<ir::TopK>(op) || std::holds_alternative<ir::Pad>(op) ||
         std::holds_alternative<ir::Tile>(op) || std::holds_alternative<ir::OneHot>(op) ||
         std::holds_alternative<ir::LoopResult>(op);
}

/// The window of a layer or a pool, which follows an open extent where its padding does; null for
/// other operators.
ir::Window* window_of(ir::Operator& op) {
  if (auto* conv = std::get_if<ir::Conv>(&op)) return &conv->window;
  if (auto* transposed = std::get_if<ir::ConvTranspose>(&op)) return &transposed->window;
  auto* pool = std::get_if<ir::Pool>(&op);
  return pool == nullptr ? nullptr : &pool->window;
}

bool is_open(const ir::Window* window) {
  return window != nullptr && (std::ranges::any_of(window->pads_before, ir::is_expression) ||
                               std::ranges::any_of(window->pads_after, ir::is_expression));
}

/// Whether an operator has extents among its attributes that may depend on those of its input.
/// @param x  the first input, with open extents
bool may_have_extents(const ir::Operator& op, const ir::Shape& x) {
  if (std::holds_alternative<ir::Reshape>(op)) return ir::has_expressions(x);
  if (std::holds_alternative<ir::BroadcastTo>(op)) return true;
  if (const auto* slice = std::get_if<ir::Slice>(&op)) return ir::is_expression(x[slice->axis]);
  if (const auto* top = std::get_if<ir::TopK>(&op)) return ir::is_expression(x[top->axis]);
  if (const auto* resize = std::get_if<ir::Resize>(&op)) return ir::is_expression(x[resize->axis]);
  if (std::holds_alternative<ir::Pad>(op)) return ir::has_expressions(x);
  return false;
}

ir::Graph with_extents_of(ir::Graph graph, const ir::Graph& open, const ir::Graph& filled);

/// The operators of a network with open extents, for those with numbers.
class Attributes {
 public:
  Attributes(const ir::Graph& open, const ir::Graph& filled) : open_(open), filled_(filled) {
    for (const ir::NodeId id : open.topological_order()) {
      by_name_.emplace(open.node(id).name, id);
      ir::Operator op = open.node(id).op;
      has_open_windows_ = has_open_windows_ || is_open(window_of(op));
    }
  }

  /// That of a node of this name; nothing if there is none.
  /// @throws Error kUnsupported if several differ
  [[nodiscard]] std::optional<ir::Operator> of(const ir::Node& node) const {
    std::optional<ir::Operator> found = with_open_window(node);
    if (const auto* loop = std::get_if<ir::Loop>(&node.op)) found = open_loop(node, *loop);
    if (!has_extents(node.op)) return found;
    const auto [first, last] = by_name_.equal_range(node.name);
    for (auto at = first; at != last; ++at) {
      if (filled_.node(at->second).op != node.op) continue;
      const ir::Operator& op = open_.node(at->second).op;
      if (found && *found != op) fail_node(node);
      found = op;
    }
    return found;
  }

  [[noreturn]] static void fail_node(const ir::Node& node) {
    fail(ErrorKind::kUnsupported, describe(node) + " has extents that are those of the samples");
  }

 private:
  /// A copy of a layer or pool, which may compute in other ways, with padding that follows extents.
  /// @throws Error kUnsupported if its padding is that of no layer of this name
  [[nodiscard]] std::optional<ir::Operator> with_open_window(const ir::Node& node) const {
    ir::Operator op = node.op;
    ir::Window* window = window_of(op);
    if (window == nullptr || !has_open_windows_) return std::nullopt;
    const auto [first, last] = by_name_.equal_range(node.name);
    for (auto at = first; at != last; ++at) {
      ir::Operator filled = filled_.node(at->second).op;
      const ir::Window* same = window_of(filled);
      if (same == nullptr || *same != *window) continue;
      ir::Operator open = open_.node(at->second).op;
      *window = *window_of(open);
      return op;
    }
    fail_node(node);
  }

  /// A loop whose body may be another one than that of the network.
  [[nodiscard]] ir::Operator open_loop(const ir::Node& node, ir::Loop loop) const {
    const auto [first, last] = by_name_.equal_range(node.name);
    for (auto at = first; at != last; ++at) {
      const auto* open = std::get_if<ir::Loop>(&open_.node(at->second).op);
      const auto* filled = std::get_if<ir::Loop>(&filled_.node(at->second).op);
      if (open == nullptr || filled == nullptr) continue;
      loop.trips = open->trips;
      loop.body = std::make_shared<const ir::Graph>(
          with_extents_of(*loop.body, *open->body, *filled->body));
      return loop;
    }
    fail_node(node);
  }

  const ir::Graph& open_;
  const ir::Graph& filled_;
  bool has_open_windows_ = false;
  std::multimap<std::string, ir::NodeId> by_name_;
};

/// A graph that grew from one with numbers for its extents, also beside another one, with those of
/// the same with open ones.
/// @throws Error as OpenForm::reopened()
ir::Graph with_extents_of(ir::Graph graph, const ir::Graph& open, const ir::Graph& filled) {
  const Attributes attributes(open, filled);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    ir::ValueType type = graph.value(graph.inputs()[i]).type;
    type.shape = open.value(open.inputs()[i % open.inputs().size()]).type.shape;
    graph.set_input_type(graph.inputs()[i], std::move(type));
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    const auto op = attributes.of(node);
    const ir::Shape& x = graph.value(node.inputs[0]).type.shape;
    if (!op && may_have_extents(node.op, x)) Attributes::fail_node(node);
    graph.replace_node(id, op.value_or(node.op), node.inputs);
  }
  return graph;
}

/// Whether operators are equal; loops also where their bodies are copies.
bool are_equal(const ir::Operator& a, const ir::Operator& b) {
  const auto* loop = std::get_if<ir::Loop>(&a);
  const auto* other = std::get_if<ir::Loop>(&b);
  if (loop == nullptr || other == nullptr) return a == b;
  ir::Loop same = *loop;
  same.body = other->body;
  return same == *other && ir::to_text(*loop->body) == ir::to_text(*other->body);
}

/// @throws Error kShape unless two graphs with open extents have outputs of the same shapes at
///         twice these sizes, if the first takes them
void check_other_sizes(ir::Graph open, ir::Graph graph, const ir::Sizes& sizes) {
  ir::Sizes doubled;
  for (const auto& [name, size] : sizes) doubled.emplace(name, 2 * size);
  try {
    ir::fill_in_extents(open, doubled);
  } catch (const Error&) {
    return;  // such as a sentence beyond the table of positions
  }
  ir::fill_in_extents(graph, doubled);
  for (std::size_t i = 0; i < open.outputs().size(); ++i) {
    const ir::Shape& wanted = open.value(open.outputs()[i]).type.shape;
    const ir::Value& found = graph.value(graph.outputs()[i]);
    if (found.type.shape == wanted) continue;
    fail(ErrorKind::kShape, "output '" + found.name + "': expected " + wanted.to_string() +
                                " at twice the size, found " + found.type.to_string());
  }
}

/// @throws Error kShape unless a graph with open extents becomes another one with these sizes
void check_same(ir::Graph graph, const ir::Sizes& sizes, const ir::Graph& expected) {
  ir::fill_in_extents(graph, sizes);
  for (const ir::NodeId id : expected.topological_order()) {
    const ir::Node& wanted = expected.node(id);
    const ir::Node& found = graph.node(id);
    if (are_equal(found.op, wanted.op) &&
        graph.value(found.output).type == expected.value(wanted.output).type) {
      continue;
    }
    fail(ErrorKind::kShape, describe(wanted) + ": expected " +
                                expected.value(wanted.output).type.to_string() + ", found " +
                                graph.value(found.output).type.to_string());
  }
}

/// @throws Error kUnsupported for samples of several sizes, if a network is read with numbers
void check_sizes(const Network& network, const data::Dataset& data) {
  if (data.parts().size() == 1 || !network.reader) return;
  fail(ErrorKind::kUnsupported,
       network.name + ": expected samples of one size, found " +
           std::to_string(data.parts().size()) +
           " sizes: the network is read with numbers for its extents: " + network.refusal);
}

}  // namespace

OpenForm::OpenForm(const Network& network, const data::Dataset& data, Purpose purpose)
    : network_(network),
      open_(prepared_open(network, purpose)),
      filled_(open_),
      sizes_(sizes_of(network, data.parts()[0])) {
  with_context(network.name, [&] { ir::fill_in_extents(filled_, sizes_); });
  for (const data::Dataset& part : data.parts().subspan(1)) {
    with_context("sample " + std::to_string(part.origin(0)), [&] {
      ir::Graph other = open_;
      const ir::Sizes sizes = sizes_of(network, part);
      with_context(network.name, [&] { ir::fill_in_extents(other, sizes); });
    });
  }
}

ir::Graph OpenForm::resized(ir::Graph graph, const data::Dataset& samples) const {
  graph = with_extents_of(std::move(graph), open_, filled_);
  const ir::Sizes sizes = sizes_of(network_, samples);
  with_context(network_.name, [&] { ir::fill_in_extents(graph, sizes); });
  return graph;
}

ir::Graph OpenForm::reopened(ir::Graph graph) const {
  const ir::Graph expected = graph;
  graph = with_extents_of(std::move(graph), open_, filled_);
  check_same(graph, sizes_, expected);
  check_other_sizes(open_, graph, sizes_);
  return graph;
}

SizedGraph prepared_for(const Network& network, const data::Dataset& data, Purpose purpose) {
  if (data.parts().size() == 1) return {prepared(with_samples(network, data), purpose)};
  check_sizes(network, data);
  if (!is_open(network)) return {prepared(network, purpose)};
  const auto form = std::make_shared<const OpenForm>(network, data, purpose);
  return {form->filled(), [form](const ir::Graph& graph, const data::Dataset& samples) {
            return form->resized(graph, samples);
          }};
}

std::optional<OpenForm> open_form(const Network& network, const data::Dataset& data) {
  check_sizes(network, data);
  if (!is_open(network) || network.reader) return std::nullopt;
  return OpenForm(network, data, Purpose::kQuantize);
}

compress::Resize resize_of(const std::optional<OpenForm>& form, const data::Dataset& data) {
  if (!form || data.parts().size() == 1) return {};
  return [&form](const ir::Graph& graph, const data::Dataset& samples) {
    return form->resized(graph, samples);
  };
}

std::optional<std::string> reopen(const std::optional<OpenForm>& form, ir::Graph& graph) {
  try {
    if (form) graph = form->reopened(graph);
    return std::nullopt;
  } catch (const Error& error) {
    return std::string("the file keeps the extents of the samples: ") + error.what();
  }
}

}  // namespace halftone
