// SPDX-License-Identifier: Apache-2.0
// Element-wise functions, norms and moves of float rows on a device, with the bits of runtime/.
#pragma once

#include <cstddef>
#include <string_view>

#include "halftone/gpu/programs.h"

namespace halftone::gpu {

/// Functions of text/elementary.cl.
enum class Function { kNone, kSilu, kGelu, kGeluTanh, kRelu, kSigmoid, kTanh, kExp };
enum class Operation { kAdd, kSub, kMul, kDiv };

/// y[i] = f(x[i]); x and y may be the same.
Launch apply(Programs& programs, Function f, const Buffer& x, const Buffer& y, std::size_t count);

/// An operand of an element-wise operation: each element `step` times, all of that repeated.
struct Operand {
  const Buffer& buffer;
  std::size_t count = 0;
  std::size_t step = 1;
};
struct Combination {
  Operation op = Operation::kAdd;
  Function f = Function::kNone;
};
/// y[i] = f(op(a[i / a.step mod a.count], b[i / b.step mod b.count])).
Launch combine(Programs& programs, Combination how, Operand a, Operand b, const Buffer& y);

/// Normalize over the last axis: runtime/statistics.
struct NormShape {
  std::size_t rows = 0;
  std::size_t cols = 0;
  float epsilon = 0;
  bool subtracts_mean = false;
};
Launch normalize(Programs& programs, const NormShape& shape, const Buffer& x, const Buffer& y);
/// y[r, o] = f(x[r, o]) * x[r, up + o]: gates of rows, and their factors.
struct GatedRows {
  std::size_t rows = 0;
  std::size_t x_cols = 0;
  std::size_t y_cols = 0;
  std::size_t up = 0;
  Function f = Function::kNone;
};
Launch combine_gated(Programs& programs, const GatedRows& shape, const Buffer& x, const Buffer& y);

/// A layer of floats: kernels::float_matmul() from the bias on.
struct FloatLayer {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t outputs = 0;
  const Buffer& weights;         ///< [cols, outputs]
  const Buffer* bias = nullptr;  ///< [outputs], or none: zeros
};
Launch multiply_floats(Programs& programs, const FloatLayer& layer, const Buffer& x,
                       const Buffer& y);

/// y = columns [begin, begin + y_cols) of x [rows, x_cols].
struct Columns {
  std::size_t rows = 0;
  std::size_t x_cols = 0;
  std::size_t begin = 0;
  std::size_t y_cols = 0;
};
Launch copy_columns(Programs& programs, const Columns& columns, const Buffer& x, const Buffer& y);

struct FloatTable {
  const Buffer& floats;
  std::size_t cols = 0;
};
/// y[i] = row ids[i] of a table of floats. @param ids  int32 [count], within the rows
Launch gather_rows(Programs& programs, const FloatTable& table, const Buffer& ids,
                   std::size_t count, const Buffer& y);

}  // namespace halftone::gpu
