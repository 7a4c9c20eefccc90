// SPDX-License-Identifier: Apache-2.0
// A plan, which is all that execution knows of planning: the kernels that compute a graph, in
// order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

struct PlanOptions {
  std::size_t batch = 1;  ///< samples per run: the extent of ir::kBatch; without effect where the
                          ///< graph does not have it
  int threads = 1;        ///< threads one run may use; with one, results are the same bits wherever
                          ///< and however often the plan runs
  bool int8_activations =
      true;  ///< whether the input of a layer with encoded weights may be rounded
             ///< to 8 bits: see kernels::quantize_rows(), kernels::Int8Levels
  FloatOrder float_order = FloatOrder::kFastest;  ///< kFixed for results that end in a file
};

/// An implementation that was asked and not chosen.
struct Refusal {
  std::string kernel;
  std::string reason;
};

/// One node of a plan.
struct Step {
  ir::NodeId node{};
  std::string name;              ///< of the node
  std::string op;                ///< "FullyConnected", "Tanh", ...
  std::string kernel;            ///< name of the implementation: "xnor_popcount", "onednn_f32", ...
  std::string reason;            ///< why it took the node
  std::vector<Refusal> refused;  ///< who else was asked, and why they did not
  Kernel body;
  std::size_t scratch_offset = 0;  ///< of body.scratch_bytes in the arena
};

/// Where a value is stored: in the arena of a session, or in a constant of the graph.
struct Storage {
  const std::byte* constant = nullptr;
  std::size_t offset = 0;  ///< in the arena, where `constant` is null
  std::size_t bytes = 0;   ///< 0 for constants that only their kernel knows: codes
  CodeLayout layout = CodeLayout::kPlanes;
};

/// A graph made ready to run: a kernel for every node, weights packed, one arena laid out.
/// Immutable and shared by the sessions that run it.
class Plan {
 public:
  struct Parts {
    PlanOptions options;
    ir::Graph graph;
    std::vector<Step> steps;
    std::vector<Storage> storage;  ///< by value
    std::size_t arena_bytes = 0;
  };
  explicit Plan(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const PlanOptions& options() const { return parts_.options; }
  /// The graph with the batch filled in, unused nodes removed and equal encodings merged; ids of
  /// values are those of the graph the plan was made from. Constants that kernels have packed are
  /// gone, but for their names and types.
  [[nodiscard]] const ir::Graph& graph() const { return parts_.graph; }
  /// In the order they run.
  [[nodiscard]] std::span<const Step> steps() const { return parts_.steps; }
  [[nodiscard]] const Storage& storage(ir::ValueId value) const {
    return parts_.storage[static_cast<std::size_t>(value)];
  }
  /// Memory of the kernels, once per plan.
  [[nodiscard]] std::size_t packed_weight_bytes() const;
  /// Memory of the constants that no kernel packed, once per plan.
  [[nodiscard]] std::size_t constant_bytes() const;
  /// Memory of the values and of scratch, once per session.
  [[nodiscard]] std::size_t arena_bytes() const { return parts_.arena_bytes; }

 private:
  Parts parts_;
};

/// Makes a plan. What is chosen depends on the graph and the options alone, never on a measurement.
/// @throws Error kUsage if an option is out of range; kFormat or kShape as ir::verify(), or if
///         the shapes do not fit the batch; kUnsupported if a graph input is encoded
std::shared_ptr<const Plan> make_plan(ir::Graph graph, const PlanOptions& options = {});

}  // namespace halftone::runtime
