// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/quantize_rows.cc"
#include "halftone/kernels/encode/quantize_rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "halftone/kernels/dispatch.h"

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
  alignas(64) std::int32_t bits[hn::MaxLanes(DInt())];
  hn::Store(largest, di, bits);
  std::int32_t max_bits = *std::max_element(bits, bits + lanes);
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

void QuantizeRow(const float* HWY_RESTRICT x, std::size_t count, float steps,
                 std::int8_t* HWY_RESTRICT q) {
  const DFloat d;
  const hn::Rebind<std::int32_t, DFloat> d32;
  const hn::Rebind<std::int8_t, DFloat> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, steps);
  const auto quantize = [&](const float* from, std::int8_t* to) {
    const auto rounded = RoundSmall(d, hn::Mul(hn::LoadU(d, from), factor));
    hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(d32, rounded)), d8, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) quantize(x + i, q + i);
  if (i == count) return;
  float rest[hn::MaxLanes(DFloat())] = {};
  std::int8_t rest_q[hn::MaxLanes(DFloat())];
  std::memcpy(rest, x + i, (count - i) * sizeof(float));
  quantize(rest, rest_q);
  std::memcpy(q + i, rest_q, count - i);
}

void QuantizeRows(MatrixView<const float> values, MatrixView<std::int8_t> q, float* scales) {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    const float* x = values.row(r).data();
    std::int8_t* to = q.row(r).data();
    const float largest = LargestMagnitude(x, values.cols());
    const float steps = kInt8Range / largest;
    const bool finite = std::isfinite(largest);
    if (finite && !std::isinf(steps)) {
      QuantizeRow(x, values.cols(), steps, to);
      scales[r] = largest / kInt8Range;
    } else {
      std::fill_n(to, values.cols(), std::int8_t{0});
      scales[r] = finite ? 0 : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(QuantizeRows);

void quantize_rows(MatrixView<const float> values, MatrixView<std::int8_t> q,
                   std::span<float> scales) noexcept {
  HALFTONE_ASSERT(q.rows() == values.rows() && q.cols() == values.cols());
  HALFTONE_ASSERT(scales.size() == values.rows());
  HALFTONE_DISPATCH(QuantizeRows)(values, q, scales.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
