// SPDX-License-Identifier: Apache-2.0
// Product of float32 matrices with packed weights; the same bits on every processor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/dense/float_panels.h"

namespace halftone::kernels {

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
