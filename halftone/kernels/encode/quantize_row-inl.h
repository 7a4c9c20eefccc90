// SPDX-License-Identifier: Apache-2.0
// Quantizes one row to integers, once per target; see encode.h.
#if defined(HALFTONE_KERNELS_QUANTIZE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_QUANTIZE_ROW_INL_H_
#undef HALFTONE_KERNELS_QUANTIZE_ROW_INL_H_
#else
#define HALFTONE_KERNELS_QUANTIZE_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "halftone/kernels/encode/encode.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DFloat = hn::ScalableTag<float>;
using DInt = hn::RebindToSigned<DFloat>;

/// max |x_i|; infinite or NaN if any x_i is: the bits of magnitudes, as integers, have the order of
/// the magnitudes, and infinity and NaN come last.
HWY_INLINE float LargestMagnitude(const float* HWY_RESTRICT x, std::size_t count) {
  const DFloat d;
  const DInt di;
  const std::size_t lanes = hn::Lanes(d);
  auto largest = hn::Zero(di);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + i))));
  }
  std::int32_t max_bits = hn::GetLane(hn::MaxOfLanes(di, largest));
  for (; i < count; ++i) max_bits = std::max(max_bits, std::bit_cast<std::int32_t>(std::abs(x[i])));
  return std::bit_cast<float>(max_bits);
}

/// Rounds to the nearest integer, ties to even, where |v| < 2^22: adding 1.5 2^23 leaves no bits
/// for a fraction.
template <class D, class V>
HWY_INLINE V RoundSmall(D d, V v) {
  const auto shift = hn::Set(d, 12582912.0F);
  return hn::Sub(hn::Add(v, shift), shift);
}

/// How a row is quantized.
struct RowSteps {
  float steps;  ///< per unit; 0 for a row that is stored as zeros
  float scale;  ///< units per step; NaN for a row with an infinity or NaN
};

/// @param range  steps on either side of zero, < 2^22
HWY_INLINE RowSteps StepsOfRow(const float* x, std::size_t count, float range = kInt8Range) {
  const float largest = LargestMagnitude(x, count);
  const float steps = range / largest;
  const bool finite = std::isfinite(largest);
  if (finite && !std::isinf(steps)) return {steps, largest / range};
  return {0, finite ? 0 : std::numeric_limits<float>::quiet_NaN()};
}

/// A row or a part of it.
/// @tparam T  std::int8_t or std::int16_t
template <class T>
HWY_INLINE void QuantizeRow(const float* HWY_RESTRICT x, std::size_t count, float steps,
                            T* HWY_RESTRICT q) {
  if (steps == 0) {
    std::fill_n(q, count, T{0});
    return;
  }
  const DFloat d;
  const hn::Rebind<std::int32_t, DFloat> d32;
  const hn::Rebind<T, DFloat> d_small;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, steps);
  const auto quantize = [&](const float* from, T* to) HWY_ATTR {
    const auto rounded = RoundSmall(d, hn::Mul(hn::LoadU(d, from), factor));
    hn::StoreU(hn::DemoteTo(d_small, hn::ConvertTo(d32, rounded)), d_small, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) quantize(x + i, q + i);
  if (i == count) return;
  float rest[hn::MaxLanes(DFloat())] = {};
  T rest_q[hn::MaxLanes(DFloat())];
  std::memcpy(rest, x + i, (count - i) * sizeof(float));
  quantize(rest, rest_q);
  std::memcpy(q + i, rest_q, (count - i) * sizeof(T));
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_QUANTIZE_ROW_INL_H_
