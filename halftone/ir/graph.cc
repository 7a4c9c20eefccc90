// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/graph.h"

#include <algorithm>
#include <queue>

#include "halftone/base/error.h"

namespace halftone::ir {

std::string describe(const Node& node) {
  return "node '" + node.name + "' (" + std::string(name_of(node.op)) + ")";
}

ValueId Graph::add_input(std::string name, ValueType type) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  values_.push_back({std::move(name), std::move(type), nullptr});
  producers_.emplace_back();
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string name, Constant constant) {
  // Move-only tensors go straight into shared ownership; see Value::constant.
  return add_constant(std::move(name), std::make_shared<const Constant>(std::move(constant)));
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const Constant> constant) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  ValueType type = type_of(*constant);
  values_.push_back({std::move(name), std::move(type), std::move(constant)});
  producers_.emplace_back();
  return id;
}

ValueId Graph::add_node(std::string name, Operator op, std::vector<ValueId> inputs,
                        std::string output_name) {
  Node node{std::move(name), std::move(op), std::move(inputs), kAbsent};
  ValueType type = infer(node);
  node.output = ValueId{static_cast<std::uint32_t>(values_.size())};
  values_.push_back(
      {output_name.empty() ? node.name : std::move(output_name), std::move(type), nullptr});
  producers_.emplace_back(NodeId{static_cast<std::uint32_t>(nodes_.size())});
  nodes_.emplace_back(std::move(node));
  return nodes_.back()->output;
}

const Node& Graph::node(NodeId id) const {
  if (index(id) >= nodes_.size() || !nodes_[index(id)]) {
    fail(ErrorKind::kInternal, "graph: no node " + std::to_string(index(id)));
  }
  return *nodes_[index(id)];
}

const Constant* Graph::constant(ValueId id) const {
  return id == kAbsent ? nullptr : value(id).constant.get();
}

std::vector<NodeId> Graph::topological_order() const {
  std::vector<std::size_t> missing(nodes_.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes_.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  std::size_t alive = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n]) continue;
    ++alive;
    for (const ValueId input : nodes_[n]->inputs) {
      if (input == kAbsent || !producers_[index(input)]) continue;
      readers[index(*producers_[index(input)])].push_back(n);
      ++missing[n];
    }
    if (missing[n] == 0) ready.push(n);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const std::size_t n = ready.top();
    ready.pop();
    order.push_back(NodeId{static_cast<std::uint32_t>(n)});
    for (const std::size_t reader : readers[n]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != alive) {
    const auto stuck =
        std::find_if(missing.begin(), missing.end(), [](std::size_t m) { return m > 0; });
    fail(ErrorKind::kFormat, "the graph has a cycle through node '" +
                                 nodes_[static_cast<std::size_t>(stuck - missing.begin())]->name +
                                 "'");
  }
  return order;
}

std::optional<NodeId> Graph::producer(ValueId id) const { return producers_.at(index(id)); }

std::vector<NodeId> Graph::consumers(ValueId id) const {
  std::vector<NodeId> result;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n] && std::ranges::count(nodes_[n]->inputs, id) > 0) {
      result.push_back(NodeId{static_cast<std::uint32_t>(n)});
    }
  }
  return result;
}

std::size_t Graph::num_uses(ValueId id) const {
  auto uses = static_cast<std::size_t>(std::ranges::count(outputs_, id));
  for (const auto& node : nodes_) {
    if (node) uses += static_cast<std::size_t>(std::ranges::count(node->inputs, id));
  }
  return uses;
}

void Graph::replace_node(NodeId id, Operator op, std::vector<ValueId> inputs) {
  const Node& old = node(id);
  Node replacement{old.name, std::move(op), std::move(inputs), old.output};
  values_[index(replacement.output)].type = infer(replacement);
  nodes_[index(id)] = std::move(replacement);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (auto& node : nodes_) {
    if (node) std::ranges::replace(node->inputs, from, to);
  }
  std::ranges::replace(outputs_, from, to);
}

void Graph::set_input_type(ValueId id, ValueType type) {
  values_.at(index(id)).type = std::move(type);
}

void Graph::infer_all() {
  for (const NodeId id : topological_order()) {
    values_[index(node(id).output)].type = infer(node(id));
  }
}

std::size_t Graph::remove_unused_nodes() {
  std::vector<bool> needed(values_.size(), false);
  for (const ValueId id : outputs_) needed[index(id)] = true;
  const std::vector<NodeId> order = topological_order();
  std::size_t removed = 0;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!needed[index(node(*id).output)]) {
      producers_[index(node(*id).output)].reset();
      nodes_[index(*id)].reset();
      ++removed;
      continue;
    }
    for (const ValueId input : node(*id).inputs) {
      if (input != kAbsent) needed[index(input)] = true;
    }
  }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (!needed[v]) values_[v].constant.reset();
  }
  return removed;
}

ValueType Graph::infer(const Node& node) const {
  std::vector<const ValueType*> types;
  for (const ValueId input : node.inputs) {
    types.push_back(input == kAbsent ? nullptr : &value(input).type);
  }
  return with_context(describe(node), [&] { return infer_output(node.op, types); });
}

}  // namespace halftone::ir
