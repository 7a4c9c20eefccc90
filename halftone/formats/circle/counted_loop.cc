// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/counted_loop.h"

#include <algorithm>

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::ValueId;

/// The node that computes a value if it is a function of two, else null.
const ir::Node* binary_node(const ir::Graph& graph, ValueId id, BinaryKind kind) {
  const auto producer = graph.producer(id);
  if (!producer) return nullptr;
  const ir::Node& node = graph.node(*producer);
  const auto* binary = std::get_if<ir::Binary>(&node.op);
  return binary != nullptr && binary->kind == kind ? &node : nullptr;
}

std::optional<std::int64_t> integer_of(const ir::Graph& graph, ValueId id) {
  const ir::Constant* constant = graph.constant(id);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  const bool is_one = tensor != nullptr && tensor->size() == 1 &&
                      (tensor->element() == ir::ElementType::kInt32 ||
                       tensor->element() == ir::ElementType::kInt64);
  if (!is_one) return std::nullopt;
  return tensor->cast(ir::ElementType::kInt64).as<std::int64_t>()[0];
}

class EndFinder {
 public:
  explicit EndFinder(const LoopParts& parts) : parts_(parts) {}

  std::optional<LoopEnd> run() {
    if (!add_term(parts_.condition.outputs()[0])) return std::nullopt;
    if (end_.counters.empty() || (end_.trips && end_.limit)) return std::nullopt;
    return end_;
  }

 private:
  /// The variable that a value of the condition is.
  [[nodiscard]] std::optional<std::size_t> variable(ValueId id) const {
    // A flag may have another shape.
    const auto producer = parts_.condition.producer(id);
    if (producer && std::holds_alternative<ir::Reshape>(parts_.condition.node(*producer).op)) {
      return variable(parts_.condition.node(*producer).inputs[0]);
    }
    const auto inputs = parts_.condition.inputs();
    const auto at = std::ranges::find(inputs, id) - inputs.begin();
    if (at == std::ssize(inputs)) return std::nullopt;
    return parts_.variables[static_cast<std::size_t>(at)];
  }

  [[nodiscard]] bool is_state(std::size_t variable) const {
    return std::ranges::count(parts_.states, variable) > 0;
  }

  [[nodiscard]] bool counts(std::size_t variable) const {
    const ir::Graph& graph = parts_.iteration;
    const auto at = static_cast<std::size_t>(std::ranges::find(parts_.variables, variable) -
                                             parts_.variables.begin());
    const ir::Node* sum = binary_node(graph, graph.outputs()[variable], BinaryKind::kAdd);
    if (sum == nullptr || !is_state(variable) || !parts_.begins_at_zero[variable]) return false;
    const ValueId before = graph.inputs()[at];
    return (sum->inputs[0] == before && integer_of(graph, sum->inputs[1]) == 1) ||
           (sum->inputs[1] == before && integer_of(graph, sum->inputs[0]) == 1);
  }

  bool add_term(ValueId id) {
    const ir::Graph& graph = parts_.condition;
    if (const ir::Node* both = binary_node(graph, id, BinaryKind::kAnd)) {
      return add_term(both->inputs[0]) && add_term(both->inputs[1]);
    }
    if (const auto flag = variable(id)) {
      const bool is_first = !end_.flag;
      end_.flag = flag;
      return is_first;
    }
    const ir::Node* less = binary_node(graph, id, BinaryKind::kLess);
    const auto counter = less == nullptr ? std::nullopt : variable(less->inputs[0]);
    if (!counter || !counts(*counter)) return false;
    end_.counters.push_back(*counter);
    if (const auto number = integer_of(graph, less->inputs[1])) {
      end_.trips = std::max<std::int64_t>(0, std::min(*number, end_.trips.value_or(*number)));
      return true;
    }
    const auto limit = variable(less->inputs[1]);
    if (!limit || is_state(*limit) || end_.limit) return false;
    end_.limit = limit;
    return true;
  }

  const LoopParts& parts_;
  LoopEnd end_;
};

}  // namespace

std::optional<LoopEnd> known_end(const LoopParts& parts) { return EndFinder(parts).run(); }

}  // namespace halftone::formats::circle
