// SPDX-License-Identifier: Apache-2.0
// The counting loops of bit_conv() for tables of each pixel: windows of tables against planes of
// weights, which index them. With AVX-512 one instruction looks up 64 weights, 16 outputs of four
// columns or of four parts of the inputs; its bytes are summed while they fit, then folded into 16
// counts of 32 bits by dot products of four bytes.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_PERMUTE_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_PERMUTE_WINDOWS_INL_H_
#undef HALFTONE_KERNELS_CONV_PERMUTE_WINDOWS_INL_H_
#else
#define HALFTONE_KERNELS_CONV_PERMUTE_WINDOWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/conv/bit_finish-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kTableBytes = BitConvWeights::kVectorBytes;

/// Neighbouring windows of the strip of a digit.
struct TableWindows {
  const std::uint8_t* first;
  std::size_t stride;  ///< bytes from a window to the next
  std::size_t count;

  [[nodiscard]] TableWindows from(std::size_t window) const {
    return {first + window * stride, stride, count - window};
  }
};

/// The weights of all columns of a panel, in vectors of 64 bytes.
struct Vectors {
  const std::uint8_t* weights;
  std::size_t piece_bytes;  ///< from a piece to the next
  std::span<const std::uint32_t> inputs;
  std::size_t max_pieces;  ///< so many look-ups fit a byte

  [[nodiscard]] Vectors from(std::size_t vector) const {
    return {weights + vector * kTableBytes, piece_bytes, inputs, max_pieces};
  }
};

/// Windows whose tables are looked up together: digits of neighbouring pixels.
constexpr std::size_t kMaxTables = 32;
/// Numbers from the counts of a column to those of the next. No power of two, so that counts of a
/// window differ in the lower 12 bits of their addresses, by which processors order loads and
/// stores.
constexpr std::size_t kColumnCounts = (kMaxTables + 8) * kBlock;

#if HWY_TARGET == HWY_AVX3_DL

/// sum + v, in the register where the sum is: GCC 12 otherwise adds into others, and copies these.
HWY_INLINE VBytes AddBytesInPlace(VBytes sum, VBytes v) {
#if HWY_COMPILER_GCC_ACTUAL
  asm("vpaddb %1, %0, %0" : "+v"(sum.raw) : "v"(v.raw));
  return sum;
#else
  return hn::Add(sum, v);
#endif
}

/// Adds up groups of four bytes in lanes of 32 bits: all four, or one after the other.
/// @tparam kFirst  whether the counts are not yet there
/// @param counts   [kFolds, kColumnCounts], of the window
template <std::size_t kFolds, bool kFirst>
HALFTONE_VNNI HWY_INLINE void Fold(VBytes sums, std::int32_t* HWY_RESTRICT counts) {
  const DInts d32;
  for (std::size_t f = 0; f < kFolds; ++f) {
    const auto selected = hn::Set(d32, kFolds == 1 ? 0x01010101 : 1 << 8 * f);
    VInts count = hn::Zero(d32);
    if constexpr (!kFirst) count = hn::LoadU(d32, counts + f * kColumnCounts);
    count = AddByteProducts(count, sums, hn::BitCast(DSigned(), selected));
    hn::StoreU(count, d32, counts + f * kColumnCounts);
  }
}

/// Fold of all sums.
/// @param sums  [kCount, kVectors]
template <std::size_t kFolds, bool kFirst, std::size_t kVectors, std::size_t kCount>
HALFTONE_VNNI HWY_INLINE void FoldAll(const VBytes (&sums)[kCount][kVectors],
                                      std::int32_t* HWY_RESTRICT counts) {
  for (std::size_t s = 0; s < kCount; ++s) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Fold<kFolds, kFirst>(sums[s][v], counts + v * kFolds * kColumnCounts + s * kBlock);
    }
  }
}

/// Counts how far the digits of kCount windows are from the weights of kVectors vectors.
/// @param counts  [kVectors kFolds, kColumnCounts], from the first window on
template <std::size_t kFolds, std::size_t kVectors, std::size_t kCount>
HALFTONE_VNNI void CountTables(const TableWindows& x, const Vectors& all,
                               std::int32_t* HWY_RESTRICT counts) {
  const DBytes d;
  const std::size_t stride = x.stride;
  const std::size_t piece_bytes = all.piece_bytes;
  const std::uint8_t* HWY_RESTRICT weights = all.weights;
  const std::uint32_t* HWY_RESTRICT input = all.inputs.data();
  const std::uint32_t* const end = input + all.inputs.size();
  bool first_run = true;
  do {
    VBytes sums[kCount][kVectors];
    for (auto& window : sums) {
      for (VBytes& v : window) v = hn::Zero(d);
    }
    const auto left = static_cast<std::size_t>(end - input);
    const std::uint32_t* const run_end = input + std::min(all.max_pieces, left);
    for (; input != run_end; ++input, weights += piece_bytes) {
      VBytes index[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        index[v] = Keep(hn::LoadU(d, weights + v * kTableBytes));
      }
      const std::uint8_t* table = x.first + std::size_t{*input} * kTableBytes;
      const std::uint8_t* upper = table + 8 * stride;  // few multiples of the stride suffice
      for (std::size_t s = 0; s < kCount; ++s) {
        VBytes entries = hn::LoadU(d, (s < 8 ? table : upper) + s % 8 * stride);
        if constexpr (kVectors > 1) entries = Keep(entries);
        for (std::size_t v = 0; v < kVectors; ++v) {
          const VBytes looked_up{_mm512_permutexvar_epi8(index[v].raw, entries.raw)};
          sums[s][v] = AddBytesInPlace(sums[s][v], looked_up);
        }
      }
    }
    if (first_run) {
      FoldAll<kFolds, true>(sums, counts);
    } else {
      FoldAll<kFolds, false>(sums, counts);
    }
    first_run = false;
  } while (input != end);
}

/// CountTables of all windows.
template <std::size_t kFolds, std::size_t kVectors, std::size_t kCount = 16 / kVectors>
void CountAll(TableWindows x, const Vectors& vectors, std::int32_t* counts) {
  for (; x.count >= kCount; x = x.from(kCount), counts += kCount * kBlock) {
    CountTables<kFolds, kVectors, kCount>(x, vectors, counts);
  }
  if constexpr (kCount > 1) CountAll<kFolds, kVectors, kCount / 2>(x, vectors, counts);
}

#else

/// The same in plain loops.
template <std::size_t kFolds, std::size_t kVectors>
void CountAll(const TableWindows& x, const Vectors& vectors, std::int32_t* counts) {
  for (std::size_t s = 0; s < x.count; ++s, counts += kBlock) {
    for (std::size_t c = 0; c < kVectors * kFolds; ++c) {
      std::fill_n(counts + c * kColumnCounts, kBlock, 0);
    }
    const std::uint8_t* weights = vectors.weights;
    for (const std::uint32_t input : vectors.inputs) {
      const std::uint8_t* table = x.first + s * x.stride + std::size_t{input} * kTableBytes;
      for (std::size_t b = 0; b < kVectors * kTableBytes; ++b) {
        const std::size_t column = b / kTableBytes * kFolds + b % kFolds;
        counts[column * kColumnCounts + b % kTableBytes / 4] += table[weights[b]];
      }
      weights += vectors.piece_bytes;
    }
  }
}

#endif

/// CountAll of all columns of a panel, two vectors at a time.
/// @param counts  [columns, kColumnCounts], the columns rounded up to whole vectors
template <std::size_t kFolds>
void CountColumns(const TableWindows& x, const Vectors& vectors, std::int32_t* counts) {
  const std::size_t num_vectors = vectors.piece_bytes / kTableBytes;
  std::size_t v = 0;
  for (; v + 2 <= num_vectors; v += 2) {
    CountAll<kFolds, 2>(x, vectors.from(v), counts + v * kFolds * kColumnCounts);
  }
  if (v < num_vectors) {
    CountAll<kFolds, 1>(x, vectors.from(v), counts + v * kFolds * kColumnCounts);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
