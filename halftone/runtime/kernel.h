// SPDX-License-Identifier: Apache-2.0
// What a plan is made of: kernels, and the ordered lists they are chosen from.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/runtime/plan/code_layout.h"

namespace halftone::runtime {

/// The memory of a session that a kernel works on, in the layout of value.h.
struct Buffers {
  /// One per input; null where an input is absent or among Kernel::packed_inputs.
  std::vector<const std::byte*> inputs;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  ///< Kernel::scratch_bytes of them
};

/// Numbers to read, compute or decode from which on a second thread is worth waking: some 50 us of
/// work.
inline constexpr std::size_t kParallelNumbers = std::size_t{1} << 17;

/// One execution of a kernel on the memory it was bound to.
using Call = std::function<void()>;

/// A node made ready to run: its weights are packed, its shapes are known. Immutable, so that any
/// number of sessions may run it at once; whatever a run writes lies in their buffers.
struct Kernel {
  /// Binds the kernel to memory; null for a step that has nothing to do.
  std::function<Call(const Buffers&)> bind;
  std::size_t scratch_bytes = 0;
  std::size_t packed_bytes = 0;  ///< memory the kernel holds: packed weights, decoded constants
  /// The inputs of its node that lie packed in this memory: constants it reads nowhere else.
  std::vector<std::size_t> packed_inputs;
};

/// What an implementation may look at. All extents are known.
struct NodeContext {
  const ir::Graph& graph;
  const ir::Node& node;
  int threads = 1;
  bool int8_activations = true;           ///< as in PlanOptions
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

/// One way to compute an operator.
struct Implementation {
  std::string_view name;
  Verdict (*judge)(const NodeContext&);
  Kernel (*create)(const NodeContext&);  ///< @pre judge() accepted
};

/// The ways to compute an operator, in the order they are asked: the cheapest of those that accept
/// and know their cost, or the first that accepts. The last one takes every node.
std::span<const Implementation> implementations(const ir::Operator& op);

}  // namespace halftone::runtime
