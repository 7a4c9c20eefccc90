// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limits.cc"
#include "bench/limits.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <memory>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/count_bits-inl.h"
#include "halftone/kernels/dispatch.h"

#ifndef HALFTONE_BENCH_LIMITS_ONCE_
#define HALFTONE_BENCH_LIMITS_ONCE_
namespace halftone::bench {

/// The work of a loop, and a value that depends on all of it.
struct Done {
  double amount = 0;
  double check = 0;
};

}  // namespace halftone::bench
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace halftone::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DWords = hn::ScalableTag<std::uint64_t>;
using VWords = hn::Vec<DWords>;
using DBytes = hn::ScalableTag<std::uint8_t>;
using VBytes = hn::Vec<DBytes>;

/// Number of passes over data in the first-level cache.
constexpr std::size_t kPasses = 64;

double CheckOf(VWords v) { return static_cast<double>(hn::GetLane(v)); }

/// Reads the data in kStreams parallel streams, front to back; small data repeatedly.
template <std::size_t kStreams>
HWY_INLINE Done ReadStreams(std::span<const std::uint64_t> data) {
  const DWords d;
  constexpr std::size_t kVectors = 8 / kStreams;
  VWords sums[kStreams][kVectors];
  for (auto& stream : sums) {
    for (VWords& sum : stream) sum = hn::Zero(d);
  }
  const std::size_t part = data.size() / kStreams;
  const std::size_t step = kVectors * hn::Lanes(d);
  const std::size_t passes = std::max<std::size_t>(1, (std::size_t{1} << 20) / data.size_bytes());
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i + step <= part; i += step) {
      for (std::size_t s = 0; s < kStreams; ++s) {
        const std::uint64_t* from = data.data() + s * part + i;
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[s][v] = hn::Xor(sums[s][v], hn::LoadU(d, from + v * hn::Lanes(d)));
        }
      }
    }
  }
  VWords sum = hn::Zero(d);
  for (const auto& stream : sums) {
    for (const VWords& v : stream) sum = hn::Xor(sum, v);
  }
  return {static_cast<double>(passes * data.size_bytes()), CheckOf(sum)};
}

Done Read(std::span<const std::uint64_t> data) { return ReadStreams<1>(data); }
/// Keeps more requests in flight: on some machines memory is 1.5 times as fast.
Done ReadFourStreams(std::span<const std::uint64_t> data) { return ReadStreams<4>(data); }

Done MultiplyAddFloats(std::span<const std::uint64_t> data) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kVectors = 12;
  constexpr std::size_t kSteps = 4096;
  const V factor = hn::Set(d, 0.5F + static_cast<float>(data[0] & 1) / 4);
  V sums[kVectors];
  for (V& sum : sums) sum = hn::Zero(d);
  for (std::size_t i = 0; i < kSteps; ++i) {
    for (V& sum : sums) sum = hn::MulAdd(sum, factor, factor);
  }
  for (std::size_t v = 1; v < kVectors; ++v) sums[0] = hn::Add(sums[0], sums[v]);
  return {2.0 * static_cast<double>(kSteps * kVectors * hn::Lanes(d)), hn::GetLane(sums[0])};
}

#if HWY_TARGET == HWY_SCALAR

Done MultiplyAddInt8(std::span<const std::uint64_t> data) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  int sum = 0;
  for (std::size_t i = 0; i < data.size_bytes(); ++i) sum += bytes[i] * bytes[i & 15];
  return {2.0 * static_cast<double>(data.size_bytes()), static_cast<double>(sum)};
}

#else

using kernels::HWY_NAMESPACE::AddByteProducts;
using kernels::HWY_NAMESPACE::DInts;
using kernels::HWY_NAMESPACE::VInts;
using kernels::HWY_NAMESPACE::VSigned;

HALFTONE_VNNI Done MultiplyAddInt8(std::span<const std::uint64_t> data) {
  const DBytes d;
  /// Rows of activations that share a load of weights, and vectors of weights per step. AVX-512
  /// VNNI starts two products a cycle, each of which takes up to six: 12 independent sums.
  constexpr std::size_t kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 4;
  constexpr std::size_t kVectors = 2;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  VSigned x[kRows];
  VInts sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    x[r] = hn::BitCast(hn::RebindToSigned<DBytes>(), hn::LoadU(d, bytes + r));
    for (VInts& sum : sums[r]) sum = hn::Zero(DInts());
  }
  const std::size_t step = kVectors * hn::Lanes(d);
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 0; i + step <= data.size_bytes(); i += step) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const VBytes w = hn::LoadU(d, bytes + i + v * hn::Lanes(d));
        for (std::size_t r = 0; r < kRows; ++r) sums[r][v] = AddByteProducts(sums[r][v], w, x[r]);
      }
    }
  }
  VInts total = hn::Zero(DInts());
  for (const auto& row : sums) {
    for (const VInts& sum : row) total = hn::Add(total, sum);
  }
  const std::size_t products = kPasses * (data.size_bytes() / step * step) * kRows;
  return {2.0 * static_cast<double>(products), static_cast<double>(hn::GetLane(total))};
}

#endif

using kernels::HWY_NAMESPACE::AddCounts;
using kernels::HWY_NAMESPACE::kChunkWords;
using kernels::HWY_NAMESPACE::Popcount;
using kernels::HWY_NAMESPACE::WidenCounts;

/// Counts the bits in which four vectors differ from each vector of the data.
Done CountBits(std::span<const std::uint64_t> data) {
  const DWords d;
  constexpr std::size_t kStreams = 4;
  VWords x[kStreams];
  VWords totals[kStreams];
  for (std::size_t s = 0; s < kStreams; ++s) {
    x[s] = hn::Set(d, data[s]);
    totals[s] = hn::Zero(d);
  }
  const std::size_t vectors = data.size() / hn::Lanes(d);
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    for (std::size_t begin = 0, end = 0; begin < vectors; begin = end) {
      end = begin + std::min(kChunkWords, vectors - begin);
      VWords sums[kStreams];
      for (VWords& sum : sums) sum = hn::Zero(d);
      for (std::size_t i = begin; i < end; ++i) {
        const VWords w = hn::LoadU(d, data.data() + i * hn::Lanes(d));
        for (std::size_t s = 0; s < kStreams; ++s) {
          sums[s] = AddCounts(sums[s], Popcount(hn::Xor(w, x[s])));
        }
      }
      for (std::size_t s = 0; s < kStreams; ++s) {
        totals[s] = hn::Add(totals[s], WidenCounts(sums[s]));
      }
    }
  }
  for (std::size_t s = 1; s < kStreams; ++s) totals[0] = hn::Add(totals[0], totals[s]);
  const std::size_t bits = kPasses * kStreams * vectors * hn::Lanes(d) * 64;
  return {2.0 * static_cast<double>(bits), CheckOf(totals[0])};
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

double LookUpsPerProduct() { return 0.2; }  // one per five inputs
constexpr std::size_t kEntryBytes = 2;
HWY_INLINE VBytes LookUpIn(VBytes table, VBytes indices) {
  return VBytes{_mm512_permutexvar_epi16(indices.raw, table.raw)};
}

#else

double LookUpsPerProduct() { return 0.5; }  // two digits per four inputs
constexpr std::size_t kEntryBytes = 1;
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE VBytes LookUpIn(VBytes table, VBytes indices) { return hn::Add(table, indices); }
#else
HWY_INLINE VBytes LookUpIn(VBytes table, VBytes indices) {
  return hn::TableLookupBytes(table, indices);
}
#endif

#endif

/// Looks up each vector of the data in four tables; its bytes are below 16.
Done LookUp(std::span<const std::uint64_t> data) {
  const DBytes d;
  constexpr std::size_t kTables = 4;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  VBytes tables[kTables];
  VBytes sums[kTables];
  for (std::size_t t = 0; t < kTables; ++t) {
    tables[t] = hn::LoadU(d, bytes + t * hn::Lanes(d));
    sums[t] = hn::Zero(d);
  }
  std::size_t count = 0;
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 0; i + hn::Lanes(d) <= data.size_bytes(); i += hn::Lanes(d), ++count) {
      const VBytes indices = hn::LoadU(d, bytes + i);
      for (std::size_t t = 0; t < kTables; ++t) {
        sums[t] = hn::Add(sums[t], LookUpIn(tables[t], indices));
      }
    }
  }
  for (std::size_t t = 1; t < kTables; ++t) sums[0] = hn::Add(sums[0], sums[t]);
  return {static_cast<double>(count * kTables * hn::Lanes(d) / kEntryBytes),
          static_cast<double>(hn::GetLane(sums[0]))};
}

}  // namespace halftone::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/dot_pass-inl.h"

#if HWY_ONCE
namespace halftone::bench {

HALFTONE_EXPORT(Read);
HALFTONE_EXPORT(ReadFourStreams);
HALFTONE_EXPORT(MultiplyAddFloats);
HALFTONE_EXPORT(MultiplyAddInt8);
HALFTONE_EXPORT(CountBits);
HALFTONE_EXPORT(LookUp);
HALFTONE_EXPORT(LookUpsPerProduct);

namespace {

/// Number of bytes that a loop reads: well inside a cache level, or far larger than all caches.
std::size_t data_bytes(Limit limit) {
  switch (limit) {
    case Limit::kL2:
      return caches().l2 / 2;
    case Limit::kL3:
      // Little more than the second level holds: a third level that many cores share is far larger
      // than what one of them finds in it.
      return std::min(caches().l3 / 4, 4 * caches().l2);
    case Limit::kDram:
      return 4 * caches().l3;
    case Limit::kL1:
      return caches().l1 / 2;
    case Limit::kFloat:
    case Limit::kInt8:
    case Limit::kBinary:
    case Limit::kLookUp:
      break;
  }
  return caches().l1 / 8;  // compute loops stay in the first level
}

Done run_loop(Limit limit, std::span<const std::uint64_t> data) {
  switch (limit) {
    case Limit::kFloat:
      return HALFTONE_DISPATCH(MultiplyAddFloats)(data);
    case Limit::kInt8:
      return HALFTONE_DISPATCH_DOT(MultiplyAddInt8)(data);
    case Limit::kBinary:
      return HALFTONE_DISPATCH(CountBits)(data);
    case Limit::kLookUp:
      return HALFTONE_DISPATCH(LookUp)(data);
    case Limit::kL3:
    case Limit::kDram:
      return HALFTONE_DISPATCH(ReadFourStreams)(data);
    case Limit::kL1:
    case Limit::kL2:
      break;
  }
  return HALFTONE_DISPATCH(Read)(data);
}

}  // namespace

Prepared prepare_limit(Limit limit) {
  const auto buffer = std::make_shared<AlignedBuffer>(data_bytes(limit));
  std::uint8_t next = 0;
  for (std::uint8_t& byte : buffer->as<std::uint8_t>()) byte = next++ & 15;
  const std::span<const std::uint64_t> data = buffer->as<std::uint64_t>();
  const double amount = run_loop(limit, data).amount;
  const bool reads = limit <= Limit::kDram;
  const Work work =
      reads ? Work{amount, limit, 0, std::nullopt} : Work{0, std::nullopt, amount, limit};
  // The call goes through a dispatch table, so the compiler cannot see that its result is unused.
  return {[buffer, data, limit] { run_loop(limit, data); }, "", work};
}

double look_ups_per_product() { return HALFTONE_DISPATCH(LookUpsPerProduct)(); }

}  // namespace halftone::bench
#endif  // HWY_ONCE
