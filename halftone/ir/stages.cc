// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/stages.h"

#include <algorithm>
#include <set>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::ir {
namespace {

using Symbols = std::set<std::string>;

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

bool depends_on(const Graph& graph, const Node& node, const Symbols& symbols) {
  Symbols used;
  add_symbols(graph, node, used);
  return std::ranges::any_of(used, [&](const std::string& name) { return symbols.contains(name); });
}

/// Which values can be computed without some symbols.
std::vector<bool> computable(const Graph& graph, const Symbols& unknown) {
  std::vector<bool> known(graph.num_values(), false);
  for (std::size_t v = 0; v < known.size(); ++v) {
    known[v] = graph.constant(ValueId{static_cast<std::uint32_t>(v)}) != nullptr;
  }
  for (const ValueId id : graph.inputs()) known[index(id)] = true;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const auto is_known = [&](ValueId input) { return input == kAbsent || known[index(input)]; };
    known[index(node.output)] =
        std::ranges::all_of(node.inputs, is_known) && !depends_on(graph, node, unknown);
  }
  return known;
}

Symbols symbols_of(const Graph& graph) {
  Symbols symbols;
  for (const Definition& each : graph.definitions()) symbols.insert(each.symbol);
  return symbols;
}

void add_once(std::vector<ValueId>& values, ValueId id) {
  if (std::ranges::count(values, id) == 0) values.push_back(id);
}

bool may_hand(const ValueType& type, HandOver what) {
  return what == HandOver::kDense ? type.encoding.is_dense() : type.is_dense(ElementType::kFloat32);
}

/// The values of the first stage that the rest reads, in the order in which the outputs of the
/// network depend on them: the same in files that list its nodes in another order.
/// @param known  computable() without the definitions
std::vector<ValueId> handed_values(const Graph& graph, const std::vector<bool>& known,
                                   HandOver what) {
  std::vector<ValueId> next;  // the last one comes first
  for (const ValueId id : graph.outputs()) {
    if (!known[index(id)]) next.push_back(id);
  }
  for (const Definition& each : graph.definitions()) {
    if (what == HandOver::kFloats || !known[index(each.value)]) next.push_back(each.value);
  }
  std::ranges::reverse(next);
  std::vector<bool> visited(graph.num_values(), false);
  std::vector<ValueId> handed;
  while (!next.empty()) {
    const ValueId id = next.back();
    next.pop_back();
    if (id == kAbsent || visited[index(id)] || !graph.producer(id)) continue;
    visited[index(id)] = true;
    if (known[index(id)] && may_hand(graph.value(id).type, what)) {
      handed.push_back(id);
      continue;
    }
    const std::vector<ValueId>& inputs = graph.node(*graph.producer(id)).inputs;
    next.insert(next.end(), inputs.rbegin(), inputs.rend());
  }
  return handed;
}

}  // namespace

Stages split_stages(Graph graph, HandOver what) {
  if (!graph.states().empty()) {
    fail(ErrorKind::kUnsupported,
         describe_definition(graph) + ": extents that depend on data in a network with states");
  }
  graph.remove_unused_nodes();
  const std::vector<bool> known = computable(graph, symbols_of(graph));
  const std::vector<ValueId> handed = handed_values(graph, known, what);
  Stages stages{graph, graph, {}};
  std::vector<ValueId> results;
  std::vector<ValueId> later;
  for (const ValueId id : graph.outputs()) add_once(known[index(id)] ? results : later, id);
  for (const Definition& each : graph.definitions()) {
    const bool is_now = known[index(each.value)] && what == HandOver::kDense;
    if (is_now) {
      add_once(results, each.value);
      stages.defined.push_back(each);
    }
    stages.first.undefine(each.symbol);
  }
  for (const ValueId id : handed) add_once(results, id);
  stages.first.set_outputs(std::move(results));
  stages.first.remove_unused_nodes();

  stages.rest.set_outputs(std::move(later));
  for (const ValueId id : handed) stages.rest.make_input(id);
  // Definitions whose values the first stage computes are needed until they have numbers.
  const std::vector<Definition> defined = stages.defined;
  for (const Definition& each : defined) stages.rest.undefine(each.symbol);
  stages.rest.remove_unused_nodes();
  const std::vector<ValueId> inputs(stages.rest.inputs().begin(), stages.rest.inputs().end());
  for (const ValueId id : inputs) {
    if (stages.rest.num_uses(id) == 0) stages.rest.remove_input(id);
  }
  return stages;
}

namespace {

/// The definitions of a graph that need no other one.
std::vector<Definition> first_definitions(const Graph& graph) {
  const std::vector<bool> known = computable(graph, symbols_of(graph));
  std::vector<Definition> first;
  for (const Definition& each : graph.definitions()) {
    if (known[index(each.value)]) first.push_back(each);
  }
  return first;
}

/// How many layers a value depends on.
std::ptrdiff_t layers_before(const Graph& graph, ValueId value) {
  Graph part = graph;
  part.set_outputs({value});
  part.remove_unused_nodes();
  return std::ranges::count_if(part.topological_order(), [&](NodeId id) {
    return traits_of(part.node(id).op).layer != LayerKind::kNone;
  });
}

/// What is compared comes first: the float32 value that most layers compute, then other ones, then
/// other types.
void put_floats_first(Graph& graph) {
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  std::ranges::stable_sort(outputs, {}, [&](ValueId id) -> std::ptrdiff_t {
    return graph.value(id).type.is_dense(ElementType::kFloat32) ? -layers_before(graph, id) : 1;
  });
  graph.set_outputs(std::move(outputs));
}

/// Adds the nodes of a stage to those of the stages before.
/// @param copies  by value of the network: the value of `joined`; grows
void add_stage(Graph& joined, const Graph& grown, const FittedStage& stage,
               std::vector<ValueId>& copies) {
  std::vector<ValueId> own(grown.num_values(), kAbsent);
  for (std::size_t i = 0; i < grown.inputs().size(); ++i) {
    own[index(grown.inputs()[i])] = copies[index(stage.graph.inputs()[i])];
  }
  for (std::size_t v = 0; v < own.size(); ++v) {
    const Value& value = grown.value(ValueId{static_cast<std::uint32_t>(v)});
    if (value.constant) own[v] = joined.add_constant(value.name, value.constant);
  }
  for (const NodeId id : grown.topological_order()) {
    const Node& node = grown.node(id);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (input != kAbsent) input = own[index(input)];
    }
    own[index(node.output)] =
        joined.add_node(node.name, node.op, std::move(inputs), grown.value(node.output).name);
  }
  for (std::size_t i = 0; i < grown.outputs().size(); ++i) {
    copies[index(stage.graph.outputs()[i])] = own[index(grown.outputs()[i])];
  }
  for (const Definition& each : stage.defined) {
    joined.define(each.symbol, copies[index(each.value)]);
  }
}

}  // namespace

std::vector<FittedStage> fitted_stages(Graph graph) {
  if (!graph.definitions().empty()) graph.remove_unused_nodes();
  std::vector<FittedStage> stages;
  std::vector<Definition> defined;
  while (!graph.definitions().empty()) {
    Stages split = split_stages(std::move(graph), HandOver::kFloats);
    put_floats_first(split.first);
    stages.push_back({std::move(split.first), std::move(defined)});
    graph = std::move(split.rest);
    defined = first_definitions(graph);
    for (const Definition& each : defined) {
      graph.undefine(each.symbol);
      if (std::ranges::count(graph.outputs(), each.value) == 0) graph.add_output(each.value);
    }
  }
  if (!stages.empty()) put_floats_first(graph);
  stages.push_back({std::move(graph), std::move(defined)});
  return stages;
}

std::set<std::string> computed_symbols(const Graph& stage) {
  Symbols symbols;
  for (const ValueId id : stage.inputs()) add_symbols(stage.value(id).type.shape, symbols);
  for (const NodeId id : stage.topological_order()) add_symbols(stage, stage.node(id), symbols);
  std::erase_if(symbols, [](const std::string& name) { return !is_computed(name); });
  return symbols;
}

Graph join_stages(const std::vector<Graph>& grown, const std::vector<FittedStage>& stages,
                  std::span<const ValueId> outputs) {
  Graph joined;
  std::vector<ValueId> copies;
  const Graph& first = stages.front().graph;
  for (const FittedStage& stage : stages) {
    copies.resize(std::max(copies.size(), stage.graph.num_values()), kAbsent);
  }
  for (std::size_t i = 0; i < first.inputs().size(); ++i) {
    const Value& input = grown.front().value(grown.front().inputs()[i]);
    copies[index(first.inputs()[i])] = joined.add_input(input.name, input.type);
  }
  for (std::size_t s = 0; s < stages.size(); ++s) add_stage(joined, grown[s], stages[s], copies);
  std::vector<ValueId> ends;
  for (const ValueId id : outputs) ends.push_back(copies[index(id)]);
  joined.set_outputs(std::move(ends));
  return joined;
}

void check_definitions(const Graph& graph) {
  if (symbols_of(graph).size() != graph.definitions().size()) {
    fail(ErrorKind::kFormat, "an extent is defined twice");
  }
  for (const Definition& each : graph.definitions()) {
    const Value& value = graph.value(each.value);
    if (value.type.is_dense(ElementType::kInt64) && value.type.shape.rank() == 0) continue;
    fail(ErrorKind::kFormat, "extent " + each.symbol + ": expected a value int64[], found '" +
                                 value.name + "' " + value.type.to_string());
  }
}

void require_no_definitions(const Graph& graph, const std::string& format) {
  if (graph.definitions().empty()) return;
  fail(ErrorKind::kUnsupported,
       format + " cannot have extents that depend on data: " + describe_definition(graph));
}

std::string describe_definition(const Graph& graph) {
  // The count of what an operator found is named by that operator.
  for (const NodeId id : graph.topological_order()) {
    const Operator& op = graph.node(id).op;
    const bool finds = std::holds_alternative<NonZero>(op) ||
                       std::holds_alternative<NonMaxSuppression>(op) ||
                       std::holds_alternative<Unique>(op);
    if (finds) return describe(graph.node(id));
  }
  return "value '" + graph.value(graph.definitions()[0].value).name + "'";
}

std::string describe_definition(const FittedStage& stage) {
  Graph graph = stage.graph;
  for (const auto& [symbol, value] : stage.defined) graph.define(symbol, value);
  return describe_definition(graph);
}

}  // namespace halftone::ir
