// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/dense/transpose.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/dense/matmul.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Four rows of four, which vectors of 128 bits transpose in eight shuffles.
constexpr std::size_t kSide = 4;
/// The rows and columns of a block: whole lines of the cache on both sides, few enough to stay
/// there where the rows are a power of two apart.
constexpr std::size_t kBlockRows = 16;
constexpr std::size_t kBlockCols = 16;

struct Plane {
  const std::uint32_t* x;
  std::size_t x_step;
  std::uint32_t* y;
  std::size_t y_step;
};

HWY_INLINE void TurnOneByOne(const Plane& at, std::size_t r0, std::size_t r1, std::size_t c0,
                             std::size_t c1) {
  for (std::size_t c = c0; c < c1; ++c) {
    for (std::size_t r = r0; r < r1; ++r) at.y[c * at.y_step + r] = at.x[r * at.x_step + c];
  }
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void TurnFourByFour(const Plane& at, std::size_t r, std::size_t c) {
  TurnOneByOne(at, r, r + kSide, c, c + kSide);
}
#else
HWY_INLINE void TurnFourByFour(const Plane& at, std::size_t r, std::size_t c) {
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const auto row = [&](std::size_t i)
                       HWY_ATTR { return hn::LoadU(d, at.x + (r + i) * at.x_step + c); };
  const auto v0 = row(0);
  const auto v1 = row(1);
  const auto v2 = row(2);
  const auto v3 = row(3);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
  std::uint32_t* y = at.y + c * at.y_step + r;
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)), d, y);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)), d, y + at.y_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)), d, y + 2 * at.y_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)), d, y + 3 * at.y_step);
}
#endif

void Transpose(const std::uint32_t* x, std::size_t x_step, std::size_t rows, std::size_t cols,
               std::uint32_t* y, std::size_t y_step) {
  const Plane at{x, x_step, y, y_step};
  const std::size_t whole_rows = rows - rows % kSide;
  const std::size_t whole_cols = cols - cols % kSide;
  for (std::size_t r0 = 0; r0 < whole_rows; r0 += kBlockRows) {
    const std::size_t r1 = std::min(r0 + kBlockRows, whole_rows);
    for (std::size_t c0 = 0; c0 < whole_cols; c0 += kBlockCols) {
      const std::size_t c1 = std::min(c0 + kBlockCols, whole_cols);
      for (std::size_t r = r0; r < r1; r += kSide) {
        for (std::size_t c = c0; c < c1; c += kSide) TurnFourByFour(at, r, c);
      }
    }
  }
  TurnOneByOne(at, 0, rows, whole_cols, cols);
  TurnOneByOne(at, whole_rows, rows, 0, whole_cols);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(Transpose);

void transpose(MatrixView<const std::uint32_t> x, MatrixView<std::uint32_t> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.cols() && x.cols() == y.rows());
  HALFTONE_DISPATCH(Transpose)
  (x.data_handle(), x.stride(), x.rows(), x.cols(), y.data_handle(), y.stride());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
