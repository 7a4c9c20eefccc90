// SPDX-License-Identifier: Apache-2.0
// The counting loops of bit_conv(): windows of positions against planes of weights.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_COUNT_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_COUNT_WINDOWS_INL_H_
#undef HALFTONE_KERNELS_CONV_COUNT_WINDOWS_INL_H_
#else
#define HALFTONE_KERNELS_CONV_COUNT_WINDOWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "halftone/kernels/conv/bit_finish-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Windows that are counted together: digits of neighbouring pixels.
constexpr std::size_t kMaxWindows = 16;
/// Bytes of a piece of two columns, which are planes of blocks.
constexpr std::size_t kPairBytes = 4 * kBlock;

/// Columns of a panel, against windows of a digit of the strip.
struct Columns {
  const std::uint8_t* weights;  ///< from the first of the columns on
  std::size_t piece_bytes;      ///< from a piece to the next
  std::span<const std::uint32_t> inputs;
  const std::uint8_t* tables;  ///< of the digit
  std::size_t reach;           ///< of the digit
};

#if HWY_TARGET == HWY_SCALAR

/// Counts all columns of a panel, one after the other.
template <bool kHalves>
void CountPanel(std::size_t num_windows, const std::uint16_t* const* x, const Columns& columns,
                std::size_t num_columns, std::uint16_t* counts) {
  for (std::size_t c = 0; c < num_columns; ++c) {
    const bool lone = !kHalves || (c % 2 == 0 && c + 1 == num_columns);
    const std::size_t half_bytes = lone ? kBlock : 2 * kBlock;
    const std::uint8_t* const column =
        columns.weights + c / 2 * kPairBytes + c % 2 * (kHalves ? kBlock : 2 * kBlock);
    for (std::size_t s = 0; s < num_windows; ++s) {
      std::uint16_t* const to = counts + (c * kMaxWindows + s) * kBlock;
      std::fill_n(to, kBlock, std::uint16_t{0});
      const std::uint8_t* piece = column;
      for (const std::uint32_t input : columns.inputs) {
        for (std::size_t half = 0; half < 2; ++half) {
          const std::size_t table = kHalves ? x[s][2 * input + half] : x[s][input] + half * kBlock;
          for (std::size_t o = 0; o < kBlock; ++o) {
            const std::uint8_t w = piece[half * half_bytes + o];
            to[o] = static_cast<std::uint16_t>(to[o] + columns.tables[table + w]);
          }
        }
        piece += columns.piece_bytes;
      }
    }
  }
}

#else

using DBytes = hn::CappedTag<std::uint8_t, 2 * kBlock>;
using VBytes = hn::Vec<DBytes>;
constexpr std::size_t kByteLanes = hn::MaxLanes(DBytes());
/// Vectors of half a piece of two columns, or of a whole piece of one.
constexpr std::size_t kVectors = 2 * kBlock / kByteLanes;

/// sum + v, in the register where the sum is: GCC 12 otherwise adds into others, and copies or
/// spills these.
HWY_INLINE VBytes AddInPlace(VBytes sum, VBytes v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_TARGET == HWY_AVX2
  asm("vpaddb %1, %0, %0" : "+x"(sum.raw) : "x"(v.raw));
  return sum;
#else
  return hn::Add(sum, v);
#endif
}

/// Sums of bytes on their way to counts of 16 bits.
struct WideSums {
  alignas(64) std::uint8_t bytes[2 * kBlock];

  HWY_INLINE explicit WideSums(const VBytes* sums) {
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sums[v], DBytes(), bytes + v * kByteLanes);
  }
  /// counts[o] += the sums of outputs from `first` on; `=` in the first run.
  HWY_INLINE void AddOne(std::size_t first, bool first_run,
                         std::uint16_t* HWY_RESTRICT counts) const {
    const hn::CappedTag<std::uint16_t, kBlock> d16;
    const hn::Rebind<std::uint8_t, decltype(d16)> d8;
    for (std::size_t o = 0; o < kBlock; o += hn::MaxLanes(d16)) {
      auto sum = hn::PromoteTo(d16, hn::LoadU(d8, bytes + first + o));
      if (!first_run) sum = hn::Add(sum, hn::LoadU(d16, counts + o));
      hn::StoreU(sum, d16, counts + o);
    }
  }
};

/// Counts columns if one position selects the tables of both halves of a piece.
template <std::size_t kColumns>
struct WholePieces {
  static constexpr std::size_t kSums = kColumns * kVectors;
  static constexpr std::size_t kPositions = 1;  ///< of a piece
  static constexpr std::size_t kSteps = 1;
  static constexpr std::size_t kLookups = 1;  ///< of a piece per byte

  static HWY_INLINE std::size_t Offset(std::size_t /*step*/, std::size_t v) {
    return v * kByteLanes;
  }
  static HWY_INLINE void LoadTables(const std::uint8_t* tables, const std::uint16_t* window,
                                    std::size_t /*step*/, VBytes* to) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      to[v] = Keep(hn::Load(DBytes(), tables + window[0] + v * kByteLanes));
    }
  }
  static constexpr std::size_t Table(std::size_t v) { return v % kVectors; }
  static HWY_INLINE void Widen(const VBytes* sums, bool first_run,
                               std::uint16_t* HWY_RESTRICT counts) {
    for (std::size_t c = 0; c < kColumns; ++c, counts += kMaxWindows * kBlock) {
      const WideSums wide(sums + c * kVectors);
      wide.AddOne(0, first_run, counts);
      wide.AddOne(kBlock, false, counts);
    }
  }
};

/// Counts a column without a partner if each half has its own position.
struct LoneColumn : WholePieces<1> {
  static constexpr std::size_t kPositions = 2;

  static HWY_INLINE void LoadTables(const std::uint8_t* tables, const std::uint16_t* window,
                                    std::size_t /*step*/, VBytes* to) {
    const DBytes d;
    if constexpr (kVectors == 1) {
      const hn::Half<DBytes> half;
      to[0] = Keep(
          hn::Combine(d, hn::Load(half, tables + window[1]), hn::Load(half, tables + window[0])));
    } else {
      for (std::size_t v = 0; v < kVectors; ++v) to[v] = Keep(hn::Load(d, tables + window[v]));
    }
  }
};

/// Counts other columns if each half has its own position: a vector holds one half of the pieces of
/// two columns.
template <std::size_t kPairs>
struct PairedColumns {
  static constexpr std::size_t kSums = kPairs * kVectors;
  static constexpr std::size_t kPositions = 2;
  static constexpr std::size_t kSteps = 2;
  static constexpr std::size_t kLookups = 2;

  static HWY_INLINE std::size_t Offset(std::size_t step, std::size_t v) {
    return v / kVectors * kPairBytes + step * 2 * kBlock + v % kVectors * kByteLanes;
  }
  static HWY_INLINE void LoadTables(const std::uint8_t* tables, const std::uint16_t* window,
                                    std::size_t step, VBytes* to) {
    to[0] = Keep(hn::LoadDup128(DBytes(), tables + window[step]));
  }
  static constexpr std::size_t Table(std::size_t /*v*/) { return 0; }
  static HWY_INLINE void Widen(const VBytes* sums, bool first_run,
                               std::uint16_t* HWY_RESTRICT counts) {
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      const WideSums wide(sums + pair * kVectors);
      for (std::size_t c = 0; c < 2; ++c, counts += kMaxWindows * kBlock) {
        wide.AddOne(c * kBlock, first_run, counts);
      }
    }
  }
};

/// Counts how far the digits of kCount windows are from the planes of some columns.
/// @tparam W       how they are counted
/// @param x       [kCount] first positions of the windows in the strip
/// @param counts  [columns, kMaxWindows, 16] from the first window on
template <class W, std::size_t kCount>
void CountDifferences(const std::uint16_t* const* HWY_RESTRICT x, const Columns& all,
                      std::uint16_t* HWY_RESTRICT counts) {
  const DBytes d;
  const Columns columns = all;  // which no count overwrites
  const std::uint8_t* HWY_RESTRICT piece = columns.weights;
  const std::size_t pieces = columns.inputs.size();
  const std::uint32_t* HWY_RESTRICT inputs = columns.inputs.data();
  // As many pieces as fit a byte: a look-up is at most 4 M.
  const std::size_t run = 255 / (4 * W::kLookups * columns.reach);
  std::size_t p = 0;
  do {
    const bool first_run = p == 0;
    const std::size_t end = std::min(p + run, pieces);
    VBytes sums[kCount][W::kSums];
    for (auto& window : sums) {
      for (VBytes& v : window) v = hn::Zero(d);
    }
    for (; p < end; ++p, piece += columns.piece_bytes) {
      const std::size_t at = W::kPositions * inputs[p];
      for (std::size_t step = 0; step < W::kSteps; ++step) {
        VBytes weights[W::kSums];
        for (std::size_t v = 0; v < W::kSums; ++v) {
          weights[v] = Keep(hn::LoadU(d, piece + W::Offset(step, v)));
        }
        for (std::size_t s = 0; s < kCount; ++s) {
          VBytes tables[kVectors];
          W::LoadTables(columns.tables, x[s] + at, step, tables);
          for (std::size_t v = 0; v < W::kSums; ++v) {
            sums[s][v] =
                AddInPlace(sums[s][v], hn::TableLookupBytes(tables[W::Table(v)], weights[v]));
          }
        }
      }
    }
    for (std::size_t s = 0; s < kCount; ++s) W::Widen(sums[s], first_run, counts + s * kBlock);
  } while (p < pieces);
}

/// CountDifferences of any number of windows, as many at a time as the registers hold counts for,
/// next to the weights, a table and a result.
template <class W, std::size_t kCount = 8 / W::kSums>
HWY_INLINE void CountWindows(std::size_t num_windows, const std::uint16_t* const* x,
                             const Columns& columns, std::uint16_t* counts) {
  std::size_t s = 0;
  for (; s + kCount <= num_windows; s += kCount) {
    CountDifferences<W, kCount>(x + s, columns, counts + s * kBlock);
  }
  if constexpr (kCount > 1) {
    CountWindows<W, kCount / 2>(num_windows - s, x + s, columns, counts + s * kBlock);
  }
}

/// CountWindows of all columns of a panel: fours, a pair, a lone one.
/// @tparam kHalves  whether each half of a piece has its position
/// @param counts  [num_columns, kMaxWindows, 16]
template <bool kHalves>
void CountPanel(std::size_t num_windows, const std::uint16_t* const* x, Columns columns,
                std::size_t num_columns, std::uint16_t* counts) {
  using Four = std::conditional_t<kHalves, PairedColumns<2>, WholePieces<4> >;
  using Two = std::conditional_t<kHalves, PairedColumns<1>, WholePieces<2> >;
  using One = std::conditional_t<kHalves, LoneColumn, WholePieces<1> >;
  constexpr std::size_t kColumnCounts = kMaxWindows * kBlock;
  std::size_t c = 0;
  for (; c + 4 <= num_columns; c += 4) {
    CountWindows<Four>(num_windows, x, columns, counts + c * kColumnCounts);
    columns.weights += 2 * kPairBytes;
  }
  if (c + 2 <= num_columns) {
    CountWindows<Two>(num_windows, x, columns, counts + c * kColumnCounts);
    columns.weights += kPairBytes;
    c += 2;
  }
  if (c != num_columns) CountWindows<One>(num_windows, x, columns, counts + c * kColumnCounts);
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
