// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode_int8.cc"
#include "halftone/kernels/encode_int8.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>
#include <span>

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

/// What stands for each level, ascending by level.
struct LevelTable {
  const float* thresholds;
  std::size_t num_thresholds;
  std::int32_t step;  ///< of a search: half the number of levels
  alignas(64) std::int32_t q[256];
  alignas(64) std::int8_t few[kFewLevels];
};

LevelTable MakeTable(const EncodeTable& table, const Int8Levels& levels) {
  LevelTable t{};
  t.thresholds = table.thresholds().data();
  t.num_thresholds = table.thresholds().size();
  t.step = 1 << (table.bits() - 1);
  for (std::size_t l = 0; l <= t.num_thresholds; ++l) {
    t.q[l] = levels.q[static_cast<std::size_t>(table.codes()[l])];
    if (l < kFewLevels) t.few[l] = static_cast<std::int8_t>(t.q[l]);
  }
  return t;
}

/// How many thresholds are below each lane of some vectors, which are in registers together while
/// the thresholds pass by.
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

/// The same for one vector, by halving them: 2^K - 1 divide evenly all the way down.
HWY_INLINE VInt SearchThresholds(VFloat x, const LevelTable& t) {
  const DFloat d;
  const DInt di;
  auto level = hn::Zero(di);
  for (std::int32_t step = t.step; step != 0; step /= 2) {
    const auto middle = hn::Add(level, hn::Set(di, step - 1));
    const auto above = hn::RebindMask(di, hn::Gt(x, hn::GatherIndex(d, t.thresholds, middle)));
    level = hn::Add(level, hn::IfThenElseZero(above, hn::Set(di, step)));
  }
  return level;
}

/// Writes what stands for one of few levels.
HWY_INLINE void StoreFew(VInt level, const LevelTable& t, std::int8_t* HWY_RESTRICT q) {
#if HWY_TARGET == HWY_SCALAR
  *q = t.few[hn::GetLane(level)];
#else
  const auto table = hn::LoadDup128(hn::ScalableTag<std::int8_t>(), t.few);
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

/// Many levels: by a search.
struct BySearch {
  static constexpr std::size_t kNumbers = kLanes;
  static HWY_INLINE void Encode(const float* HWY_RESTRICT x, const LevelTable& t,
                                std::int8_t* HWY_RESTRICT q) {
    const VInt level = SearchThresholds(hn::LoadU(DFloat(), x), t);
    hn::StoreU(hn::DemoteTo(DBytes(), hn::GatherIndex(DInt(), t.q, level)), DBytes(), q);
  }
};

/// Encodes the numbers from `i` on that fill whole vectors; returns where it stopped.
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
      const std::size_t i = EncodeWhole<BySearch>(x, 0, t, to);
      EncodeRest<BySearch>(x.subspan(i), t, to + i);
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
