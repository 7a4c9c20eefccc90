// SPDX-License-Identifier: Apache-2.0
// Products of rows of signed bytes and a block of unsigned ones, with four neighbouring inputs per
// output, as the dot product of AVX-512 VNNI requires.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_BYTE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_BYTE_ROWS_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_BYTE_ROWS_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_BYTE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Outputs of a block, and neighbouring inputs of each.
constexpr std::size_t kRowOutputs = Int8Weights::kBlock;
constexpr std::size_t kQuad = 4;
/// Tiles of rows that share the levels while these are in the first-level cache.
constexpr std::size_t kBandTiles = 4;
/// Quads of activations that are copied at a time: they stay in the first-level cache.
constexpr std::size_t kChunk = 128;
/// Prefetch distance in bytes.
constexpr std::size_t kLevelsAhead = 8192;

/// Prefetches levels, in the first of the passes over a chunk.
/// @param outputs  of a pass
HWY_INLINE void PrefetchLevels(const std::uint8_t* levels, std::size_t first_output,
                               std::size_t outputs) {
  if (outputs == kRowOutputs || first_output == 0) {
    PrefetchFar(levels + kLevelsAhead, kRowOutputs * kQuad);
  }
}

// The multiplication is a class
//
//     struct Products {
//       using Activation;        // as an activation is copied
//       kOffset;                 // subtracted from the levels
//       kMaxRows;                // rows whose sums fit the registers
//       /// sums[r][o] += products of `quads` quads.
//       /// @param levels  [quads, 32, 4]
//       /// @param x       [kRows, kChunk, 4]
//       /// @param sums    [kRows, 32]
//       template <std::size_t kRows>
//       static void Add(const std::uint8_t* levels, const Activation* x, std::size_t quads,
//                       std::int32_t* sums);
//     };

#if HWY_TARGET == HWY_SCALAR

struct PlainProducts {
  using Activation = std::int16_t;
  static constexpr int kOffset = 0;
  static constexpr std::size_t kMaxRows = 1;

  template <std::size_t kRows>
  static void Add(const std::uint8_t* HWY_RESTRICT levels, const Activation* HWY_RESTRICT x,
                  std::size_t quads, std::int32_t* HWY_RESTRICT sums) {
    static_assert(kRows == 1);
    for (std::size_t p = 0; p < quads; ++p) {
      for (std::size_t o = 0; o < kRowOutputs; ++o) {
        for (std::size_t i = 0; i < kQuad; ++i) {
          sums[o] += levels[(p * kRowOutputs + o) * kQuad + i] * x[p * kQuad + i];
        }
      }
    }
  }
};
/// For levels up to 127.
using FewBits = PlainProducts;

#else

/// Multiplies bytes directly. Per quad, row and vector of outputs one product of bytes.
/// @tparam kLevelsLess  0 for levels up to 127, else kLevelOffset
template <int kLevelsLess>
struct ByteProducts {
  using Activation = std::int8_t;
  static constexpr int kOffset = kLevelsLess;
  static constexpr std::size_t kMaxRows = HWY_TARGET <= HWY_AVX3 || HALFTONE_USES_SDOT ? 11 : 5;
  /// Outputs whose four inputs fill a vector.
  static constexpr std::size_t kOutputs = hn::MaxLanes(DBytes()) / kQuad;
  /// Vectors of sums per row. With two there are two vectors of levels, one of activations, one of
  /// products and one of ones: 15 registers, or 27 of the 32 of AVX-512. NEON_DOT needs neither
  /// products nor ones: the sums and levels of two rows take 24 registers, of five as many.
  static constexpr std::size_t vectors_of(std::size_t rows) {
    if (HALFTONE_USES_SDOT && rows <= 5) return rows <= 2 ? 8 : 4;
    return std::min<std::size_t>(kRowOutputs / kOutputs, rows == 1 ? 4 : 2);
  }

  /// Sums of an output that do not wait for each other: for few rows on AVX-512, whose two vectors
  /// of sums per row are fewer than a product takes cycles.
  static constexpr std::size_t sums_of(std::size_t rows) {
    return HWY_TARGET > HWY_AVX3 || rows > 2 ? 1 : 4 / rows;
  }

  template <std::size_t kRows>
  static HALFTONE_VNNI void Add(const std::uint8_t* HWY_RESTRICT levels,
                                const Activation* HWY_RESTRICT x, std::size_t quads,
                                std::int32_t* HWY_RESTRICT sums) {
    const DBytes d;
    const DInts d32;
    constexpr std::size_t kVectors = vectors_of(kRows);
    constexpr std::size_t kSums = sums_of(kRows);
    for (std::size_t first = 0; first < kRowOutputs; first += kVectors * kOutputs) {
      VInts acc[kSums][kRows][kVectors];
      for (auto& sum : acc) {
        for (auto& row : sum) std::fill_n(row, kVectors, hn::Zero(d32));
      }
      const std::uint8_t* HWY_RESTRICT w = levels + first * kQuad;
      const auto add_quad = [&](std::size_t p, VInts(&to)[kRows][kVectors])
          __attribute__((always_inline)) HALFTONE_VNNI {
        PrefetchLevels(w, first, kVectors * kOutputs);
        VBytes level[kVectors];
        for (std::size_t v = 0; v < kVectors; ++v) {
          level[v] = Keep(LessOffset<kOffset>(hn::LoadU(d, w + v * kOutputs * kQuad)));
        }
        for (std::size_t r = 0; r < kRows; ++r) {
          const Quad inputs = Keep(LoadQuad(x + (r * kChunk + p) * kQuad));
          for (std::size_t v = 0; v < kVectors; ++v) {
            to[r][v] = Keep(AddByteProducts(to[r][v], level[v], inputs));
          }
        }
        w += kRowOutputs * kQuad;
      };
      std::size_t p = 0;
      for (; p + kSums <= quads; p += kSums) {
        for (std::size_t s = 0; s < kSums; ++s) add_quad(p + s, acc[s]);
      }
      for (; p < quads; ++p) add_quad(p, acc[0]);
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          std::int32_t* to = sums + r * kRowOutputs + first + v * kOutputs;
          VInts sum = hn::LoadU(d32, to);
          for (std::size_t s = 0; s < kSums; ++s) sum = hn::Add(sum, acc[s][r][v]);
          hn::StoreU(sum, d32, to);
        }
      }
    }
  }
};
/// For levels up to 127.
using FewBits = ByteProducts<0>;

#endif

/// Products::Add of 1 to kRows rows.
template <class Products, std::size_t kRows = Products::kMaxRows>
HWY_INLINE void AddTile(std::size_t rows, const std::uint8_t* levels,
                        const typename Products::Activation* x, std::size_t quads,
                        std::int32_t* sums) {
  if (rows == kRows) return Products::template Add<kRows>(levels, x, quads, sums);
  if constexpr (kRows > 1) AddTile<Products, kRows - 1>(rows, levels, x, quads, sums);
}

/// Calls body(first, count) for parts of `rows` rows, each of at most `max_rows` and about the same
/// size.
template <class Body>
HWY_INLINE void ForEachPart(std::size_t rows, std::size_t max_rows, const Body& body) {
  std::size_t parts = (rows + max_rows - 1) / max_rows;
  for (std::size_t first = 0; first < rows; --parts) {
    const std::size_t count = (rows - first + parts - 1) / parts;
    body(first, count);
    first += count;
  }
}

/// The same for any number of rows, while the levels are in the first-level cache.
template <class Products>
HWY_INLINE void AddRows(std::size_t rows, const std::uint8_t* levels,
                        const typename Products::Activation* x, std::size_t quads,
                        std::int32_t* sums) {
  ForEachPart(rows, Products::kMaxRows, [&](std::size_t first, std::size_t count) HWY_ATTR {
    AddTile<Products>(count, levels, x + first * kChunk * kQuad, quads, sums + first * kRowOutputs);
  });
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
