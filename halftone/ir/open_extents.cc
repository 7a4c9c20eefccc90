// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/open_extents.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/ir/real.h"

namespace halftone::ir {
namespace {

/// The name of an extent of an input, if it is open.
std::optional<std::string> open_name(Dim extent) {
  return is_expression(extent) ? extent_of(extent).name() : std::nullopt;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

void add_names(const Shape& shape, std::vector<std::string>& names) {
  for (const Dim extent : shape.dims()) {
    const auto name = open_name(extent);
    if (name && std::ranges::count(names, *name) == 0) names.push_back(*name);
  }
}

void add_symbols(Dim extent, std::set<std::string>& names) {
  if (is_open(extent)) extent_of(extent).add_symbols(names);
}

std::size_t filled(std::size_t extent, const Sizes& sizes) {
  const auto dim = static_cast<Dim>(extent);
  if (!is_expression(dim)) return extent;
  return static_cast<std::size_t>(dim_of(extent_of(dim).with(sizes)));
}

/// The same for a list of extents.
template <typename Number>
void fill(std::vector<Number>& extents, const Sizes& sizes) {
  for (Number& extent : extents) {
    extent = static_cast<Number>(filled(static_cast<std::size_t>(extent), sizes));
  }
}

/// The scale of a Resize whose count is a product with its extent, if it gets a number.
/// @param extent  of its input, with numbers
float scale_of(const Extent& count, Dim extent, const Sizes& sizes) {
  const auto only_atom = [](const Extent& e) { return e.terms().begin()->second.atoms[0]; };
  const auto product = only_atom(only_atom(count)->a);
  const Extent a = product->a.with(sizes);
  const Extent bits = a == Real::of(extent_of(extent)).bits() ? product->b.with(sizes) : a;
  return Real::of_bits(bits).number().value_or(kScaleOfCount);
}

/// @param x  its input, with numbers
void fill(Resize& resize, const Shape& x, const Sizes& sizes) {
  const auto count = static_cast<Dim>(resize.count);
  if (resize.scale == kScaleOfCount && is_expression(count)) {
    resize.scale = scale_of(extent_of(count), x[resize.axis], sizes);
  }
  resize.count = filled(resize.count, sizes);
  const bool is_known = x[resize.axis] > 0 && !is_open(static_cast<Dim>(resize.count));
  if (resize.scale == 0 && is_known) {
    resize.scale = static_cast<float>(resize.count) / static_cast<float>(x[resize.axis]);
  }
}

template <typename Number>
void add_symbols(const std::vector<Number>& extents, std::set<std::string>& names) {
  for (const Number extent : extents) add_symbols(static_cast<Dim>(extent), names);
}

}  // namespace

Window* window_of(Operator& op) {
  if (auto* conv = std::get_if<Conv>(&op)) return &conv->window;
  if (auto* transposed = std::get_if<ConvTranspose>(&op)) return &transposed->window;
  auto* pool = std::get_if<Pool>(&op);
  return pool == nullptr ? nullptr : &pool->window;
}

void add_symbols(const Shape& shape, std::set<std::string>& names) {
  for (const Dim extent : shape.dims()) add_symbols(extent, names);
}

void add_symbols(const Graph& graph, const Node& node, std::set<std::string>& names) {
  add_symbols(graph.value(node.output).type.shape, names);
  if (const auto* slice = std::get_if<Slice>(&node.op)) {
    add_symbols(static_cast<Dim>(slice->begin), names);
    add_symbols(static_cast<Dim>(slice->count), names);
  }
  if (const auto* pad = std::get_if<Pad>(&node.op)) {
    add_symbols(pad->before, names);
    add_symbols(pad->after, names);
  }
  if (const auto* result = std::get_if<LoopResult>(&node.op)) add_symbols(result->offset, names);
  const auto* loop = std::get_if<Loop>(&node.op);
  if (loop == nullptr) return;
  if (loop->trips) add_symbols(*loop->trips, names);
  for (const ValueId id : loop->body->inputs()) {
    add_symbols(loop->body->value(id).type.shape, names);
  }
  for (const NodeId id : loop->body->topological_order()) {
    add_symbols(*loop->body, loop->body->node(id), names);
  }
}

Operator with_sizes(Operator op, const Shape& x, const Sizes& sizes) {
  if (auto* reshape = std::get_if<Reshape>(&op)) reshape->shape = with_sizes(reshape->shape, sizes);
  if (auto* repeat = std::get_if<BroadcastTo>(&op))
    repeat->shape = with_sizes(repeat->shape, sizes);
  if (auto* slice = std::get_if<Slice>(&op)) {
    slice->begin = filled(slice->begin, sizes);
    slice->count = filled(slice->count, sizes);
  }
  if (auto* loop = std::get_if<Loop>(&op)) {
    auto body = std::make_shared<Graph>(*loop->body);
    fill_in_extents(*body, sizes);
    loop->body = std::move(body);
    if (loop->trips) loop->trips = with_sizes(Shape{*loop->trips}, sizes)[0];
  }
  if (auto* result = std::get_if<LoopResult>(&op)) {
    result->shape = with_sizes(result->shape, sizes);
    result->offset = with_sizes(Shape{result->offset}, sizes)[0];
  }
  if (auto* top = std::get_if<TopK>(&op)) top->k = filled(top->k, sizes);
  if (auto* pad = std::get_if<Pad>(&op)) {
    fill(pad->before, sizes);
    fill(pad->after, sizes);
  }
  if (auto* tile = std::get_if<Tile>(&op)) fill(tile->repeats, sizes);
  if (auto* one_hot = std::get_if<OneHot>(&op)) one_hot->depth = filled(one_hot->depth, sizes);
  if (Window* window = window_of(op)) {
    fill(window->pads_before, sizes);
    fill(window->pads_after, sizes);
  }
  if (auto* resize = std::get_if<Resize>(&op)) fill(*resize, x, sizes);
  return op;
}

std::vector<std::string> open_extents(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) add_names(graph.value(id).type.shape, names);
  return names;
}

std::string how_to_give_extents(const Graph& graph) {
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    std::vector<std::string> names;
    add_names(input.type.shape, names);
    if (names.empty()) continue;
    std::string shape;
    for (const Dim extent : input.type.shape.dims()) {
      shape += (shape.empty() ? "" : ",") + to_string(extent);
    }
    return "input '" + input.name + "' " + input.type.shape.to_string() +
           ": the file leaves extents open: give the input a shape (--shape " + input.name + "=" +
           shape + " with " + (names.size() == 1 ? "a number" : "numbers") + " for " +
           listed(names) + ")";
  }
  return "";
}

Sizes sizes_of(const Graph& graph, std::span<const ValueId> inputs,
               std::span<const std::optional<Shape>> found) {
  Sizes sizes;
  for (std::size_t i = 0; i < std::min(inputs.size(), found.size()); ++i) {
    const Value& input = graph.value(inputs[i]);
    if (!found[i] || found[i]->rank() != input.type.shape.rank()) continue;
    for (std::size_t axis = 0; axis < found[i]->rank(); ++axis) {
      const auto name = open_name(input.type.shape[axis]);
      if (!name) continue;
      const Dim size = (*found[i])[axis];
      const auto [known, is_new] = sizes.emplace(*name, size);
      if (is_new || known->second == size) continue;
      fail(ErrorKind::kShape, "input '" + input.name + "': expected " +
                                  std::to_string(known->second) + " for the extent " + *name +
                                  ", as before, found " + std::to_string(size));
    }
  }
  return sizes;
}

namespace {

/// A Resize and those behind it that resize its other axes, if only they read it.
std::vector<NodeId> resizes_from(const Graph& graph, NodeId first) {
  std::vector<NodeId> chain{first};
  while (true) {
    const std::vector<NodeId> readers = graph.consumers(graph.node(chain.back()).output);
    if (readers.size() != 1 || !std::holds_alternative<Resize>(graph.node(readers[0]).op)) break;
    chain.push_back(readers[0]);
  }
  return chain;
}

/// Whether the axis of a Resize has as many elements behind it as before.
bool keeps_extent(const Graph& graph, NodeId id) {
  const auto& op = std::get<Resize>(graph.node(id).op);
  const Dim extent = graph.value(graph.node(id).inputs[0]).type.shape[op.axis];
  return !op.multiplies && !is_open(extent) && op.count == static_cast<std::size_t>(extent);
}

/// Where all extents stay, runtimes copy, whatever the scales.
void copy_kept_extents(Graph& graph) {
  const auto is_resize = [&](NodeId id) {
    return std::holds_alternative<Resize>(graph.node(id).op);
  };
  for (const NodeId id : graph.topological_order()) {
    if (!is_resize(id)) continue;
    const auto producer = graph.producer(graph.node(id).inputs[0]);
    if (producer && is_resize(*producer)) continue;
    const std::vector<NodeId> chain = resizes_from(graph, id);
    if (!std::ranges::all_of(chain, [&](NodeId each) { return keeps_extent(graph, each); }))
      continue;
    for (const NodeId each : chain) {
      Resize op = std::get<Resize>(graph.node(each).op);
      op.scale = 1;
      op.coordinates = Coordinates::kAsymmetric;
      graph.replace_node(each, op, graph.node(each).inputs);
    }
  }
}

}  // namespace

void fill_in_extents(Graph& graph, const Sizes& sizes) {
  for (const std::string& name : open_extents(graph)) {
    if (!sizes.contains(name)) fail(ErrorKind::kUsage, how_to_give_extents(graph));
  }
  for (const ValueId id : graph.inputs()) {
    ValueType type = graph.value(id).type;
    if (!has_expressions(type.shape)) continue;
    type.shape = with_sizes(type.shape, sizes);
    graph.set_input_type(id, std::move(type));
  }
  for (const NodeId id : graph.topological_order()) {
    std::vector<ValueId> inputs = graph.node(id).inputs;
    const Shape x = graph.value(inputs[0]).type.shape;
    Operator op = with_context(describe(graph.node(id)),
                               [&] { return with_sizes(graph.node(id).op, x, sizes); });
    graph.replace_node(id, std::move(op), std::move(inputs));
  }
  copy_kept_extents(graph);
  for (const auto& [name, size] : sizes) graph.undefine(name);
}

}  // namespace halftone::ir
