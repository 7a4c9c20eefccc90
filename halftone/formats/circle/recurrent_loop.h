// SPDX-License-Identifier: Apache-2.0
// Keras writes a recurrent layer as a WHILE over the steps of a sequence. Its body is recognized by
// its matrices and then checked by computing steps: a layer that gives the same states for random
// values replaces it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/formats/circle/file_model.h"
#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// The layer that a loop computes, and the loop variables by their role.
struct RecurrentLoop {
  ir::Recurrent layer;    ///< time-major, without cells
  ir::Tensor weights;     ///< of the inputs, [G H, n]
  ir::Tensor bias;        ///< [G H]
  ir::Tensor recurrence;  ///< [G H, H]
  ir::Tensor inner_bias;  ///< [H], for a GRU with linear_before_reset
  std::vector<std::size_t> counters;
  std::vector<std::size_t> limits;  ///< integers that no step changes
  std::size_t sequence = 0;         ///< [T, B, n]
  std::size_t results = 0;          ///< [T, B, H]: all states, or [1, B, H]: the last
  std::size_t hidden = 0;           ///< [B, H]
  std::size_t cell = 0;             ///< [B, H], of an LSTM
  ir::Dim steps = 0;                ///< T
};

/// A variable of a loop before the first step.
struct LoopVariable {
  ir::Shape shape;                      ///< of numbers: the batch is that of the file
  std::optional<std::int64_t> integer;  ///< a constant of one element
};

/// @param condition  the subgraph that says whether to go on
/// @param body       the subgraph of a step, with the same variables
/// @param variables  in their order
/// @throws Error kUnsupported if this is no layer of Keras
RecurrentLoop recognized_loop(const FileModel& condition, const FileModel& body,
                              const std::vector<LoopVariable>& variables);

/// Adds the layer to a graph. @param hidden, cell  the initial states; kAbsent: zeros
/// @return the states [T, B, H], with `with_cell` beside the cells [T, B, 2 H]
ir::ValueId add_layer(ir::Graph& graph, const RecurrentLoop& loop, const std::string& name,
                      const std::vector<ir::ValueId>& inputs, bool with_cell);

}  // namespace halftone::formats::circle
