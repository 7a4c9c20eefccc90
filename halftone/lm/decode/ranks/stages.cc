// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/ranks/stages.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace halftone::lm {
namespace {

using Form = std::optional<Division>;  ///< of a value: a part, or nothing: all of it

/// The stage that computes each value: behind as many exchanges as its inputs need.
class Levels {
 public:
  Levels(const ir::Graph& graph, const ValueDivisions& divisions)
      : divisions_(divisions), levels_(graph.num_values()) {
    for (const ir::NodeId id : graph.topological_order()) {
      const ir::Node& node = graph.node(id);
      std::size_t& level = levels_[static_cast<std::size_t>(node.output)];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == ir::kAbsent) continue;
        level = std::max(level, arrival(node.inputs[i], divisions.of(id).inputs[i]));
      }
    }
  }
  [[nodiscard]] std::size_t of(ir::ValueId id) const {
    return levels_[static_cast<std::size_t>(id)];
  }
  /// The first stage that can read a value in a form.
  [[nodiscard]] std::size_t arrival(ir::ValueId id, const Form& form) const {
    const Form& own = divisions_.of(id);
    return of(id) + (own && own != form ? 1 : 0);
  }
  [[nodiscard]] std::size_t count() const {
    return levels_.empty() ? 1 : std::ranges::max(levels_) + 1;
  }

 private:
  const ValueDivisions& divisions_;
  std::vector<std::size_t> levels_;  ///< by value
};

class StageBuilder {
 public:
  StageBuilder(const ir::Graph& whole, const DivideOptions& options, std::size_t rank)
      : whole_(whole),
        rank_(rank),
        divisions_(whole, options),
        levels_(whole, divisions_),
        stages_(levels_.count()),
        states_(stages_.size()) {
    for (const ir::State& state : whole.states()) {
      after_[state.before] = state.after;
      before_[state.after] = state.before;
    }
  }

  std::vector<RankStage> build() {
    for (const ir::NodeId id : whole_.topological_order()) {
      const ir::Node& node = whole_.node(id);
      if (!is_cache(node) || whole_.consumers(node.output).empty()) {
        add_node(levels_.of(node.output), id);
      }
    }
    for (const ir::ValueId output : whole_.untied(whole_.outputs())) {
      store({output, false});
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const ir::State& state : states_[s]) stages_[s].graph.tie(state.before, state.after);
    }
    return std::move(stages_);
  }

 private:
  /// A value in a stage; the division tells the parts of constants and of whole values apart.
  using Key = std::tuple<std::size_t, ir::ValueId, bool, std::size_t, std::size_t>;
  Key key_of(std::size_t stage, ir::ValueId id, const Form& form) const {
    if (!form) return {stage, id, false, 0, 0};
    return {stage, id, true, form->axis, form->ranges[rank_].begin};
  }

  static bool is_cache(const ir::Node& node) {
    return std::holds_alternative<ir::AppendRows>(node.op);
  }

  /// A value in a form, as a stage reads it.
  ir::ValueId get(std::size_t stage, ir::ValueId id, const Form& form) {
    if (id == ir::kAbsent) return id;
    const Key key = key_of(stage, id, form);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = make(stage, id, form);
  }

  ir::ValueId make(std::size_t stage, ir::ValueId id, const Form& form) {
    ir::Graph& graph = stages_[stage].graph;
    const ir::Value& value = whole_.value(id);
    if (value.constant != nullptr) return graph.add_constant(value.name, constant(id, form));
    if (after_.contains(id)) return graph.add_input(value.name, type_of(id, form));
    const Form& own = divisions_.of(id);
    if (form && own != form) {
      const auto [begin, count] = form->ranges[rank_];
      return graph.add_node(
          value.name + "/part",
          ir::Slice{.axis = form->axis_of(value.type.shape), .begin = begin, .count = count},
          {get(stage, id, std::nullopt)});
    }
    const auto producer = whole_.producer(id);
    if (producer && is_cache(whole_.node(*producer))) return add_node(stage, *producer);
    const StoredValue stored{id, form.has_value()};
    if (producer) store(stored);
    stages_[stage].inputs.push_back(stored);
    return graph.add_input(value.name, type_of(id, form));
  }

  [[nodiscard]] ir::ValueType type_of(ir::ValueId id, const Form& form) const {
    ir::ValueType type = whole_.value(id).type;
    if (form) type.shape = part_of(std::move(type.shape), *form, rank_);
    return type;
  }

  std::shared_ptr<const ir::Constant> constant(ir::ValueId id, const Form& form) {
    const std::shared_ptr<const ir::Constant>& all = whole_.value(id).constant;
    if (!form) return all;
    std::shared_ptr<const ir::Constant>& part = constants_[key_of(0, id, form)];
    if (part == nullptr) part = std::make_shared<const ir::Constant>(part_of(all, *form, rank_));
    return part;
  }

  ir::ValueId add_node(std::size_t stage, ir::NodeId id) {
    const ir::Node& node = whole_.node(id);
    const NodeDivision& division = divisions_.of(id);
    std::vector<ir::ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(get(stage, node.inputs[i], division.inputs[i]));
    }
    const ir::ValueId y = stages_[stage].graph.add_node(
        node.name, part_of(whole_, node, division, rank_), std::move(inputs));
    known_[key_of(stage, node.output, division.output)] = y;
    const auto state = before_.find(node.output);
    if (state != before_.end()) {
      states_[stage].push_back({get(stage, state->second, division.output), y});
    }
    return y;
  }

  /// Makes a value an output of its stage.
  void store(const StoredValue& stored) {
    const std::size_t stage = levels_.of(stored.value);
    std::vector<StageOutput>& outputs = stages_[stage].outputs;
    const auto is_same = [&](const StageOutput& each) { return each.stored == stored; };
    if (std::ranges::any_of(outputs, is_same)) return;
    const Form& own = divisions_.of(stored.value);
    outputs.push_back({stored, stored.is_part ? std::nullopt : own});
    stages_[stage].graph.add_output(get(stage, stored.value, own));
  }

  const ir::Graph& whole_;
  std::size_t rank_;
  ValueDivisions divisions_;
  Levels levels_;
  std::vector<RankStage> stages_;
  std::vector<std::vector<ir::State>> states_;  ///< by stage, of its graph
  std::map<ir::ValueId, ir::ValueId> after_;    ///< by the input of a state
  std::map<ir::ValueId, ir::ValueId> before_;   ///< by its output
  std::map<Key, ir::ValueId> known_;
  std::map<Key, std::shared_ptr<const ir::Constant>> constants_;  // shared by stages
};

}  // namespace

std::vector<RankStage> stages_of(const ir::Graph& graph, const DivideOptions& options,
                                 std::size_t rank) {
  return StageBuilder(graph, options, rank).build();
}

std::vector<std::vector<StageOutput>> exchanges_of(const ir::Graph& graph,
                                                   const DivideOptions& options) {
  const ValueDivisions divisions(graph, options);
  const Levels levels(graph, divisions);
  std::vector<std::vector<StageOutput>> found(levels.count());
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::ValueId y = graph.node(id).output;
    const Form& own = divisions.of(y);
    if (!own) continue;
    bool is_gathered = std::ranges::count(graph.untied(graph.outputs()), y) > 0;
    for (const ir::NodeId reader : graph.consumers(y)) {
      const ir::Node& node = graph.node(reader);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        is_gathered |= node.inputs[i] == y && divisions.of(reader).inputs[i] != own;
      }
    }
    if (is_gathered) found[levels.of(y)].push_back({{y, false}, own});
  }
  return found;
}

}  // namespace halftone::lm
