// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/encode_int8.cc"
#include "halftone/kernels/encode/encode_int8.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <span>

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

/// Levels that are counted by comparing with every threshold and fit a table of 16 bytes.
constexpr std::size_t kFewLevels = 16;

/// The 8-bit value of each level, ascending by level.
struct LevelTable {
  const float* thresholds;
  std::size_t num_thresholds;
  alignas(64) std::int8_t q[256];
};

LevelTable MakeTable(const EncodeTable& table, const Int8Levels& levels) {
  LevelTable t{};
  t.thresholds = table.thresholds().data();
  t.num_thresholds = table.thresholds().size();
  for (std::size_t l = 0; l <= t.num_thresholds; ++l) t.q[l] = levels.q[table.codes()[l]];
  return t;
}

/// The number of thresholds below each lane of some vectors, which stay in registers during the
/// loop over the thresholds.
template <std::size_t kVectors>
HWY_INLINE void CountThresholds(const float* HWY_RESTRICT x, const LevelTable& t,
                                VInt (&counts)[kVectors]) {
  const DFloat d;
  const DInt di;
  VFloat values[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    values[v] = hn::LoadU(d, x + v * kLanes);
    counts[v] = hn::Zero(di);
  }
  for (std::size_t l = 0; l < t.num_thresholds; ++l) {
    const VFloat threshold = hn::Set(d, t.thresholds[l]);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto above = hn::RebindMask(di, hn::Gt(values[v], threshold));
      counts[v] = hn::Sub(counts[v], hn::VecFromMask(di, above));
    }
  }
}

/// Writes the 8-bit values of few levels.
HWY_INLINE void StoreFew(VInt level, const LevelTable& t, std::int8_t* HWY_RESTRICT q) {
#if HWY_TARGET == HWY_SCALAR
  *q = t.q[hn::GetLane(level)];
#else
  const auto table = hn::LoadDup128(hn::ScalableTag<std::int8_t>(), t.q);
  hn::StoreU(hn::TableLookupBytes(table, hn::DemoteTo(DBytes(), level)), DBytes(), q);
#endif
}

/// Few levels: by comparisons.
template <std::size_t kVectors>
struct ByComparison {
  static constexpr std::size_t kNumbers = kVectors * kLanes;
  static HWY_INLINE void Encode(const float* HWY_RESTRICT x, const LevelTable& t,
                                std::int8_t* HWY_RESTRICT q) {
    VInt counts[kVectors];
    CountThresholds(x, t, counts);
    for (std::size_t v = 0; v < kVectors; ++v) StoreFew(counts[v], t, q + v * kLanes);
  }
};

/// Encodes the values from `i` on that fill whole vectors; returns the index after the last one.
template <class Way>
HWY_INLINE std::size_t EncodeWhole(std::span<const float> x, std::size_t i, const LevelTable& t,
                                   std::int8_t* q) {
  for (; i + Way::kNumbers <= x.size(); i += Way::kNumbers) Way::Encode(&x[i], t, q + i);
  return i;
}

/// The rest of a row, in a padded copy.
template <class Way>
HWY_INLINE void EncodeRest(std::span<const float> x, const LevelTable& t, std::int8_t* q) {
  if (x.empty()) return;
  alignas(64) float rest[Way::kNumbers] = {};
  std::int8_t rest_q[Way::kNumbers];
  std::memcpy(rest, x.data(), x.size_bytes());
  Way::Encode(rest, t, rest_q);
  std::memcpy(q, rest_q, x.size());
}

/// Many levels.
HWY_INLINE void EncodeBySearch(std::span<const float> x, const EncodeTable& table,
                               const LevelTable& t, std::int8_t* HWY_RESTRICT q) {
  std::uint8_t levels[kSearched];
  for (std::size_t i = 0; i < x.size(); i += kSearched) {
    const std::size_t count = std::min(kSearched, x.size() - i);
    SearchLevels(&x[i], count, table, levels);
    for (std::size_t c = 0; c < count; ++c) q[i + c] = t.q[levels[c]];
  }
}

void EncodeInt8(MatrixView<const float> values, const EncodeTable& table, const Int8Levels& levels,
                MatrixView<std::int8_t> q) {
  const LevelTable t = MakeTable(table, levels);
  for (std::size_t r = 0; r < values.rows(); ++r) {
    const std::span<const float> x = values.row(r);
    std::int8_t* to = q.row(r).data();
    if (t.num_thresholds < kFewLevels) {
      std::size_t i = EncodeWhole<ByComparison<4>>(x, 0, t, to);
      i = EncodeWhole<ByComparison<1>>(x, i, t, to);
      EncodeRest<ByComparison<1>>(x.subspan(i), t, to + i);
    } else {
      EncodeBySearch(x, table, t, to);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(EncodeInt8);

void encode_int8(MatrixView<const float> values, const EncodeTable& table, const Int8Levels& levels,
                 MatrixView<std::int8_t> q) noexcept {
  HALFTONE_ASSERT(q.rows() == values.rows() && q.cols() == values.cols());
  if (values.stride() == values.cols() && q.stride() == q.cols()) {
    // One long row, in which no vector ends early.
    const std::size_t size = values.size();
    values = {values.data_handle(), 1, size, size};
    q = {q.data_handle(), 1, size, size};
  }
  HWY_DYNAMIC_DISPATCH(EncodeInt8)(values, table, levels, q);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
