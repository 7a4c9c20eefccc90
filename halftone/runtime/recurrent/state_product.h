// SPDX-License-Identifier: Apache-2.0
// The product of a recurrent step: states by recurrence weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/encode/encode_int8.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/runtime/linear/linear_cost.h"

namespace halftone::runtime {

/// Weights packed for one method of multiplication, and the conversion of the states.
class StateProduct {
 public:
  /// @param weights  [o, n], dense or codes; codes for all methods except Product::kFloat
  /// @param states   the encoding of the states; null if they are not encoded. kBits needs one.
  StateProduct(Product way, const ir::Constant& weights, const numerics::MatrixEncoding* states);

  [[nodiscard]] std::size_t size_bytes() const;
  /// Scratch bytes of add() for this number of rows.
  [[nodiscard]] std::size_t scratch_bytes(std::size_t rows) const;
  /// y[r, o] += sum_k h[r, k] w[o, k].
  /// @param h  [m, n] states, not encoded, @param y  [m, o]
  void add(MatrixView<const float> h, MatrixView<float> y, std::byte* scratch) const noexcept;

 private:
  void multiply_int8(MatrixView<const float> h, MatrixView<float> y, std::byte* scratch) const;
  void multiply_bits(MatrixView<const float> h, MatrixView<float> y, std::byte* scratch) const;
  void add_floats(MatrixView<const float> h, MatrixView<float> y, std::byte* scratch) const;

  using Weights = std::variant<kernels::FloatMatmulWeights, kernels::BitMatmulWeights,
                               kernels::PlaneMatmulWeights, kernels::LevelMatmulWeights>;
  std::size_t outputs_;
  std::size_t inputs_;
  std::optional<numerics::Basis> basis_;  ///< of the states, for kBits
  std::optional<kernels::EncodeTable> table_;
  std::optional<numerics::LevelTable> levels_;
  std::optional<kernels::Int8EncodeTable> int8_table_;
  Weights weights_;
};

/// Rows [first, first + count) of weights.
ir::Constant rows_of(const ir::Constant& weights, std::size_t first, std::size_t count);

}  // namespace halftone::runtime
