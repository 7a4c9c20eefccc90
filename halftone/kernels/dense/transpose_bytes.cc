// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/dense/transpose_bytes.cc"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/dense/matmul.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sixteen rows of sixteen bytes, which vectors of 128 bits transpose.
constexpr std::size_t kBytesSide = 16;

struct BytePlane {
  const std::uint8_t* x;
  std::size_t x_step;
  std::uint8_t* y;
  std::size_t y_step;
};

HWY_INLINE void TurnBytesOneByOne(const BytePlane& at, std::size_t r0, std::size_t r1,
                                  std::size_t c0, std::size_t c1) {
  for (std::size_t c = c0; c < c1; ++c) {
    for (std::size_t r = r0; r < r1; ++r) at.y[c * at.y_step + r] = at.x[r * at.x_step + c];
  }
}

#if HWY_TARGET != HWY_SCALAR

using DRow = hn::Full128<std::uint8_t>;
using VRow = hn::Vec<DRow>;

/// Interleaving each row with the one eight rows below, four times, is a transposition.
HWY_INLINE void Shuffle(const VRow* HWY_RESTRICT from, VRow* HWY_RESTRICT to) {
  const DRow d;
  for (std::size_t i = 0; i < kBytesSide / 2; ++i) {
    to[2 * i] = hn::InterleaveLower(d, from[i], from[i + kBytesSide / 2]);
    to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + kBytesSide / 2]);
  }
}

HWY_INLINE void TurnSixteen(const BytePlane& at, std::size_t r, std::size_t c) {
  const DRow d;
  VRow a[kBytesSide];
  VRow b[kBytesSide];
  for (std::size_t i = 0; i < kBytesSide; ++i) a[i] = hn::LoadU(d, at.x + (r + i) * at.x_step + c);
  Shuffle(a, b);
  Shuffle(b, a);
  Shuffle(a, b);
  Shuffle(b, a);
  for (std::size_t i = 0; i < kBytesSide; ++i) hn::StoreU(a[i], d, at.y + (c + i) * at.y_step + r);
}

/// Three rows as pixels of three channels. @return the columns done
HWY_INLINE std::size_t JoinThree(const BytePlane& at, std::size_t cols) {
  const DRow d;
  const std::size_t whole = cols - cols % kBytesSide;
  for (std::size_t c = 0; c < whole; c += kBytesSide) {
    const auto row = [&](std::size_t i) HWY_ATTR { return hn::LoadU(d, at.x + i * at.x_step + c); };
    hn::StoreInterleaved3(row(0), row(1), row(2), d, at.y + 3 * c);
  }
  return whole;
}

/// Pixels of three channels as three rows. @return the rows done
HWY_INLINE std::size_t SplitThree(const BytePlane& at, std::size_t rows) {
  const DRow d;
  const std::size_t whole = rows - rows % kBytesSide;
  for (std::size_t r = 0; r < whole; r += kBytesSide) {
    VRow v[3];
    hn::LoadInterleaved3(d, at.x + 3 * r, v[0], v[1], v[2]);
    for (std::size_t i = 0; i < 3; ++i) hn::StoreU(v[i], d, at.y + i * at.y_step + r);
  }
  return whole;
}

#endif

void TransposeBytes(const std::uint8_t* x, std::size_t x_step, std::size_t rows, std::size_t cols,
                    std::uint8_t* y, std::size_t y_step) {
  const BytePlane at{x, x_step, y, y_step};
#if HWY_TARGET == HWY_SCALAR
  TurnBytesOneByOne(at, 0, rows, 0, cols);
#else
  if (rows == 3 && y_step == 3) return TurnBytesOneByOne(at, 0, 3, JoinThree(at, cols), cols);
  if (cols == 3 && x_step == 3) return TurnBytesOneByOne(at, SplitThree(at, rows), rows, 0, 3);
  const std::size_t whole_rows = rows - rows % kBytesSide;
  const std::size_t whole_cols = cols - cols % kBytesSide;
  for (std::size_t r = 0; r < whole_rows; r += kBytesSide) {
    for (std::size_t c = 0; c < whole_cols; c += kBytesSide) TurnSixteen(at, r, c);
  }
  TurnBytesOneByOne(at, 0, rows, whole_cols, cols);
  TurnBytesOneByOne(at, whole_rows, rows, 0, whole_cols);
#endif
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(TransposeBytes);

void transpose(MatrixView<const std::uint8_t> x, MatrixView<std::uint8_t> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.cols() && x.cols() == y.rows());
  HALFTONE_DISPATCH(TransposeBytes)
  (x.data_handle(), x.stride(), x.rows(), x.cols(), y.data_handle(), y.stride());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
