// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/graph.h"

#include <algorithm>
#include <queue>
#include <set>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/open_extents.h"

namespace halftone::ir {

std::string describe(const Node& node) {
  return "node '" + node.name + "' (" + std::string(name_of(node.op)) + ")";
}

ValueId Graph::add_value(Value value) {
  verified_.clear();
  values_.push_back(std::move(value));
  producers_.emplace_back();
  readers_.emplace_back();
  return ValueId{static_cast<std::uint32_t>(values_.size() - 1)};
}

ValueId Graph::add_input(std::string name, ValueType type) {
  inputs_.push_back(add_value({std::move(name), std::move(type), nullptr}));
  return inputs_.back();
}

ValueId Graph::add_constant(std::string name, Constant constant) {
  // Moves the tensor straight into shared ownership; see Value::constant.
  return add_constant(std::move(name), std::make_shared<const Constant>(std::move(constant)));
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const Constant> constant) {
  ValueType type = type_of(*constant);
  return add_value({std::move(name), std::move(type), std::move(constant)});
}

ValueId Graph::add_node(std::string name, Operator op, std::vector<ValueId> inputs,
                        std::string output_name) {
  Node node{std::move(name), std::move(op), std::move(inputs), kAbsent};
  ValueType type = infer(node);
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  node.output = add_value(
      {output_name.empty() ? node.name : std::move(output_name), std::move(type), nullptr});
  producers_.back() = id;
  nodes_.emplace_back(std::move(node));
  link(id);
  return nodes_.back()->output;
}

void Graph::link(NodeId id) {
  verified_.clear();
  for (const ValueId input : node(id).inputs) {
    if (input != kAbsent) readers_[index(input)].push_back(id);
  }
}

void Graph::unlink(NodeId id) {
  verified_.clear();
  for (const ValueId input : node(id).inputs) {
    if (input != kAbsent) std::erase(readers_[index(input)], id);
  }
}

bool Graph::contains(NodeId id) const {
  return index(id) < nodes_.size() && nodes_[index(id)].has_value();
}

void Graph::tie(ValueId before, ValueId after) {
  verified_.clear();
  if (std::ranges::count(outputs_, after) == 0) outputs_.push_back(after);
  states_.push_back({before, after});
}

void Graph::define(std::string symbol, ValueId value) {
  verified_.clear();
  definitions_.push_back({std::move(symbol), value});
}

std::string Graph::fresh_symbol() const {
  for (std::size_t i = definitions_.size();; ++i) {
    std::string symbol = kComputedMark + std::to_string(i);
    const bool is_taken = std::ranges::any_of(
        definitions_, [&](const Definition& known) { return known.symbol == symbol; });
    if (!is_taken) return symbol;
  }
}

void Graph::undefine(const std::string& symbol) {
  verified_.clear();
  std::erase_if(definitions_, [&](const Definition& known) { return known.symbol == symbol; });
}

void Graph::make_input(ValueId id) {
  const NodeId from = *producer(id);
  unlink(from);
  nodes_[index(from)].reset();
  producers_[index(id)].reset();
  inputs_.push_back(id);
}

void Graph::remove_input(ValueId id) {
  HALFTONE_ASSERT(num_uses(id) == 0);
  verified_.clear();
  std::erase(inputs_, id);
}

bool Graph::is_tied(ValueId id) const {
  return id != kAbsent && std::ranges::any_of(states_, [id](const State& state) {
           return state.before == id || state.after == id;
         });
}

std::vector<ValueId> Graph::untied(std::span<const ValueId> ids) const {
  std::vector<ValueId> result;
  for (const ValueId id : ids) {
    if (!is_tied(id)) result.push_back(id);
  }
  return result;
}

void Graph::set_outputs(std::vector<ValueId> values) {
  verified_.clear();
  outputs_ = std::move(values);
  for (State& state : states_) {
    if (std::ranges::count(outputs_, state.after) == 0) state.after = kAbsent;
  }
}

void Graph::replace_outputs(std::vector<ValueId> values) {
  verified_.clear();
  HALFTONE_ASSERT(values.size() == outputs_.size());
  for (State& state : states_) {
    if (state.after == kAbsent) continue;
    const auto place = std::ranges::find(outputs_, state.after) - outputs_.begin();
    state.after = values.at(static_cast<std::size_t>(place));
  }
  outputs_ = std::move(values);
}

namespace {

/// A graph whose computed extents have no symbol of another one.
Graph with_own_symbols(Graph graph, const Graph& other) {
  std::set<std::string> taken;
  for (const Definition& each : other.definitions()) taken.insert(each.symbol);
  std::vector<Definition> renamed(graph.definitions().begin(), graph.definitions().end());
  Sizes symbols;
  for (Definition& each : renamed) {
    const std::string before = each.symbol;
    while (!taken.insert(each.symbol).second) each.symbol += "'";
    if (each.symbol != before) symbols.emplace(before, dim_of(Extent::symbol(each.symbol)));
  }
  fill_in_extents(graph, symbols);
  for (const Definition& each : renamed) {
    graph.undefine(each.symbol);
    graph.define(each.symbol, each.value);
  }
  return graph;
}

}  // namespace

void Graph::append(const Graph& other) {
  const bool share_symbols = std::ranges::any_of(definitions_, [&](const Definition& own) {
    return std::ranges::count(other.definitions_, own.symbol, &Definition::symbol) > 0;
  });
  if (share_symbols) return append(with_own_symbols(other, *this));
  verified_.clear();
  std::vector<ValueId> copies(other.num_values(), kAbsent);
  for (const ValueId id : other.inputs()) {
    copies[index(id)] = add_input(other.value(id).name, other.value(id).type);
  }
  for (std::size_t v = 0; v < copies.size(); ++v) {
    const Value& value = other.values_[v];
    if (value.constant) copies[v] = add_constant(value.name, value.constant);
  }
  for (const NodeId id : other.topological_order()) {
    const Node& node = other.node(id);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (input != kAbsent) input = copies[index(input)];
    }
    copies[index(node.output)] =
        add_node(node.name, node.op, std::move(inputs), other.value(node.output).name);
  }
  for (const ValueId id : other.outputs()) add_output(copies[index(id)]);
  for (const State& state : other.states()) {
    const ValueId after = state.after == kAbsent ? kAbsent : copies[index(state.after)];
    states_.push_back({copies[index(state.before)], after});
  }
  for (const Definition& each : other.definitions()) {
    definitions_.push_back({each.symbol, copies[index(each.value)]});
  }
}

const Node& Graph::node(NodeId id) const {
  if (!contains(id)) fail(ErrorKind::kInternal, "graph: no node " + std::to_string(index(id)));
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
    for (const ValueId value : defining_values(*nodes_[n])) {
      if (!producers_[index(value)]) continue;
      readers[index(*producers_[index(value)])].push_back(n);
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
  if (order.size() != alive) fail_cycle(missing);
  return order;
}

void Graph::fail_cycle(std::span<const std::size_t> missing) const {
  const auto is_stuck = [](std::size_t m) { return m > 0; };
  auto n = static_cast<std::size_t>(std::ranges::find_if(missing, is_stuck) - missing.begin());
  // A node that could not run lies on a cycle or behind one. Walking upstream from it ends on the
  // cycle.
  for (std::size_t steps = 0; steps < nodes_.size(); ++steps) {
    std::vector<ValueId> inputs = defining_values(*nodes_[n]);
    inputs.insert(inputs.end(), nodes_[n]->inputs.begin(), nodes_[n]->inputs.end());
    for (const ValueId input : inputs) {
      if (input == kAbsent || !producers_[index(input)]) continue;
      if (!is_stuck(missing[index(*producers_[index(input)])])) continue;
      n = index(*producers_[index(input)]);
      break;
    }
  }
  fail(ErrorKind::kFormat, "the graph has a cycle through node '" + nodes_[n]->name + "'");
}

std::optional<NodeId> Graph::producer(ValueId id) const { return producers_.at(index(id)); }

std::vector<NodeId> Graph::consumers(ValueId id) const {
  std::vector<NodeId> result = readers_.at(index(id));
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::size_t Graph::num_uses(ValueId id) const {
  const auto defined =
      std::ranges::count_if(definitions_, [id](const Definition& d) { return d.value == id; });
  return readers_.at(index(id)).size() +
         static_cast<std::size_t>(std::ranges::count(outputs_, id) + defined);
}

void Graph::replace_node(NodeId id, Operator op, std::vector<ValueId> inputs) {
  const Node& old = node(id);
  Node replacement{old.name, std::move(op), std::move(inputs), old.output};
  values_[index(replacement.output)].type = infer(replacement);
  unlink(id);
  nodes_[index(id)] = std::move(replacement);
  link(id);
}

void Graph::absorb(NodeId first, NodeId second, Operator op, std::vector<ValueId> inputs) {
  const ValueId result = node(first).output;
  const ValueId absorbed = node(second).output;
  replace_node(first, std::move(op), std::move(inputs));
  replace_uses(absorbed, result);
  rename(result, value(absorbed).name);
  remove_node(second);
}

void Graph::remove_node(NodeId id) {
  const ValueId output = node(id).output;
  if (num_uses(output) != 0) fail(ErrorKind::kInternal, describe(node(id)) + " still has readers");
  unlink(id);
  producers_[index(output)].reset();
  nodes_[index(id)].reset();
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  verified_.clear();
  std::vector<NodeId>& readers = readers_.at(index(from));
  std::vector<NodeId>& more = readers_.at(index(to));
  for (const NodeId reader : readers) std::ranges::replace(nodes_[index(reader)]->inputs, from, to);
  more.insert(more.end(), readers.begin(), readers.end());
  readers.clear();
  std::ranges::replace(outputs_, from, to);
  for (State& state : states_) {
    if (state.after == from) state.after = to;
  }
  for (Definition& each : definitions_) {
    if (each.value == from) each.value = to;
  }
}

void Graph::set_input_type(ValueId id, ValueType type) {
  verified_.clear();
  values_.at(index(id)).type = std::move(type);
}

void Graph::infer_all() {
  verified_.clear();
  for (const NodeId id : topological_order()) {
    values_[index(node(id).output)].type = infer(node(id));
  }
}

std::vector<ValueId> Graph::defining_values(const Node& node) const {
  if (definitions_.empty()) return {};
  std::set<std::string> symbols;
  add_symbols(*this, node, symbols);
  std::vector<ValueId> values;
  for (const Definition& each : definitions_) {
    if (symbols.contains(each.symbol)) values.push_back(each.value);
  }
  return values;
}

std::size_t Graph::remove_unused_nodes() {
  std::vector<bool> needed(values_.size(), false);
  for (const ValueId id : outputs_) needed[index(id)] = true;
  const std::vector<NodeId> order = topological_order();
  std::size_t removed = 0;
  std::vector<ValueId> defining;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!needed[index(node(*id).output)]) {
      std::erase_if(definitions_, [&](const Definition& d) { return d.value == node(*id).output; });
      remove_node(*id);
      ++removed;
      continue;
    }
    for (const ValueId input : node(*id).inputs) {
      if (input != kAbsent) needed[index(input)] = true;
    }
    for (const ValueId value : defining_values(node(*id))) {
      needed[index(value)] = true;
      defining.push_back(value);
    }
  }
  std::erase_if(definitions_,
                [&](const Definition& d) { return std::ranges::count(defining, d.value) == 0; });
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
