// SPDX-License-Identifier: Apache-2.0
// Implementations of element-wise operators and of Encode.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/ir/ops/activation.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// Whether the first input and the output are float32.
inline bool maps_floats(const NodeContext& context) {
  return context.input(0).is_dense(ir::ElementType::kFloat32) &&
         context.output().is_dense(ir::ElementType::kFloat32);
}

/// Unary with the vector functions of halftone/kernels.
extern const Implementation kUnaryVector;
/// Unary with the C++ library, element by element: functions that the others lack or compute less
/// precisely (oneDNN's logarithm is off by 6e-5 near 1).
extern const Implementation kUnaryPlain;

/// Binary of float32, row by row.
extern const Implementation kBinaryFloats;
/// Sums, differences and products of int32.
extern const Implementation kBinaryIntegers;

/// Where, row by row.
extern const Implementation kWhereRows;

/// Encode to bit planes.
extern const Implementation kEncodePlanes;
/// Encode to levels as 8-bit integers.
extern const Implementation kEncodeInt8;

/// Whether halftone/kernels has a vector function for this activation. Such functions give the same
/// bits on every target.
bool has_vector_function(const ir::Activation& activation);

/// y = activation(x), with the vector function if there is one, otherwise with ir::apply() per
/// element.
/// @param y  as long as x; may be the same memory
void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y) noexcept;

/// The same by several threads.
/// @param shares  number of equal shares; 1: on this thread
void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y, std::size_t shares) noexcept;

/// The function that apply_activation() computes, if it never decreases from -infinity to infinity
/// and skipping it is known to be faster; otherwise nothing. Tanh, Exp and Elu were compared at all
/// neighbours in float32. Sigmoid and Softplus decrease by one unit in the last place at some of
/// them. The others are monotone in each step, and so is their rounding.
std::function<float(float)> never_decreasing(const ir::Activation& activation);

/// Strides of an operand along rows of the result.
struct Walk {
  std::size_t row_step = 0;  ///< between rows; 0 if the row repeats
  std::size_t step = 0;      ///< between elements; 0 for a single value
};

/// Rows of the result along which both operands advance by constant steps.
struct Rows {
  std::size_t rows = 1;
  std::size_t cols = 1;
  Walk a;
  Walk b;
};

/// An axis of the result, with the stride along it in each operand.
struct BroadcastAxis {
  std::size_t count = 1;
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Loops over the outer axes, one set of rows each.
struct Broadcast {
  std::vector<BroadcastAxis> outer;
  Rows rows;

  /// Calls compute(rows, a, b, y) for all rows of the result.
  /// @param first  of the outer axes
  /// @return the end of the output
  template <typename T, typename Compute>
  T* for_rows(const T* a, const T* b, T* y, const Compute& compute, std::size_t first = 0) const {
    if (first == outer.size()) {
      compute(rows, a, b, y);
      return y + rows.rows * rows.cols;
    }
    const BroadcastAxis& axis = outer[first];
    for (std::size_t i = 0; i < axis.count; ++i) {
      y = for_rows(a + i * axis.a, b + i * axis.b, y, compute, first + 1);
    }
    return y;
  }
};

/// How the inputs of a node are broadcast to its output.
Broadcast find_broadcast(const NodeContext& context);

/// Whether the codes of activation(x) can be found from x, and faster.
bool can_encode_argument(const ir::Activation& activation, const numerics::Levels& levels);

/// The levels of codes of activation(x), found from x.
/// @throws Error kUnsupported unless can_encode_argument()
kernels::EncodeTable encode_table(const numerics::Levels& levels, const ir::Activation& activation);

/// Encodes rows of float32 values in a CodeLayout.
class RowEncoder {
 public:
  /// @param activation  the codes are those of activation(x), found without computing it
  /// @param cols        elements per row
  /// @throws Error kUnsupported unless can_encode_argument()
  RowEncoder(const numerics::Levels& levels, const ir::Activation& activation, CodeLayout layout,
             std::size_t cols);

  /// Bytes of the codes of one row.
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  /// @param x  [rows, cols]
  /// @param y  [rows, row_bytes()]
  void operator()(MatrixView<const float> x, std::byte* y) const;

 private:
  kernels::EncodeTable table_;
  std::size_t row_bytes_;
  std::optional<kernels::Int8EncodeTable> integers_;  ///< nothing for bit planes
};

}  // namespace halftone::runtime
