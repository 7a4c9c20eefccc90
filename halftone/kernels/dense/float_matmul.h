// SPDX-License-Identifier: Apache-2.0
// Float32 weights packed for kernels with a fixed order of sums, and the product with them: the
// same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/kernels/block_range.h"

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

/// Weights [o, n] as float_matmul() reads them.
class FloatMatmulWeights {
 public:
  /// @throws Error kMemory as AlignedBuffer
  explicit FloatMatmulWeights(MatrixView<const float> weights);

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t size_bytes() const { return panels_.size_bytes(); }
  [[nodiscard]] FloatPanels panels() const {
    return {panels_.as<float>().data(), outputs_, inputs_};
  }

 private:
  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  AlignedBuffer panels_;
};

/// y[r, o] += sum_k x[r, k] w[o, k], in float32: starting from y the terms are added in the order
/// of k, each product and each sum rounded. The result is the same, bit for bit, on every target
/// and for any division into ranges of panels.
/// @param x       [m, n]
/// @param panels  which panels of outputs to compute
/// @param y       [m, o]; only the outputs of these panels are written
void float_matmul(MatrixView<const float> x, const FloatPanels& weights, BlockRange panels,
                  MatrixView<float> y) noexcept;
/// The same for all outputs.
void float_matmul(MatrixView<const float> x, const FloatMatmulWeights& weights,
                  MatrixView<float> y) noexcept;

/// Reference implementation of float_matmul() in plain loops.
/// @param w  [o, n]
void float_matmul_reference(MatrixView<const float> x, MatrixView<const float> w,
                            MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
