// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/code_plan.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::ValueId;
using numerics::ValueRange;

/// The largest magnitude of a value, and its name.
struct Part {
  std::string name;
  double magnitude = 0;
};

/// The smallest and the largest part of a value that are not all zeros.
struct Extremes {
  Part smallest;
  Part largest;

  [[nodiscard]] double ratio() const { return largest.magnitude / smallest.magnitude; }
  void add(const Extremes& other) {
    if (other.smallest.magnitude < smallest.magnitude) smallest = other.smallest;
    if (other.largest.magnitude > largest.magnitude) largest = other.largest;
  }
};

class Finder {
 public:
  Finder(const ir::Graph& graph, const std::map<ValueId, ValueRange>& ranges)
      : graph_(graph), ranges_(ranges) {}

  ApartRanges find(const WantsCodes& wanted) {
    ApartRanges found;
    const CodePlan plan(graph_, wanted);
    for (const ir::NodeId id : graph_.topological_order()) {
      const ir::Node& node = graph_.node(id);
      if (reads_apart(node)) {
        if (mixes_inputs(node.op)) apart_.insert(node.output);
        if (!ir::is_layer(node.op) && has_code_form(graph_, node)) {
          found.float_nodes.insert(node.name);
        }
      }
      if (!plan.computes(id)) continue;
      if (std::holds_alternative<ir::Concat>(node.op)) judge_concat(node, found);
      if (const auto* binary = std::get_if<ir::Binary>(&node.op)) judge_sum(*binary, node, found);
    }
    return found;
  }

 private:
  /// Whether an element of the result may be one of the input, or a sum with others.
  static bool mixes_inputs(const ir::Operator& op) {
    return ir::moves_elements(op) || std::holds_alternative<ir::Binary>(op) ||
           std::holds_alternative<ir::Pool>(op);
  }

  [[nodiscard]] bool reads_apart(const ir::Node& node) const {
    return std::ranges::any_of(node.inputs, [this](ValueId x) { return apart_.contains(x); });
  }

  static std::optional<Extremes> extremes_of(const std::string& name, const ValueRange& range) {
    const double magnitude = std::max(std::abs(double{range.low}), std::abs(double{range.high}));
    if (!(magnitude > 0)) return std::nullopt;
    return Extremes{{name, magnitude}, {name, magnitude}};
  }

  /// The parts that a value joins, each of one magnitude; none if they are unknown.
  std::optional<Extremes> parts_of(ValueId id) const {
    const std::string& name = graph_.value(id).name;
    if (const ir::Tensor* numbers = float_constant(graph_, id)) {
      ValueRange range;
      range.add(numbers->as<float>());
      return extremes_of(name, range);
    }
    const auto producer = graph_.producer(id);
    if (producer) {
      const ir::Node& node = graph_.node(*producer);
      if (std::holds_alternative<ir::Concat>(node.op)) return parts_of_all(node.inputs);
      if (keeps_codes(graph_, node)) {
        if (auto parts = parts_of(node.inputs[0])) return parts;
      }
      if (const auto range = prescribed_range(node.op)) return extremes_of(name, *range);
    }
    const auto range = ranges_.find(id);
    return range == ranges_.end() ? std::nullopt : extremes_of(name, range->second);
  }

  std::optional<Extremes> parts_of_all(std::span<const ValueId> values) const {
    std::optional<Extremes> all;
    for (const ValueId value : values) {
      const auto parts = parts_of(value);
      if (parts && all) all->add(*parts);
      if (!all) all = parts;
    }
    return all;
  }

  static std::string described(const Extremes& parts) {
    const auto text = [](const Part& part) {
      std::array<char, 32> number{};
      const auto end = std::to_chars(number.data(), number.data() + number.size(), part.magnitude,
                                     std::chars_format::general, 3);
      return "'" + part.name + "' up to " + std::string(number.data(), end.ptr);
    };
    return text(parts.largest) + ", " + text(parts.smallest);
  }

  void judge_concat(const ir::Node& node, ApartRanges& found) {
    const auto parts = parts_of_all(node.inputs);
    if (!parts || parts->ratio() < kFarApart) return;
    apart_.insert(node.output);
    found.float_nodes.insert(node.name);
    found.notes.push_back("'" + node.name + "' stays float32: one scale of 8 bits would lose the " +
                          "smallest of what it joins (" + described(*parts) + ")");
  }

  void judge_sum(const ir::Binary& op, const ir::Node& node, ApartRanges& found) const {
    if (op.kind != ir::BinaryKind::kAdd && op.kind != ir::BinaryKind::kSub) return;
    if (found.float_nodes.contains(node.name)) return;
    const auto parts = parts_of_all(node.inputs);
    if (!parts || parts->ratio() < kFarApart) return;
    found.notes.push_back("'" + node.name + "' loses most of its smaller operand in 8 bits (" +
                          described(*parts) + "); skip keeps a layer in front in float32");
  }

  const ir::Graph& graph_;
  const std::map<ValueId, ValueRange>& ranges_;
  std::set<ValueId> apart_;  ///< values whose parts are far apart
};

}  // namespace

ApartRanges find_apart_ranges(const ir::Graph& graph, const WantsCodes& wanted,
                              const std::map<ValueId, ValueRange>& ranges) {
  return Finder(graph, ranges).find(wanted);
}

}  // namespace halftone::passes
