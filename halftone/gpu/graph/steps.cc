// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "halftone/gpu/attention.h"
#include "halftone/gpu/graph/node_launches.h"
#include "halftone/gpu/graph/uses.h"
#include "halftone/gpu/tails.h"
#include "halftone/runtime/sequence/sequence.h"

namespace halftone::gpu {
namespace {

std::size_t elements(const ir::Graph& graph, ir::ValueId value) {
  return graph.value(value).type.shape.with_batch(1).element_count();
}

/// Whether the extents of `small` are the last ones of `large`, so that its elements repeat.
bool repeats_in(const ir::Shape& small, const ir::Shape& large) {
  std::size_t first = 0;
  while (first < small.rank() && small[first] == 1) ++first;
  if (small.rank() - first > large.rank()) return false;
  for (std::size_t i = first; i < small.rank(); ++i) {
    if (small[i] != large[large.rank() - (small.rank() - i)]) return false;
  }
  return true;
}

class Planner {
 public:
  explicit Planner(const ir::Graph& graph) : graph_(graph), uses_(graph) {}

  std::vector<LaunchStep> steps() {
    for (const ir::NodeId id : uses_.order()) {
      if (std::holds_alternative<ir::Attention>(graph_.node(id).op)) find_heads(id);
    }
    for (const ir::NodeId id : uses_.order()) {
      if (!is_taken(id) && std::holds_alternative<ir::Binary>(graph_.node(id).op)) find_gate(id);
    }
    for (const ir::NodeId id : uses_.order()) {
      if (!is_taken(id)) add_rows(id);
    }
    std::vector<LaunchStep> steps;
    for (auto& [position, step] : steps_) steps.push_back(std::move(step));
    return steps;
  }

 private:
  [[nodiscard]] bool is_taken(ir::NodeId id) const { return taken_.contains(id); }
  [[nodiscard]] bool is_free(const std::vector<ir::NodeId>& nodes) const {
    return std::ranges::none_of(nodes, [&](ir::NodeId id) { return is_taken(id); });
  }
  [[nodiscard]] const ir::BlockTensor* blocks(const ir::Node& node, std::size_t input) const {
    const ir::Constant* constant = graph_.constant(node.inputs[input]);
    return constant == nullptr ? nullptr : std::get_if<ir::BlockTensor>(constant);
  }
  /// A node that is a product with groups.
  [[nodiscard]] const ir::FullyConnected* product(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    const auto* op = std::get_if<ir::FullyConnected>(&node.op);
    return op != nullptr && blocks(node, 1) != nullptr ? op : nullptr;
  }
  [[nodiscard]] bool has_bias(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent;
  }

  void take(LaunchStep step, std::size_t position) {
    taken_.insert(step.nodes.begin(), step.nodes.end());
    steps_.emplace(position, std::move(step));
  }
  /// Takes a step that runs where the last of its nodes does, if it may. @return whether it may
  bool take_at_last(LaunchStep step) {
    std::size_t last = 0;
    for (const ir::NodeId id : step.nodes) last = std::max(last, uses_.position(id));
    if (!is_free(step.nodes) || !uses_.can_run_at(step.nodes, last)) return false;
    take(std::move(step), last);
    return true;
  }

  // Norms and products with what follows them.

  void add_rows(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    LaunchStep step{{id}, node.output};
    const ir::FullyConnected* op = product(id);
    if (op == nullptr && !std::holds_alternative<ir::Normalize>(node.op)) {
      return take(std::move(step), uses_.position(id));
    }
    RowsStep rows;
    const Function f = op == nullptr ? Function::kNone : *function_of(op->activation);
    if (op != nullptr && has_bias(id)) {
      rows.tails.push_back({Operation::kAdd, node.inputs[2], f});
    } else if (f != Function::kNone) {
      rows.tails.push_back({Operation::kAdd, ir::kAbsent, f});
    }
    while (rows.tails.size() < kMaxTails && follow(step, rows)) {
    }
    step.what = std::move(rows);
    const std::size_t position = uses_.position(step.nodes.back());
    take(std::move(step), position);
  }
  /// Adds the node behind a step to it. @return whether it could
  bool follow(LaunchStep& step, RowsStep& rows) const {
    const auto next = uses_.only_reader(step.output);
    if (!next || is_taken(*next)) return false;
    const ir::Node& node = graph_.node(*next);
    const auto* op = std::get_if<ir::Binary>(&node.op);
    if (op == nullptr || (op->kind != ir::BinaryKind::kAdd && op->kind != ir::BinaryKind::kMul)) {
      return false;
    }
    const bool is_first = uses_.root(node.inputs[0]) == uses_.root(step.output);
    const ir::ValueId operand = node.inputs[is_first ? 1 : 0];
    if (uses_.root(operand) == uses_.root(step.output)) return false;  // its square
    const bool keeps_extents = elements(graph_, node.output) == elements(graph_, step.output);
    if (!keeps_extents ||
        !repeats_in(graph_.value(operand).type.shape, graph_.value(node.output).type.shape)) {
      return false;
    }
    const Function f = *function_of(op->activation);
    // The kernels of norms have no functions, others one of the first tail.
    const bool is_norm = std::holds_alternative<ir::Normalize>(graph_.node(step.nodes[0]).op);
    if (f != Function::kNone && (is_norm || !rows.tails.empty())) return false;
    rows.tails.push_back({*operation_of(op->kind), operand, f});
    step.nodes.push_back(*next);
    step.output = node.output;
    return true;
  }

  // Gates.

  /// The product of one side of a gate, and the column where it begins.
  struct Side {
    ir::NodeId product{};
    std::size_t begin = 0;
    Function f = Function::kNone;
    std::vector<ir::NodeId> nodes{};
  };
  [[nodiscard]] std::optional<Side> side_of(ir::ValueId value) const {
    Side side;
    if (const auto* op = uses_.made_by<ir::Unary>(value); op != nullptr) {
      side.f = *function_of(op->activation);
      side.nodes.push_back(*uses_.producer(value));
      if (!uses_.only_reader(value)) return std::nullopt;
      value = graph_.node(side.nodes.back()).inputs[0];
    }
    if (const auto* op = uses_.made_by<ir::Slice>(value); op != nullptr) {
      side.begin = op->begin;
      side.nodes.push_back(*uses_.producer(value));
      if (!uses_.only_reader(value)) return std::nullopt;
      value = graph_.node(side.nodes.back()).inputs[0];
    }
    const auto node = uses_.producer(value);
    const ir::FullyConnected* op = node ? product(*node) : nullptr;
    if (op == nullptr || has_bias(*node)) return std::nullopt;
    const Function own = *function_of(op->activation);
    if (own != Function::kNone && !side.nodes.empty()) return std::nullopt;
    if (own != Function::kNone) side.f = own;
    side.product = *node;
    side.nodes.push_back(*node);
    return side;
  }

  void find_gate(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    const auto& op = std::get<ir::Binary>(node.op);
    if (op.kind != ir::BinaryKind::kMul || op.activation != ir::Activation{}) return;
    for (const std::size_t gate : {0U, 1U}) {
      const auto a = side_of(node.inputs[gate]);
      const auto b = side_of(node.inputs[1 - gate]);
      if (a && b && b->f == Function::kNone && take_gate(id, *a, *b)) return;
    }
  }

  bool take_gate(ir::NodeId id, const Side& gate, const Side& up) {
    const ir::ValueId output = graph_.node(id).output;
    GatedStep gated{{gate.product},
                    static_cast<std::size_t>(graph_.value(output).type.shape.back()),
                    up.begin,
                    gate.f};
    const ir::Node& first = graph_.node(gate.product);
    const ir::Node& second = graph_.node(up.product);
    const auto all = elements(graph_, first.output);
    LaunchStep step{gate.nodes, output};
    if (gate.product == up.product) {
      // Both readers of the product are the slices of the gate.
      if (gate.begin != 0 || uses_.readers(first.output).size() != 2) return false;
      if (all != 2 * elements(graph_, output)) return false;
      step.nodes.insert(step.nodes.end(), up.nodes.begin(), up.nodes.end() - 1);
    } else {
      if (!uses_.only_reader(first.output) || !uses_.only_reader(second.output)) return false;
      if (!have_one_input({gate.product, up.product}) || all != elements(graph_, output) ||
          all != elements(graph_, second.output)) {
        return false;
      }
      gated.products.push_back(up.product);
      step.nodes.insert(step.nodes.end(), up.nodes.begin(), up.nodes.end());
    }
    step.nodes.push_back(id);
    step.what = std::move(gated);
    return take_at_last(std::move(step));
  }

  /// Whether products have the same input, and weights with one encoding.
  [[nodiscard]] bool have_one_input(const std::vector<ir::NodeId>& products) const {
    const ir::Node& first = graph_.node(products[0]);
    return std::ranges::all_of(products, [&](ir::NodeId id) {
      const ir::Node& node = graph_.node(id);
      return uses_.root(node.inputs[0]) == uses_.root(first.inputs[0]) &&
             blocks(node, 1)->encoding == blocks(first, 1)->encoding;
    });
  }

  // Heads.

  /// Follows heads back through Rotary, a norm and slices, which join `nodes`.
  std::optional<HeadSource> source_of(ir::ValueId value, std::size_t size,
                                      std::vector<ir::NodeId>& nodes) const {
    HeadSource source;
    const auto step_back = [&](std::size_t input) {
      nodes.push_back(*uses_.producer(value));
      const bool is_alone = uses_.only_reader(value).has_value();
      value = graph_.node(nodes.back()).inputs[input];
      return is_alone;
    };
    if (uses_.made_by<ir::Rotary>(value) != nullptr) {
      source.rotary = uses_.producer(value);
      if (!step_back(0)) return std::nullopt;
    }
    if (const auto* op = uses_.made_by<ir::Binary>(value);
        op != nullptr && is_gain(*op, value, size)) {
      source.gain = graph_.node(*uses_.producer(value)).inputs[1];
      if (!step_back(0)) return std::nullopt;
      source.epsilon = uses_.made_by<ir::Normalize>(value)->epsilon;
      if (!step_back(0)) return std::nullopt;
    }
    while (const auto* op = uses_.made_by<ir::Slice>(value)) {
      const bool is_last = op->axis + 1 == graph_.value(value).type.shape.rank() && op->step == 1;
      if (!is_last || op->axis != 1) break;
      source.begin += op->begin;
      if (!step_back(0)) return std::nullopt;
    }
    source.base = uses_.root(value);
    return source;
  }
  /// Whether a value is the norm of heads of a size times a gain.
  [[nodiscard]] bool is_gain(const ir::Binary& op, ir::ValueId value, std::size_t size) const {
    const ir::Node& node = graph_.node(*uses_.producer(value));
    const auto* norm = uses_.made_by<ir::Normalize>(node.inputs[0]);
    const ir::Constant* gain = graph_.constant(node.inputs[1]);
    if (op.kind != ir::BinaryKind::kMul || op.activation != ir::Activation{} || norm == nullptr ||
        norm->subtract_mean || gain == nullptr) {
      return false;
    }
    const ir::Shape& shape = graph_.value(node.inputs[0]).type.shape;
    return elements(graph_, node.inputs[1]) == size &&
           static_cast<std::size_t>(shape.back()) == size;
  }

  void find_heads(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    const auto caches = runtime::caches_of(graph_, node);
    if (!caches || caches->keys.size > kMaxPlacedHead || caches->values.size > kMaxPlacedHead ||
        caches->keys.type != caches->values.type || kernels::is_rotated(caches->keys.type)) {
      return;
    }
    const ir::NodeId keys = *uses_.producer(node.inputs[1]);
    const ir::NodeId values = *uses_.producer(node.inputs[2]);
    // All of one run write to the same rows of the caches.
    for (const ir::NodeId append : {keys, values}) {
      const std::vector<ir::ValueId>& inputs = graph_.node(append).inputs;
      if (inputs[2] != node.inputs[ir::Attention::kSlots] ||
          inputs[3] != node.inputs[ir::Attention::kPositions]) {
        return;
      }
    }
    LaunchStep step{{keys, values}};
    const auto q = source_of(node.inputs[0], caches->keys.size, step.nodes);
    const auto k = source_of(graph_.node(keys).inputs[1], caches->keys.size, step.nodes);
    const auto v = source_of(graph_.node(values).inputs[1], caches->values.size, step.nodes);
    if (!q || !k || !v || !fit(*q, *k, *v)) return;
    step.what = HeadsStep{id, *q, *k, *v};
    std::vector<ir::NodeId> nodes = step.nodes;
    if (!take_at_last(std::move(step))) return;
    nodes.push_back(id);  // it reads the queries that are placed
    join({q->base, k->base, v->base}, nodes);
  }
  /// Whether queries and keys are turned by the same angles, and the rest is computed rows.
  [[nodiscard]] bool fit(const HeadSource& q, const HeadSource& k, const HeadSource& v) const {
    if (v.rotary || v.gain != ir::kAbsent || q.rotary.has_value() != k.rotary.has_value()) {
      return false;
    }
    for (const HeadSource* each : {&q, &k, &v}) {
      if (!uses_.producer(each->base)) return false;
    }
    if (!q.rotary) return true;
    const ir::Node& a = graph_.node(*q.rotary);
    const ir::Node& b = graph_.node(*k.rotary);
    const auto& turn_a = std::get<ir::Rotary>(a.op);
    const auto& turn_b = std::get<ir::Rotary>(b.op);
    return turn_a.dims == turn_b.dims && turn_a.pairing == turn_b.pairing &&
           std::ranges::equal(std::span(a.inputs).subspan(1), std::span(b.inputs).subspan(1));
  }
  /// Joins the products that only these nodes read.
  void join(const std::vector<ir::ValueId>& bases, const std::vector<ir::NodeId>& readers) {
    std::vector<ir::NodeId> products;
    for (const ir::ValueId base : bases) {
      const ir::NodeId id = *uses_.producer(base);
      if (std::ranges::find(products, id) != products.end()) continue;
      const ir::FullyConnected* op = product(id);
      if (op == nullptr || op->activation != ir::Activation{}) return;
      for (const ir::NodeId reader : uses_.readers(base)) {
        if (std::ranges::find(readers, reader) == readers.end()) return;
      }
      products.push_back(id);
    }
    const bool biased = has_bias(products[0]);
    const auto differs = [&](ir::NodeId id) { return has_bias(id) != biased; };
    if (products.size() < 2 || !have_one_input(products) ||
        std::ranges::any_of(products, differs) || !is_free(products)) {
      return;
    }
    std::size_t first = uses_.order().size();
    for (const ir::NodeId id : products) first = std::min(first, uses_.position(id));
    if (uses_.can_run_at(products, first)) take({products, ir::kAbsent, JoinedStep{}}, first);
  }

  const ir::Graph& graph_;
  Uses uses_;
  std::set<ir::NodeId> taken_;
  std::map<std::size_t, LaunchStep> steps_;  ///< by position
};

}  // namespace

std::vector<LaunchStep> steps_of(const ir::Graph& graph) { return Planner(graph).steps(); }

}  // namespace halftone::gpu
