// SPDX-License-Identifier: Apache-2.0
// Packed float32 weights for kernels with a fixed order of sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// Weights [outputs, inputs] in panels of 16 outputs, in each of which the outputs of an input lie
/// next to each other:
///
///     panel 0:  input 0 [output 0 ... 15]  input 1 [output 0 ... 15]  ...
///     panel 1:  ...
///
/// Missing outputs of the last panel are zero. Whole panels may also lie next to each other in a
/// row-major matrix [inputs, outputs]. FloatPanels does not own the memory.
struct FloatPanels {
  static constexpr std::size_t kOutputs = 16;

  const float* data = nullptr;
  std::size_t outputs = 0;
  std::size_t inputs = 0;
  std::size_t input_step = kOutputs;           ///< floats from one input to the next
  std::size_t panel_step = inputs * kOutputs;  ///< floats from one panel to the next

  [[nodiscard]] std::size_t count() const { return count_for(outputs); }
  [[nodiscard]] const float* panel(std::size_t i) const { return data + i * panel_step; }

  /// Panels that lie in a matrix [inputs, outputs].
  /// @pre the outputs are whole panels
  static FloatPanels in_matrix(MatrixView<const float> matrix) {
    HALFTONE_ASSERT(matrix.cols() % kOutputs == 0);
    return {matrix.data_handle(), matrix.cols(), matrix.rows(), matrix.stride(), kOutputs};
  }

  static std::size_t count_for(std::size_t outputs) { return (outputs + kOutputs - 1) / kOutputs; }
  /// Floats that the panels of a matrix take.
  static std::size_t floats_for(std::size_t outputs, std::size_t inputs) {
    return count_for(outputs) * kOutputs * inputs;
  }
};

/// Packs weights.
/// @param weights  [outputs, inputs]
/// @param panels   [FloatPanels::floats_for(outputs, inputs)]
void pack_float_panels(MatrixView<const float> weights, std::span<float> panels) noexcept;
/// Packs transposed weights.
/// @param weights  [inputs, outputs]
void pack_transposed_float_panels(MatrixView<const float> weights,
                                  std::span<float> panels) noexcept;

/// Consecutive inputs of an output: `length` floats, from `offset` on after the first float that an
/// output may read.
struct FloatRun {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

/// Appends a run, in pieces short enough for the first-level cache.
void append_run(std::size_t offset, std::size_t length, std::vector<FloatRun>& runs);

}  // namespace halftone::kernels
