// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass through a small graph, for block reconstruction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "halftone/gradient/straight_through.h"
#include "halftone/ir/graph.h"

namespace halftone::gradient {

/// The elements of a constant as a tape holds them: decoded, float32.
std::vector<float> tape_elements(const ir::Constant& constant);

/// The work of a node: computes its output, and adds to the gradients of its inputs.
struct TapeStep {
  std::function<void()> forward;
  std::function<void()> backward;
};

/// A node with the values of its inputs and output, and their gradients.
struct StepContext {
  const ir::Graph& graph;
  const ir::Node& node;
  std::vector<std::span<const float>> inputs;     ///< empty where absent
  std::vector<std::span<float>> input_gradients;  ///< empty where no gradient is wanted
  std::span<float> output;
  std::span<const float> output_gradient;        ///< empty where none is wanted
  const numerics::LevelTable* levels = nullptr;  ///< of an Encode or of a Recurrent's states
  std::span<double> level_gradient;              ///< of them, in ascending order
  DropOptions* drop = nullptr;                   ///< for an Encode

  [[nodiscard]] const ir::Shape& input_shape(std::size_t i) const {
    return graph.value(node.inputs[i]).type.shape;
  }
  [[nodiscard]] const ir::Shape& output_shape() const {
    return graph.value(node.output).type.shape;
  }
};

/// Runs a graph on one batch, in float32 (integers and booleans too), one thread, in a fixed
/// order. Encoded values are the levels that their codes represent; an Encode and the encoded
/// states of a Recurrent pass their gradient straight through and accumulate that of their levels.
class Tape {
 public:
  /// @param graph   all extents known; must outlive this
  /// @param shared  elements of constants that are stored elsewhere, in their order; the tape only
  ///                reads them
  /// @param wanted  values whose gradient is wanted
  /// @param levels  learned levels of each Encode and of the states of each Recurrent, by output
  /// @throws Error kUnsupported that names the node if an operator has no gradient here
  Tape(const ir::Graph& graph, const std::map<ir::ValueId, std::span<const float>>& shared,
       std::span<const ir::ValueId> wanted,
       const std::map<ir::ValueId, const numerics::LevelTable*>& levels);

  /// Memory of a value. The caller fills in the inputs.
  [[nodiscard]] std::span<float> data(ir::ValueId id);
  /// The gradient of a value after backward(); zero before the first call.
  [[nodiscard]] std::span<float> gradient(ir::ValueId id);
  /// The gradient of learned levels, in ascending order of the levels.
  [[nodiscard]] std::span<const double> level_gradient(ir::ValueId output) const {
    return level_gradients_.at(output);
  }

  void forward(const DropOptions& drop);
  /// Computes all gradients from that of the output, which the caller has filled in. The others
  /// start from zero.
  void backward(ir::ValueId output);

 private:
  void add_value(ir::ValueId id, const std::map<ir::ValueId, std::span<const float>>& shared);
  void add_node(const ir::Node& node, std::span<const ir::ValueId> wanted,
                const std::map<ir::ValueId, std::span<const float>>& shared,
                const numerics::LevelTable* levels);

  const ir::Graph& graph_;
  std::map<ir::ValueId, std::vector<float>> storage_;
  std::map<ir::ValueId, std::span<const float>> data_;
  std::map<ir::ValueId, std::vector<float>> gradients_;  ///< only where one is wanted
  std::map<ir::ValueId, std::vector<double>> level_gradients_;
  std::vector<TapeStep> steps_;
  DropOptions drop_;
};

/// Whether an operator has a gradient on a tape, for some of its attributes at least.
bool has_step(const ir::Operator& op);

/// Creates the step of a node.
/// @throws Error kUnsupported "node 'NAME' (OPERATOR) has no gradient"
TapeStep make_step(const StepContext& context);

/// The derivative of an activation function, one-sided where it has a kink.
/// @throws Error kUnsupported for unknown functions
float derivative(const ir::Activation& activation, float x);

}  // namespace halftone::gradient
