// SPDX-License-Identifier: Apache-2.0
// What an implementation of an operator is, and what it may look at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "halftone/ir/graph.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// What an implementation may look at. All extents are known.
struct NodeContext {
  const ir::Graph& graph;
  const ir::Node& node;
  int threads = 1;
  bool int8_activations = true;  ///< as in PlanOptions
  FloatOrder float_order = FloatOrder::kFastest;
  std::span<const CodeLayout> layouts{};  ///< by value

  [[nodiscard]] bool has_input(std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != ir::kAbsent;
  }
  [[nodiscard]] const ir::ValueType& input(std::size_t i) const {
    return graph.value(node.inputs[i]).type;
  }
  [[nodiscard]] const ir::ValueType& output() const { return graph.value(node.output).type; }
  [[nodiscard]] CodeLayout input_layout(std::size_t i) const {
    return layouts[static_cast<std::size_t>(node.inputs[i])];
  }
  [[nodiscard]] CodeLayout output_layout() const {
    return layouts[static_cast<std::size_t>(node.output)];
  }
  /// The constant an input holds; null where it is computed or absent.
  [[nodiscard]] const ir::Constant* constant(std::size_t i) const {
    return has_input(i) ? graph.constant(node.inputs[i]) : nullptr;
  }
  template <typename Op>
  [[nodiscard]] const Op& op() const {
    return std::get<Op>(node.op);
  }
};

/// Whether an implementation takes a node, and why or why not.
struct Verdict {
  bool accepted = false;
  std::string reason;
  std::optional<double> cost_us;  ///< about what one thread takes; those who say compete
};
inline Verdict accept(std::string reason, std::optional<double> cost_us = {}) {
  return {true, std::move(reason), cost_us};
}
inline Verdict refuse(std::string reason) { return {false, std::move(reason), {}}; }

/// The refusal of what runs on oneDNN where the order of sums is fixed; nothing elsewhere.
inline std::optional<Verdict> refuse_onednn(const NodeContext& context) {
  if (context.float_order == FloatOrder::kFastest) return std::nullopt;
  return refuse("oneDNN's order of sums depends on the processor");
}
/// The refusal of what takes longer to fix the order of sums; nothing where it is fixed.
inline std::optional<Verdict> refuse_fixed_order(const NodeContext& context) {
  if (context.float_order == FloatOrder::kFixed) return std::nullopt;
  return refuse("the order of sums may depend on the processor");
}

/// One way to compute an operator. The source that defines it holds its costs too.
struct Implementation {
  std::string_view name;
  /// Whether it can compute a node, however codes lie in memory.
  Verdict (*judge)(const NodeContext&);
  Kernel (*create)(const NodeContext&);  ///< @pre judge() accepted, and the layouts of codes fit
  /// The layout in which it reads the codes of its first input.
  CodeLayout reads = CodeLayout::kPlanes;
  /// The layout in which it writes the codes of its output; none: any.
  std::optional<CodeLayout> writes{};
  /// Whether it can add a residual and encode its output, so that no other node has to.
  bool finishes_output = false;
};

}  // namespace halftone::runtime
