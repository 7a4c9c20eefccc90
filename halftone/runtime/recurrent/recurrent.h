// SPDX-License-Identifier: Apache-2.0
// Implementations of Recurrent: one loop over the steps, with one of several products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "halftone/ir/ops/recurrent_gates.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/linear/linear.h"

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

/// The buffers of a layer; null for absent optional inputs.
struct RecurrentBuffers {
  const float* gates = nullptr;
  const float* bias = nullptr;
  const float* hidden = nullptr;
  const float* cell = nullptr;
  const std::int32_t* lengths = nullptr;
  const float* peepholes = nullptr;
  float* output = nullptr;
};

/// A layer whose weights are packed. Samples are independent, so shares of them may run
/// concurrently.
struct RecurrentSteps {
  ir::Recurrent op;
  ir::RecurrentExtents extents;
  bool shares_hidden = false;  ///< all samples start with the same h
  bool shares_cell = false;    ///< and with the same c
  /// One for all gates; for a GRU whose reset precedes the product: of z and r, then of n.
  std::vector<StateProduct> products;
  std::size_t shares = 1;

  /// Scratch memory of a share, besides the buffers.
  [[nodiscard]] std::size_t share_scratch_bytes() const;
  /// Runs the samples of a share through all steps.
  void run(const RecurrentBuffers& memory, std::size_t share, std::byte* scratch) const noexcept;
};

/// Encoded states and weights: bit planes, xor and popcount.
extern const Implementation kRecurrentBits;
/// Encoded weights, and states as 8-bit integers: by the bit planes of the weights.
/// The same by the levels of the weights.
extern const Implementation kRecurrentLevels;
/// Float32: encoded weights are decoded once, encoded states in every step.
extern const Implementation kRecurrentFloat;

}  // namespace halftone::runtime
