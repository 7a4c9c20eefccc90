// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/attention/rotary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/attention/attention.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Turns one pair.
HWY_INLINE void TurnPair(float a, float b, float c, float s, float* y_a, float* y_b) {
  *y_a = a * c - b * s;
  *y_b = a * s + b * c;
}

/// Turns a vector of pairs.
template <class V>
HWY_INLINE void TurnPairs(V& a, V& b, V c, V s) {
  const V turned = hn::Sub(hn::Mul(a, c), hn::Mul(b, s));
  b = hn::Add(hn::Mul(a, s), hn::Mul(b, c));
  a = turned;
}

/// Pairs i and i + pairs.
void TurnHalves(const float* x, const float* cosines, const float* sines, std::size_t pairs,
                float* y) {
  const hn::ScalableTag<float> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= pairs; i += hn::Lanes(d)) {
    auto a = hn::LoadU(d, x + i);
    auto b = hn::LoadU(d, x + pairs + i);
    TurnPairs(a, b, hn::LoadU(d, cosines + i), hn::LoadU(d, sines + i));
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + pairs + i);
  }
  for (; i < pairs; ++i) {
    TurnPair(x[i], x[pairs + i], cosines[i], sines[i], y + i, y + pairs + i);
  }
}

/// Pairs 2i and 2i + 1.
void TurnNeighbours(const float* x, const float* cosines, const float* sines, std::size_t pairs,
                    float* y) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  for (; i + hn::Lanes(d) <= pairs; i += hn::Lanes(d)) {
    auto a = hn::Undefined(d);
    auto b = hn::Undefined(d);
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    TurnPairs(a, b, hn::LoadU(d, cosines + i), hn::LoadU(d, sines + i));
    hn::StoreInterleaved2(a, b, d, y + 2 * i);
  }
#endif
  for (; i < pairs; ++i) {
    TurnPair(x[2 * i], x[2 * i + 1], cosines[i], sines[i], y + 2 * i, y + 2 * i + 1);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(TurnHalves);
HALFTONE_EXPORT(TurnNeighbours);

void rotate(const RotaryShape& shape, MatrixView<const float> x,
            std::span<const std::int32_t> positions, const RotaryTables& tables,
            MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.rows() && x.cols() == y.cols() && x.rows() == positions.size());
  HALFTONE_ASSERT(shape.dims % 2 == 0 && shape.heads * shape.dims <= x.cols());
  HALFTONE_ASSERT(tables.cosines.cols() == shape.dims / 2 && tables.sines.cols() == shape.dims / 2);
  const std::size_t size = x.cols() / shape.heads;
  const auto turn = shape.pairing == RotaryPairing::kNeox ? HALFTONE_DISPATCH(TurnHalves)
                                                          : HALFTONE_DISPATCH(TurnNeighbours);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const auto position = static_cast<std::size_t>(positions[r]);
    const float* cosines = tables.cosines.row(position).data();
    const float* sines = tables.sines.row(position).data();
    for (std::size_t h = 0; h < shape.heads; ++h) {
      const float* from = x.row(r).data() + h * size;
      float* to = y.row(r).data() + h * size;
      turn(from, cosines, sines, shape.dims / 2, to);
      if (from != to) std::copy(from + shape.dims, from + size, to + shape.dims);
    }
  }
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
