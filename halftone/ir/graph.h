// SPDX-License-Identifier: Apache-2.0
// A network: values linked by nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/operator.h"
#include "halftone/ir/tensor.h"

namespace halftone::ir {

/// Identifiers of values and nodes. They stay valid while other values and nodes are added or
/// removed.
enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};

/// Marks an absent optional input.
inline constexpr ValueId kAbsent{0xffffffff};

/// An edge of the graph: a graph input, a constant, or the output of one node.
struct Value {
  std::string name;
  ValueType type;
  /// Set for constants. Shared, because a graph and its rewritten copies use the same weights.
  std::shared_ptr<const Constant> constant;
};

/// One step of the computation.
struct Node {
  std::string name;
  Operator op;
  std::vector<ValueId> inputs;  ///< kAbsent for an absent optional input
  ValueId output = kAbsent;

  [[nodiscard]] bool has_input(std::size_t i) const {
    return i < inputs.size() && inputs[i] != kAbsent;
  }
};

/// A graph input that holds what the last run computed, zeros at first: the memory of a network
/// between runs.
struct State {
  ValueId before = kAbsent;  ///< an input of the graph
  /// An output of the graph: the input of the next run. Absent in a part of a network that does not
  /// compute it, where the input is zeros in every run.
  ValueId after = kAbsent;
  bool operator==(const State&) const = default;
};

/// An extent that the network computes.
struct Definition {
  std::string symbol;       ///< of ir/extent.h, with kComputedMark
  ValueId value = kAbsent;  ///< int64 []
  bool operator==(const Definition&) const = default;
};

/// A mark that a change removes. Setting it is safe for any number of threads that read the graph.
class Mark {
 public:
  Mark() = default;
  Mark(const Mark& other) : is_set_(other.get()) {}
  Mark& operator=(const Mark& other) {
    is_set_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }
  [[nodiscard]] bool get() const { return is_set_.load(std::memory_order_relaxed); }
  void set() const { is_set_.store(true, std::memory_order_relaxed); }
  void clear() { is_set_.store(false, std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> is_set_{false};
};

/// A directed acyclic graph of operators with one symbolic extent, the batch. Copies are cheap:
/// constants are shared and immutable.
class Graph {
 public:
  ValueId add_input(std::string name, ValueType type);
  ValueId add_constant(std::string name, Constant constant);
  ValueId add_constant(std::string name, std::shared_ptr<const Constant> constant);
  /// Appends a node and infers the type of its output, a new value with the node's name unless
  /// `output_name` is given.
  /// @throws Error kShape "node 'NAME' (OPERATOR): ..." if the inputs do not fit
  ValueId add_node(std::string name, Operator op, std::vector<ValueId> inputs,
                   std::string output_name = "");
  void add_output(ValueId value) {
    verified_.clear();
    outputs_.push_back(value);
  }
  /// Makes a state out of an input and a computed value, which becomes an output. The graph remains
  /// a function, (inputs, states) -> (outputs, states); who runs it keeps the states.
  /// verify() requires equal types, without the batch or with the same, and each tied once.
  void tie(ValueId before, ValueId after);
  /// Makes an extent of a computed number. Values whose shapes depend on the symbol follow its
  /// value, also where no node leads from one to the other; a run plans them when it has the
  /// number: ir/stages.h.
  /// @param symbol  with kComputedMark
  void define(std::string symbol, ValueId value);
  /// A symbol that the graph does not define yet.
  [[nodiscard]] std::string fresh_symbol() const;
  [[nodiscard]] std::span<const Definition> definitions() const { return definitions_; }
  /// Forgets a definition, since the symbol has a number or nothing depends on it.
  void undefine(const std::string& symbol);
  /// Makes an input of a computed value; its node is removed.
  void make_input(ValueId id);
  /// Removes an input without readers.
  void remove_input(ValueId id);
  /// Appends a copy of another graph: its inputs, nodes, outputs and states follow those of this
  /// graph. Constants are shared. Symbols that both define get another name in the copy.
  void append(const Graph& other);
  /// Makes plain inputs and outputs of all states.
  void untie() {
    verified_.clear();
    states_.clear();
  }
  /// Makes other values the outputs. States whose output is none of them stay zero.
  void set_outputs(std::vector<ValueId> values);
  /// Puts values in the places of the outputs, also as what states become.
  /// @param values  as many as there are outputs
  void replace_outputs(std::vector<ValueId> values);

  [[nodiscard]] std::span<const ValueId> inputs() const { return inputs_; }
  [[nodiscard]] std::span<const ValueId> outputs() const { return outputs_; }
  [[nodiscard]] std::span<const State> states() const { return states_; }
  /// Whether a value is the input or the output of a state.
  [[nodiscard]] bool is_tied(ValueId id) const;
  /// Those of some inputs or outputs that no state has: what a caller gives and gets.
  [[nodiscard]] std::vector<ValueId> untied(std::span<const ValueId> ids) const;
  [[nodiscard]] const Value& value(ValueId id) const { return values_.at(index(id)); }
  /// @throws Error kInternal if no node has this id or it was removed
  [[nodiscard]] const Node& node(NodeId id) const;
  /// Whether a node exists; false after it was removed.
  [[nodiscard]] bool contains(NodeId id) const;
  /// Every id below this one is or was a value of the graph.
  [[nodiscard]] std::size_t num_values() const { return values_.size(); }
  /// The constant a value holds, or null.
  [[nodiscard]] const Constant* constant(ValueId id) const;

  /// The nodes ordered so that each follows those it depends on, also for its extents. Among nodes
  /// that are ready, the oldest comes first.
  /// @throws Error kFormat "the graph has a cycle through node 'NAME'"
  [[nodiscard]] std::vector<NodeId> topological_order() const;
  /// The node that computes a value; none for inputs and constants.
  [[nodiscard]] std::optional<NodeId> producer(ValueId id) const;
  /// The nodes that read a value, each once, oldest first.
  [[nodiscard]] std::vector<NodeId> consumers(ValueId id) const;
  /// Number of uses of a value: inputs of nodes plus outputs of the graph and definitions.
  [[nodiscard]] std::size_t num_uses(ValueId id) const;

  void rename(ValueId id, std::string name) { values_.at(index(id)).name = std::move(name); }
  /// Replaces the operator and inputs of a node. Its output type is inferred again and may change.
  /// @throws Error kShape as add_node()
  void replace_node(NodeId id, Operator op, std::vector<ValueId> inputs);
  /// Merges `second`, the only reader of `first`, into `first`: `first` gets the operator `op`,
  /// which does the work of both, and its output gets the name and readers of the output of
  /// `second`.
  /// @throws Error kShape as add_node()
  void absorb(NodeId first, NodeId second, Operator op, std::vector<ValueId> inputs);
  /// Removes a node. @throws Error kInternal if its output still has readers
  void remove_node(NodeId id);
  /// Makes every reader of `from`, outputs of the graph and definitions included, read `to`.
  void replace_uses(ValueId from, ValueId to);
  /// Changes the type of a graph input; call infer_all() afterwards.
  void set_input_type(ValueId id, ValueType type);
  /// Infers the output types of all nodes again.
  /// @throws Error kShape as add_node()
  void infer_all();
  /// Releases the data of a constant; its name and type stay. Other graphs that share it keep it.
  void release_constant(ValueId id) {
    verified_.clear();
    values_.at(index(id)).constant.reset();
  }
  /// Removes the nodes that no output of the graph depends on and the definitions of symbols
  /// without use, and releases constants that only they read; inputs of the graph stay. Returns the
  /// number of removed nodes.
  std::size_t remove_unused_nodes();

  /// Whether verify() has accepted the graph since it last changed; names do not count.
  [[nodiscard]] bool is_verified() const { return verified_.get(); }
  /// For verify() alone.
  void mark_verified() const { verified_.set(); }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] ValueType infer(const Node& node) const;
  /// @param missing  per node, the number of inputs that a topological order could not compute
  [[noreturn]] void fail_cycle(std::span<const std::size_t> missing) const;

  ValueId add_value(Value value);
  /// The values of the definitions that extents of a node use.
  [[nodiscard]] std::vector<ValueId> defining_values(const Node& node) const;
  void link(NodeId id);
  void unlink(NodeId id);

  std::vector<Value> values_;
  std::vector<std::optional<NodeId>> producers_;  ///< by value
  std::vector<std::vector<NodeId>> readers_;      ///< by value, once per read
  std::vector<std::optional<Node>> nodes_;        ///< empty where a node was removed
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<State> states_;
  std::vector<Definition> definitions_;
  Mark verified_;
};

/// "node 'dense1' (FullyConnected)", as messages name a node.
std::string describe(const Node& node);

}  // namespace halftone::ir
