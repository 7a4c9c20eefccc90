// SPDX-License-Identifier: Apache-2.0
// A small product of float32 matrices with packed weights: what a recurrent layer does in every
// step, where a call of a general library would take longer than the work.
#pragma once

#include <cstddef>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"

namespace halftone::kernels {

/// Weights [o, n] as float_matmul() reads them: panels of up to 64 outputs, in each of which the
/// outputs of an input lie beside each other:
///
///     panel 0:  input 0 [output 0 ... 63]  input 1 [output 0 ... 63]  ...
///     panel 1:  ...
///
/// The last panel is as wide as it must be, in units of 16; missing outputs are zero.
class FloatMatmulWeights {
 public:
  static constexpr std::size_t kPanel = 64;
  static constexpr std::size_t kUnit = 16;

  /// @throws Error kShape if the memory cannot be had
  explicit FloatMatmulWeights(MatrixView<const float> weights);

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t size_bytes() const { return panels_.size_bytes(); }
  /// The panel of an output that is a multiple of kPanel.
  [[nodiscard]] const float* panel(std::size_t output) const {
    return panels_.as<float>().data() + output * inputs_;
  }
  /// Outputs of a panel, with those missing.
  [[nodiscard]] std::size_t panel_width(std::size_t output) const;

 private:
  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  AlignedBuffer panels_;
};

/// y[r, o] += sum_k x[r, k] w[o, k], in float32: starting from y the terms are added in the order
/// of k, each product and each sum rounded. The result is the same, bit for bit, on every target.
/// @param x  [m, n]
/// @param y  [m, o]
void float_matmul(MatrixView<const float> x, const FloatMatmulWeights& weights,
                  MatrixView<float> y) noexcept;

/// The definition of float_matmul(), in plain loops.
/// @param w  [o, n]
void float_matmul_reference(MatrixView<const float> x, MatrixView<const float> w,
                            MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
