// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/encode_int8.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/search_levels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DFloat = hn::ScalableTag<float>;
using DInt = hn::RebindToSigned<DFloat>;
using DBytes = hn::Rebind<std::int8_t, DFloat>;
using VFloat = hn::Vec<DFloat>;
using VInt = hn::Vec<DInt>;
constexpr std::size_t kLanes = hn::MaxLanes(DFloat());

/// The number of thresholds below each lane of some vectors, which stay in registers during the
/// loop over the thresholds.
template <std::size_t kVectors>
HWY_INLINE void CountThresholds(const float* HWY_RESTRICT x, const Int8EncodeTable& t,
                                VInt (&counts)[kVectors]) {
  const DFloat d;
  const DInt di;
  VFloat values[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    values[v] = hn::LoadU(d, x + v * kLanes);
    counts[v] = hn::Zero(di);
  }
  for (const float t_l : t.table().thresholds()) {
    const VFloat threshold = hn::Set(d, t_l);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto above = hn::RebindMask(di, hn::Gt(values[v], threshold));
      counts[v] = hn::Sub(counts[v], hn::VecFromMask(di, above));
    }
  }
}

/// 2 level + 1 where the mask is set, else 2 level.
HWY_INLINE VInt Descend(VInt level, hn::Mask<DInt> above) {
  const VInt twice = hn::Add(level, level);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return VInt{_mm512_mask_add_epi32(twice.raw, above.raw, twice.raw, _mm512_set1_epi32(1))};
#else
  return hn::Sub(twice, hn::VecFromMask(DInt(), above));
#endif
}

/// The same for 15 thresholds by binary search: the threshold that a step compares with comes from
/// a vector. For vectors of at least 8 lanes.
template <std::size_t kVectors>
HWY_INLINE void FindAmong15(const float* HWY_RESTRICT x, const Int8EncodeTable& t,
                            VInt (&levels)[kVectors]) {
  const DFloat d;
  const DInt di;
  const VFloat middle = hn::Set(d, t.middles()[0][0]);
  for (std::size_t v = 0; v < kVectors; ++v) {
    const auto above = hn::Gt(hn::LoadU(d, x + v * kLanes), middle);
    levels[v] = hn::IfThenElseZero(hn::RebindMask(di, above), hn::Set(di, 1));
  }
  for (std::size_t step = 1; step < t.middles().size(); ++step) {
    const VFloat table = hn::LoadU(d, t.middles()[step].data());
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto index = hn::IndicesFromVec(d, levels[v]);
      const auto above = hn::Gt(hn::LoadU(d, x + v * kLanes), hn::TableLookupLanes(table, index));
      levels[v] = Descend(levels[v], hn::RebindMask(di, above));
    }
  }
}

/// Writes the 8-bit values of few levels.
HWY_INLINE void StoreFew(VInt level, const Int8EncodeTable& t, std::int8_t* HWY_RESTRICT q) {
#if HWY_TARGET == HWY_SCALAR
  *q = t.q()[hn::GetLane(level)];
#else
  const auto table = hn::LoadDup128(hn::ScalableTag<std::int8_t>(), t.q());
  hn::StoreU(hn::TableLookupBytes(table, ToBytes(DBytes(), level)), DBytes(), q);
#endif
}

/// Few levels, whose 8-bit values fit a table of 16 bytes: by comparisons.
template <std::size_t kVectors>
struct ByComparison {
  static constexpr std::size_t kNumbers = kVectors * kLanes;
  static HWY_INLINE void Encode(const float* HWY_RESTRICT x, const Int8EncodeTable& t,
                                std::int8_t* HWY_RESTRICT q) {
    VInt levels[kVectors];
    if (kLanes >= 8 && t.table().thresholds().size() == 15) {
      FindAmong15(x, t, levels);
    } else {
      CountThresholds(x, t, levels);
    }
    for (std::size_t v = 0; v < kVectors; ++v) StoreFew(levels[v], t, q + v * kLanes);
  }
};

/// Encodes the values from `i` on that fill whole vectors; returns the index after the last one.
template <class Way>
HWY_INLINE std::size_t EncodeWhole(std::span<const float> x, std::size_t i,
                                   const Int8EncodeTable& t, std::int8_t* q) {
  for (; i + Way::kNumbers <= x.size(); i += Way::kNumbers) Way::Encode(&x[i], t, q + i);
  return i;
}

/// The rest of a row, in a padded copy.
template <class Way>
HWY_INLINE void EncodeRest(std::span<const float> x, const Int8EncodeTable& t, std::int8_t* q) {
  if (x.empty()) return;
  alignas(64) float rest[Way::kNumbers] = {};
  std::int8_t rest_q[Way::kNumbers];
  std::memcpy(rest, x.data(), x.size_bytes());
  Way::Encode(rest, t, rest_q);
  std::memcpy(q, rest_q, x.size());
}

/// kSearched numbers by arithmetic.
/// @return false as ComputeLevels()
HWY_INLINE bool EncodeLine(const float* HWY_RESTRICT x, const Int8EncodeTable& t,
                           std::int8_t* HWY_RESTRICT q) {
  const DFloat d;
  const auto first = hn::Set(d, t.line().first + kWholePart);
  const auto slope = hn::Set(d, t.line().slope);
  return ComputeLevels(x, t.table().spacing(), [&](std::size_t c, VFloat level) HWY_ATTR {
    StoreBytes(hn::Add(first, hn::Mul(slope, level)), q + c);
  });
}

/// kSearched numbers by buckets with at most one threshold each.
HWY_INLINE void EncodeByBuckets(const float* HWY_RESTRICT x, const Int8EncodeTable& t,
                                std::int8_t* HWY_RESTRICT q) {
  alignas(64) std::int32_t bucket[kSearched];
  FindBuckets(x, kSearched, t.table().buckets(), bucket);
  const Int8EncodeTable::Bucket* HWY_RESTRICT buckets = t.buckets().data();
  for (std::size_t c = 0; c < kSearched; ++c) {
    const Int8EncodeTable::Bucket& at = buckets[bucket[c]];
    q[c] = at.q[x[c] > at.threshold ? 1 : 0];
  }
}

/// Many levels.
HWY_INLINE void EncodeMany(std::span<const float> x, const Int8EncodeTable& t,
                           std::int8_t* HWY_RESTRICT q) {
  std::uint8_t levels[kSearched];
  for (std::size_t i = 0; i < x.size(); i += kSearched) {
    const std::size_t count = std::min(kSearched, x.size() - i);
    if (t.line().exists && count == kSearched && EncodeLine(&x[i], t, q + i)) continue;
    if (!t.buckets().empty() && count == kSearched) {
      EncodeByBuckets(&x[i], t, q + i);
      continue;
    }
    SearchLevels(&x[i], count, t.table(), levels);
    for (std::size_t c = 0; c < count; ++c) q[i + c] = t.q()[levels[c]];
  }
}

void EncodeInt8(MatrixView<const float> values, const Int8EncodeTable& t,
                MatrixView<std::int8_t> q) {
  const bool is_many = t.line().exists || t.table().codes().size() >= Int8EncodeTable::kManyLevels;
  for (std::size_t r = 0; r < values.rows(); ++r) {
    const std::span<const float> x = values.row(r);
    std::int8_t* to = q.row(r).data();
    if (is_many) {
      EncodeMany(x, t, to);
    } else {
      std::size_t i = EncodeWhole<ByComparison<4>>(x, 0, t, to);
      i = EncodeWhole<ByComparison<1>>(x, i, t, to);
      EncodeRest<ByComparison<1>>(x.subspan(i), t, to + i);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(EncodeInt8);

Int8EncodeTable::Int8EncodeTable(EncodeTable table)
    : table_(std::move(table)), levels_(table_.levels()) {
  for (std::size_t l = 0; l < table_.codes().size(); ++l) q_[l] = levels_.q[table_.codes()[l]];
  if (table_.spacing().is_even()) find_line();
  if (!line_.exists && table_.codes().size() >= kManyLevels) fill_buckets();
  if (table_.thresholds().size() != 15) return;
  for (std::size_t step = 0, half = 8; step < middles_.size(); ++step, half /= 2) {
    for (std::size_t part = 0; part < 8 / half; ++part) {
      middles_[step][part] = table_.thresholds()[2 * half * part + half - 1];
    }
  }
}

void Int8EncodeTable::fill_buckets() {
  const EncodeTable::Buckets from = table_.buckets();
  if (from.step > 1) return;
  for (std::size_t b = 0; b < EncodeTable::Buckets::kCount; ++b) {
    const std::size_t level = from.first[b];
    const std::size_t next = std::min(level + 1, table_.thresholds().size());
    buckets_.push_back({from.thresholds[level], {q_[level], q_[next]}});
  }
}

void Int8EncodeTable::find_line() {
  const Line line{true, static_cast<float>(q_[0]), static_cast<float>(q_[1] - q_[0])};
  for (std::size_t l = 0; l < table_.codes().size(); ++l) {
    if (static_cast<float>(q_[l]) != line.first + line.slope * static_cast<float>(l)) return;
  }
  line_ = line;
}

void encode_int8(MatrixView<const float> values, const Int8EncodeTable& table,
                 MatrixView<std::int8_t> q) noexcept {
  HALFTONE_ASSERT(q.rows() == values.rows() && q.cols() == values.cols());
  if (values.stride() == values.cols() && q.stride() == q.cols()) {
    // One long row, in which no vector ends early.
    const std::size_t size = values.size();
    values = {values.data_handle(), 1, size, size};
    q = {q.data_handle(), 1, size, size};
  }
  HALFTONE_DISPATCH(EncodeInt8)(values, table, q);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
