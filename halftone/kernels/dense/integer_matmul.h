// SPDX-License-Identifier: Apache-2.0
// Exact products of small integers with packed weights; requantize.h converts them to 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"

namespace halftone::kernels {

/// Weights [o, n] of 16 bits as integer_matmul() reads them: panels of up to 64 outputs, in which
/// pairs of inputs are interleaved by output:
///
///     panel 0:  inputs 0, 1 [output 0: two numbers, output 1: two numbers, ...]  inputs 2, 3 ...
///
/// The last panel is as wide as it must be, in units of 16; missing numbers are zero.
class IntegerMatmulWeights {
 public:
  static constexpr std::size_t kPanel = 64;
  static constexpr std::size_t kUnit = 16;

  /// @throws Error kMemory as AlignedBuffer
  explicit IntegerMatmulWeights(MatrixView<const std::int16_t> weights);

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  /// Inputs in whole pairs: the length of the rows of activations, zero-padded.
  [[nodiscard]] std::size_t padded_inputs() const { return 2 * pairs_; }
  [[nodiscard]] std::size_t pairs() const { return pairs_; }
  [[nodiscard]] std::size_t size_bytes() const { return panels_.size_bytes(); }
  /// The panel of an output that is a multiple of kPanel, in pairs.
  [[nodiscard]] const std::int32_t* panel(std::size_t output) const {
    return panels_.as<std::int32_t>().data() + output * pairs_;
  }
  /// Number of outputs of a panel, including the padding.
  [[nodiscard]] std::size_t panel_width(std::size_t output) const;

 private:
  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  std::size_t pairs_ = 0;
  AlignedBuffer panels_;
};

/// y[r, o] += sum_k x[r, k] w[o, k] modulo 2^32, exactly, on every target.
/// @param x  [m, padded_inputs], numbers within +-255 like those of the weights, @param y  [m, o]
void integer_matmul(MatrixView<const std::int16_t> x, const IntegerMatmulWeights& weights,
                    MatrixView<std::int32_t> y) noexcept;

/// Reference implementation of integer_matmul() in plain loops.
/// @param x  [m, at least n], @param w  [o, n]
void integer_matmul_reference(MatrixView<const std::int16_t> x, MatrixView<const std::int16_t> w,
                              MatrixView<std::int32_t> y) noexcept;

}  // namespace halftone::kernels
