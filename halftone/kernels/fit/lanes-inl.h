// SPDX-License-Identifier: Apache-2.0
// Columns of a group for several rows at a time. Lanes are rows.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_FIT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_FIT_LANES_INL_H_
#undef HALFTONE_KERNELS_FIT_LANES_INL_H_
#else
#define HALFTONE_KERNELS_FIT_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/base/view.h"
#include "halftone/kernels/fit/nearest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The rows of a matrix that vector v of the rows from r on holds.
template <typename T>
HWY_INLINE T* At(MatrixView<T> matrix, std::size_t column, std::size_t r, std::size_t v) {
  return matrix.data_handle() + column * matrix.stride() + r + v * hn::Lanes(DFit());
}

/// z = y G of a block.
/// @param y, z  [d, kVectors]
template <std::size_t d, std::size_t kVectors>
HWY_INLINE void InMetric(const VFit* y, const float* gram, VFit* z) {
  const DFit df;
  for (std::size_t q = 0; q < d; ++q) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      VFit sum = hn::Mul(y[v], hn::Set(df, gram[q]));
      for (std::size_t p = 1; p < d; ++p) {
        sum = hn::Add(sum, hn::Mul(y[p * kVectors + v], hn::Set(df, gram[p * d + q])));
      }
      z[q * kVectors + v] = sum;
    }
  }
}

/// Subtracts the products of d changed columns with d rows of a matrix from the columns [l, g).
/// @param changes  [d, kVectors]
/// @param rows     the first of the d rows, `stride` apart
template <std::size_t d, std::size_t kVectors>
HWY_INLINE void SubtractProducts(const VFit* changes, const float* rows, std::size_t stride,
                                 std::size_t l, std::size_t g, VFit* HWY_RESTRICT columns) {
  const DFit df;
  VFit change[d * kVectors];
  for (std::size_t i = 0; i < d * kVectors; ++i) change[i] = changes[i];
  for (; l < g; ++l) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      VFit column = columns[l * kVectors + v];
      for (std::size_t p = 0; p < d; ++p) {
        column =
            hn::Sub(column, hn::Mul(change[p * kVectors + v], hn::Set(df, rows[p * stride + l])));
      }
      columns[l * kVectors + v] = column;
    }
  }
}

/// Calls a function for all vectors of rows, two at a time where there are two.
template <class Two, class One>
HWY_INLINE void ForRows(std::size_t rows, Two two, One one) {
  const std::size_t lanes = hn::Lanes(DFit());
  std::size_t r = 0;
  for (; r + 2 * lanes <= rows; r += 2 * lanes) two(r);
  for (; r < rows; r += lanes) one(r);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
