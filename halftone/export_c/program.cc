// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/export_c/by_pixel.h"
#include "halftone/export_c/signed_codes.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone::export_c {
namespace {

using ir::NodeId;
using ir::ValueId;

std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id); }

/// Finds the conversions around nodes that their kernels include. It does not matter which ones the
/// runtime finds: they change no result.
class Fuser {
 public:
  Fuser(const runtime::Prepared& prepared, Core core)
      : graph_(prepared.graph), layouts_(prepared.layouts), core_(core) {}

  /// In order of execution.
  std::vector<NodeToWrite> nodes() {
    std::vector<NodeToWrite> all;
    for (const NodeId id : graph_.topological_order()) {
      const ir::Node& node = graph_.node(id);
      NodeToWrite what{graph_, node, layouts_};
      what.inputs = node.inputs;
      what.output = node.output;
      what.core = core_;
      if (!fuse_integers(what)) fuse_layer(what);
      all.push_back(std::move(what));
    }
    for (const auto& [table, readers] : tables_) {
      const bool is_seen = std::ranges::count(graph_.outputs(), table) != 0;
      if (!is_seen && graph_.consumers(table).size() == readers.size()) absorbed_.insert(table);
    }
    std::vector<NodeToWrite> written;
    for (NodeToWrite& what : all) {
      if (!absorbed_.contains(what.node.output)) written.push_back(std::move(what));
    }
    return written;
  }

 private:
  /// The node that alone reads a value which the caller does not see, if it is an Op.
  template <typename Op>
  [[nodiscard]] const ir::Node* only_reader(ValueId value) const {
    const std::vector<NodeId> readers = graph_.consumers(value);
    if (readers.size() != 1 || graph_.num_uses(value) != 1) return nullptr;
    const ir::Node& node = graph_.node(readers.front());
    return std::holds_alternative<Op>(node.op) ? &node : nullptr;
  }

  void absorb(NodeToWrite& what, const ir::Node& requantize) {
    what.requantize = &std::get<ir::Requantize>(requantize.op);
    what.output = requantize.output;
    absorbed_.insert(requantize.output);
  }

  void fuse_layer(NodeToWrite& what) {
    const bool is_layer = std::holds_alternative<ir::Conv>(what.node.op) ||
                          std::holds_alternative<ir::FullyConnected>(what.node.op);
    const ir::Node* requantize = is_layer ? only_reader<ir::Requantize>(what.node.output) : nullptr;
    if (requantize != nullptr) return absorb(what, *requantize);
    const bool has_codes = std::holds_alternative<ir::FullyConnected>(what.node.op) &&
                           graph_.value(what.node.inputs[1]).type.encoding.codes != nullptr;
    const ir::Node* encode = has_codes ? only_reader<ir::Encode>(what.node.output) : nullptr;
    if (encode == nullptr) return;
    what.encode = &std::get<ir::Encode>(encode->op);
    what.output = encode->output;
    absorbed_.insert(encode->output);
  }

  [[nodiscard]] const ir::Node* lookup_before(ValueId value) const {
    const auto producer = graph_.producer(value);
    if (!producer) return nullptr;
    const ir::Node& node = graph_.node(*producer);
    const auto* lookup = std::get_if<ir::Lookup>(&node.op);
    return lookup != nullptr && lookup->element == ir::ElementType::kInt32 ? &node : nullptr;
  }

  /// A Binary, or the sum of a Reduce, between tables of integers and a Requantize.
  bool fuse_integers(NodeToWrite& what) {
    const bool is_pair = std::holds_alternative<ir::Binary>(what.node.op);
    if (!is_pair && !std::holds_alternative<ir::Reduce>(what.node.op)) return false;
    const ir::Node* a = lookup_before(what.node.inputs[0]);
    const ir::Node* b = is_pair ? lookup_before(what.node.inputs[1]) : a;
    const ir::Node* requantize = only_reader<ir::Requantize>(what.node.output);
    if (a == nullptr || b == nullptr || requantize == nullptr) return false;
    what.a_integers = &std::get<ir::Lookup>(a->op);
    what.b_integers = &std::get<ir::Lookup>(b->op);
    what.inputs = {a->inputs[0]};
    if (is_pair) what.inputs.push_back(b->inputs[0]);
    tables_[a->output].insert(what.node.output);
    tables_[b->output].insert(what.node.output);
    absorb(what, *requantize);
    return true;
  }

  const ir::Graph& graph_;
  std::span<const runtime::CodeLayout> layouts_;
  Core core_;
  std::map<ValueId, std::set<ValueId>> tables_;  ///< outputs of Lookups that readers include
  std::set<ValueId> absorbed_;  ///< outputs of nodes without a function of their own
};

std::size_t bytes_of(const ir::Graph& graph, ValueId id, runtime::CodeLayout layout) {
  const ir::ValueType& type = graph.value(id).type;
  return type.encoding.codes == nullptr ? runtime::value_bytes(type, layout)
                                        : code_rows(graph, id, layout).size_bytes();
}

/// Where values and scratch lie. A Reshape shares the memory of its input.
class Places {
 public:
  Places(const runtime::Prepared& prepared, std::span<const NodeToWrite> nodes,
         std::span<const LayerFunction> layers, std::span<const PortValue> inputs)
      : prepared_(prepared),
        runs_(runs_of(nodes, layers)),
        roots_(prepared.graph.num_values()),
        pieces_(roots_.size()) {
    std::iota(roots_.begin(), roots_.end(), std::size_t{0});
    for (const PortValue& input : inputs) begin(input.stored, 0);
    for (const ir::State& state : prepared.graph.states()) begin(state.before, 0);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const ValueId id : nodes[n].inputs) use(id, runs_[n].last);
      if (nodes[n].is_alias()) {
        roots_[index_of(nodes[n].output)] = roots_[index_of(nodes[n].inputs[0])];
      } else if (!layers[n].is_by_pixel) {
        begin(nodes[n].output, n);
      }
    }
    for (const ValueId id : prepared.graph.outputs()) use(id, nodes.size());
    // What is remembered shares its memory with nothing.
    for (const ir::State& state : prepared.graph.states()) use(state.before, nodes.size());
    for (std::size_t n = 0; n < layers.size(); ++n) {
      pieces_.push_back({scratch_bytes(layers[n]), runs_[n].first, runs_[n].last});
    }
  }

  /// Lays a value into the caller's memory. @param pointer  member of the state with its address
  /// @return false if it shares the memory of another one that lies there, or of a state
  bool lay_outside(ValueId id, const std::string& pointer) {
    const std::size_t root = roots_[index_of(id)];
    if (is_state(root)) return false;
    pieces_[root].bytes = 0;
    return outside_.emplace(root, pointer).second;
  }

  /// Lays output i into the caller's memory; without a pointer it stays in the arena. It is copied
  /// if it shares the memory of something else that lies there, or of a state.
  void lay_output(std::size_t i, ValueId id, const std::string& pointer) {
    if (!pointer.empty()) {
      if (!lay_outside(id, pointer)) copied_outside_[i] = pointer;
    } else if (is_state(roots_[index_of(id)])) {
      copied_[i] = pieces_.size();
      pieces_.push_back({bytes_of(prepared_.graph, id, prepared_.layouts[index_of(id)]),
                         runs_.size(), runs_.size()});
    }
  }

  /// Lays out the arena. @pre all other values have been laid outside
  void lay_out(std::span<const NodeToWrite> nodes, std::span<const LayerFunction> layers) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (layers[n].may_overwrite) join(nodes[n], n);
    }
    arena_ = runtime::plan_arena(pieces_);
  }

  static std::size_t scratch_bytes(const LayerFunction& layer) {
    std::size_t bytes = 0;
    for (const Scratch& each : layer.scratch) bytes += each.bytes;
    return bytes;
  }
  [[nodiscard]] Place of(ValueId id) const {
    const std::size_t root = roots_[index_of(id)];
    const auto outside = outside_.find(root);
    if (outside != outside_.end()) return {0, outside->second};
    return {arena_.offsets[root], {}};
  }
  /// Where the caller finds output i, a value that lies elsewhere if it is copied there.
  [[nodiscard]] Place of_output(std::size_t i, ValueId id) const {
    if (copied_outside_.contains(i)) return {0, copied_outside_.at(i)};
    return copied_.contains(i) ? Place{arena_.offsets[copied_.at(i)], {}} : of(id);
  }
  [[nodiscard]] std::size_t of_scratch(std::size_t n) const {
    return arena_.offsets[roots_.size() + n];
  }
  [[nodiscard]] std::size_t arena_bytes() const { return arena_.size_bytes; }
  /// When node n runs, for the first time.
  [[nodiscard]] std::size_t live_bytes(std::size_t n) const {
    const std::size_t now = runs_[n].first;
    std::size_t bytes = 0;
    for (const runtime::Lifetime& piece : pieces_) {
      if (piece.first <= now && now <= piece.last) bytes += piece.bytes;
    }
    return bytes;
  }

 private:
  void begin(ValueId id, std::size_t n) {
    pieces_[index_of(id)] = {bytes_of(prepared_.graph, id, prepared_.layouts[index_of(id)]), n, n};
  }
  void use(ValueId id, std::size_t n) {
    if (id == ir::kAbsent || prepared_.graph.constant(id) != nullptr) return;
    runtime::Lifetime& piece = pieces_[roots_[index_of(id)]];
    piece.last = std::max(piece.last, n);
  }

  [[nodiscard]] bool is_state(std::size_t root) const {
    return std::ranges::any_of(prepared_.graph.states(), [&](const ir::State& state) {
      return roots_[index_of(state.before)] == root;
    });
  }

  /// Lets an output lie where the input does, if nothing reads that later.
  void join(const NodeToWrite& what, std::size_t n) {
    const std::size_t from = roots_[index_of(what.inputs[0])];
    const std::size_t to = roots_[index_of(what.output)];
    if (outside_.contains(from) || outside_.contains(to)) return;
    if (pieces_[from].last != n || pieces_[from].bytes < pieces_[to].bytes) return;
    pieces_[from].last = pieces_[to].last;
    pieces_[to] = {};
    std::ranges::replace(roots_, to, from);
  }

  const runtime::Prepared& prepared_;
  std::vector<Run> runs_;
  std::vector<std::size_t> roots_;
  std::vector<runtime::Lifetime> pieces_;
  std::map<std::size_t, std::string> outside_;         ///< pointers to roots in the caller's memory
  std::map<std::size_t, std::string> copied_outside_;  ///< pointers that outputs are copied to
  std::map<std::size_t, std::size_t> copied_;          ///< pieces that outputs are copied to
  runtime::ArenaLayout arena_;
};

void check_graph(const ir::Graph& graph) {
  for (const ValueId id : graph.outputs()) {
    const ir::Value& value = graph.value(id);
    if (value.type.encoding.is_dense() && graph.constant(id) == nullptr) continue;
    fail(ErrorKind::kUnsupported,
         "output '" + value.name + "': C programs have no outputs " +
             (value.type.encoding.is_dense() ? "that are constant" : "of codes of few bits"));
  }
}

std::string types_text(const NodeToWrite& what) {
  std::string text;
  for (const ValueId id : what.inputs) {
    if (id == ir::kAbsent || what.graph.constant(id) != nullptr) continue;
    text += (text.empty() ? "" : ", ") + what.graph.value(id).type.to_string();
  }
  return text + " -> " + what.graph.value(what.output).type.to_string();
}

CType type_in(const runtime::Prepared& prepared, ValueId id) {
  return c_type(prepared.graph, id, prepared.layouts[index_of(id)]);
}

/// States before those whose old values they become; nothing if they exchange values.
std::optional<std::vector<ir::State>> in_order(std::vector<ir::State> states,
                                               const Places& places) {
  std::vector<ir::State> ordered;
  const auto is_read = [&](const ir::State& one) {
    return std::ranges::any_of(states, [&](const ir::State& other) {
      const bool is_other = other.before != one.before && other.after != ir::kAbsent;
      return is_other && places.of(other.after) == places.of(one.before);
    });
  };
  while (!states.empty()) {
    const auto next = std::ranges::find_if_not(states, is_read);
    if (next == states.end()) return std::nullopt;
    ordered.push_back(*next);
    states.erase(next);
  }
  return ordered;
}

std::vector<ArenaState> states_of(const runtime::Prepared& prepared, const Places& places) {
  const auto all = prepared.graph.states();
  const auto ordered = in_order({all.begin(), all.end()}, places);
  if (!ordered) {
    fail(ErrorKind::kUnsupported, "state '" + prepared.graph.value(all.front().before).name +
                                      "': C programs have no states that exchange their values");
  }
  std::vector<ArenaState> states;
  for (const ir::State& each : *ordered) {
    const ir::Value& value = prepared.graph.value(each.before);
    const Place place = places.of(each.before);
    states.push_back({value.name, type_in(prepared, each.before), value.type.shape.element_count(),
                      place, each.after == ir::kAbsent ? place : places.of(each.after)});
  }
  return states;
}

PlacedLayer placed(const runtime::Prepared& prepared, const NodeToWrite& what, LayerFunction layer,
                   const Places& places, std::size_t n) {
  PlacedLayer result;
  for (const Operand& each : layer.inputs) {
    result.inputs.push_back(places.of(each.value));
    result.input_types.push_back(type_in(prepared, each.value));
  }
  if (!layer.is_by_pixel) {
    result.output = places.of(what.output);
    result.output_type = type_in(prepared, what.output);
  }
  result.scratch = places.of_scratch(n);
  result.ram_bytes = places.live_bytes(n);
  result.types = types_text(what);
  result.layer = std::move(layer);
  return result;
}

}  // namespace

bool has_member(const Program& program, std::string_view member) {
  const auto is_it = [&](const CType& c) { return c.member == member; };
  for (const auto* ports : {&program.inputs, &program.outputs}) {
    if (std::ranges::any_of(*ports, is_it, &ArenaPort::c)) return true;
  }
  if (std::ranges::any_of(program.states, is_it, &ArenaState::c)) return true;
  return std::ranges::any_of(program.layers, [&](const PlacedLayer& each) {
    const auto is_scratch = [&](const Scratch& scratch) {
      return is_it(scratch_type(scratch.type));
    };
    return is_it(each.output_type) || std::ranges::any_of(each.input_types, is_it) ||
           std::ranges::any_of(each.layer.scratch, is_scratch);
  });
}

bool takes_pointers(const Program& program) {
  const auto is_outside = [](const ArenaPort& port) { return !port.pointer.empty(); };
  return std::ranges::any_of(program.inputs, is_outside) ||
         std::ranges::any_of(program.outputs, is_outside);
}

namespace {

ArenaPort placed_port(const runtime::Prepared& prepared, const PortValue& value,
                      const Place& place) {
  ArenaPort port = port_of(prepared.graph, value, prepared.layouts[index_of(value.stored)]);
  port.offset = place.offset;
  port.pointer = place.pointer;
  return port;
}

/// The inputs and outputs, where they lie, and what is copied there.
void add_ports(Program& program, const runtime::Prepared& prepared,
               std::span<const PortValue> inputs, std::span<const PortValue> outputs,
               const Places& places) {
  for (const PortValue& value : inputs) {
    program.inputs.push_back(placed_port(prepared, value, places.of(value.stored)));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Place from = places.of(outputs[i].stored);
    const Place to = places.of_output(i, outputs[i].stored);
    const ArenaPort& port = program.outputs.emplace_back(placed_port(prepared, outputs[i], to));
    if (from == to) continue;
    program.copies.push_back({port.name, port.c, port.type.shape.element_count(), from, to});
  }
}

/// Lays inputs and outputs, into the caller's memory if a run takes pointers.
void lay_ports(Places& places, std::span<const PortValue> inputs,
               std::span<const PortValue> outputs, bool pointers) {
  for (std::size_t i = 0; i < inputs.size() && pointers; ++i) {
    places.lay_outside(inputs[i].stored, "input_" + std::to_string(i));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    places.lay_output(i, outputs[i].stored, pointers ? "output_" + std::to_string(i) : "");
  }
}

}  // namespace

namespace {

/// How often each node is computed: by pixel as often as its readers, each time for one of them.
std::vector<std::size_t> counts_of_runs(std::span<const NodeToWrite> nodes,
                                        std::span<const LayerFunction> layers) {
  std::vector<std::size_t> counts(nodes.size(), 1);
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (!layers[n].is_by_pixel) continue;
    counts[n] = 0;
    for (std::size_t r = n + 1; r < nodes.size(); ++r) {
      if (std::ranges::count(nodes[r].inputs, nodes[n].output) != 0) counts[n] += counts[r];
    }
  }
  return counts;
}

}  // namespace

Program make_program(const ir::Graph& graph, const v0::ExportCOptions& options) {
  runtime::PlanSettings settings;
  settings.execution.float_order = runtime::FloatOrder::kFixed;
  const runtime::Prepared prepared = runtime::prepare(with_signed_codes(graph), settings);
  check_graph(prepared.graph);
  std::vector<NodeToWrite> nodes = Fuser(prepared, core_named(options.core)).nodes();
  const std::vector<PortValue> inputs = input_values(prepared.graph, options.input_codes, nodes);
  const std::vector<PortValue> outputs = output_values(prepared.graph);
  const std::map<ValueId, std::size_t> by_pixel = functions_by_pixel(nodes);
  for (NodeToWrite& what : nodes) what.by_pixel = &by_pixel;
  std::vector<LayerFunction> layers;
  std::size_t count = 0;
  for (const NodeToWrite& what : nodes) {
    if (what.is_alias()) {
      layers.emplace_back();
    } else {
      layers.push_back(write_layer(what, options.name, count++));
    }
  }
  Places places(prepared, nodes, layers, inputs);
  lay_ports(places, inputs, outputs, options.pointers);
  places.lay_out(nodes, layers);
  Program program;
  const std::vector<std::size_t> runs = counts_of_runs(nodes, layers);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].is_alias()) continue;
    program.layers.push_back(placed(prepared, nodes[n], std::move(layers[n]), places, n));
    program.layers.back().runs = runs[n];
  }
  add_ports(program, prepared, inputs, outputs, places);
  program.states = states_of(prepared, places);
  const std::size_t word = has_member(program, "f64") || has_member(program, "i64") ? 8 : 4;
  program.arena_bytes =
      std::max<std::size_t>((places.arena_bytes() + word - 1) / word * word, word);
  return program;
}

}  // namespace halftone::export_c
