// SPDX-License-Identifier: Apache-2.0
// What all implementations of Recurrent share: extents, the order of gates, and the formulas that
// combine activated gates. The letters are those of ir::Recurrent.
#pragma once

#include <algorithm>
#include <cstddef>

#include "halftone/ir/ops/recurrent.h"

namespace halftone::ir {

/// Extents and layout of the gates and the output.
struct RecurrentExtents {
  std::size_t steps = 0;
  std::size_t batch = 0;
  std::size_t gates = 0;   ///< G H
  std::size_t hidden = 0;  ///< H
  std::size_t output = 0;  ///< H or 2 H
  bool batch_major = false;

  /// The row of a step and a sample, in the gates and in the output.
  [[nodiscard]] std::size_t row(std::size_t step, std::size_t sample) const {
    return batch_major ? sample * steps + step : step * batch + sample;
  }
};

/// @param gates  the static shape of input kGates
inline RecurrentExtents recurrent_extents(const Recurrent& op, const Shape& gates) {
  RecurrentExtents e;
  e.steps = static_cast<std::size_t>(gates[1 - batch_axis(op)]);
  e.batch = static_cast<std::size_t>(gates[batch_axis(op)]);
  e.gates = static_cast<std::size_t>(gates[2]);
  e.hidden = e.gates / num_gates(op.kind);
  e.output = op.with_cell ? 2 * e.hidden : e.hidden;
  e.batch_major = op.batch_major;
  return e;
}

enum GruGate : std::size_t { kGruUpdate, kGruReset, kGruNew };                   ///< z, r, n
enum LstmGate : std::size_t { kLstmInput, kLstmOutput, kLstmForget, kLstmNew };  ///< i, o, a, c
/// Peepholes are those of i, o and a: the index of a gate is that of its peephole.

/// x within +-limit; x itself for a limit of 0.
inline float clipped(float x, float limit) { return limit == 0 ? x : std::clamp(x, -limit, limit); }

/// (1 - z) n + z h, the next state of a GRU.
inline float gru_state(float z, float n, float h) { return (1 - z) * n + z * h; }

/// a c + i x within +-cell_clip, the next cell of an LSTM.
/// @param x  the activated new gate
inline float lstm_cell(const Recurrent& op, float a, float c, float i, float x) {
  return clipped(a * c + i * x, op.cell_clip);
}

}  // namespace halftone::ir
