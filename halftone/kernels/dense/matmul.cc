// SPDX-License-Identifier: Apache-2.0
// Tiles of C stay in registers while k runs over a block of the depth, then return to memory, which
// keeps the order of each sum. B is packed into panels as wide as a tile, unless A has few rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/dense/matmul.cc"
#include "halftone/kernels/dense/matmul.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kTileRows = 6;
constexpr std::size_t kTileVectors = 2;
constexpr std::size_t kDepth = 128;
constexpr std::size_t kWidthBytes = 1024;
/// Up to this many rows, packing B costs more than it saves, so B is streamed row by row.
constexpr std::size_t kMaxStreamedRows = 8;
constexpr std::size_t kStreamedDepth = 8;

template <typename T>
HWY_INLINE std::size_t TileWidth() {
  return kTileVectors * hn::Lanes(hn::ScalableTag<T>());
}

/// Some rows of A over a block of the depth: element (r, k) at data + r row_stride + k
/// depth_stride.
template <typename T>
struct RowsOfA {
  const T* data;
  std::size_t row_stride;
  std::size_t depth_stride;
};

/// A block [depth, cols] of B in panels as wide as a tile.
template <typename T>
struct Panels {
  const T* data;
  std::size_t panel_step;  ///< from panel to panel
  std::size_t stride;      ///< from row to row within a panel
  const T* tail;           ///< the last panel where it is narrower than a tile, padded with zeros
  std::size_t depth;
  std::size_t cols;
};

/// A block of C.
template <typename T>
struct BlockOfC {
  T* data;
  std::size_t stride;
  std::ptrdiff_t diagonal;  ///< of row r, elements from column diagonal + r on are computed
};

/// C [kRows, tile width] += rows of A times a panel.
template <typename T, std::size_t kRows>
HWY_INLINE void Tile(const RowsOfA<T>& a, const T* HWY_RESTRICT b, std::size_t b_stride,
                     std::size_t depth, T* HWY_RESTRICT c, std::size_t c_stride) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<hn::ScalableTag<T>> sums[kRows][kTileVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      sums[r][v] = hn::LoadU(d, c + r * c_stride + v * lanes);
    }
  }
  const T* factors = a.data;
  const std::size_t row_stride = a.row_stride;
  for (std::size_t k = 0; k < depth; ++k, b += b_stride, factors += a.depth_stride) {
    hn::Vec<hn::ScalableTag<T>> row[kTileVectors];
    for (std::size_t v = 0; v < kTileVectors; ++v) row[v] = hn::LoadU(d, b + v * lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, factors[r * row_stride]);
      for (std::size_t v = 0; v < kTileVectors; ++v) {
        sums[r][v] = hn::Add(sums[r][v], hn::Mul(factor, row[v]));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      hn::StoreU(sums[r][v], d, c + r * c_stride + v * lanes);
    }
  }
}

/// A tile of which only the columns [first + r, cols) of row r belong to C, r from 0.
template <typename T, std::size_t kRows>
HWY_INLINE void PartOfTile(const RowsOfA<T>& a, const T* b, std::size_t b_stride, std::size_t depth,
                           const BlockOfC<T>& c, std::size_t cols) {
  const std::size_t width = TileWidth<T>();
  HWY_ALIGN T whole[kRows * kTileVectors * HWY_MAX_BYTES / sizeof(T)] = {};
  const auto first = [&](std::size_t r) {
    return static_cast<std::size_t>(
        std::max<std::ptrdiff_t>(0, c.diagonal + static_cast<std::ptrdiff_t>(r)));
  };
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = first(r); j < cols; ++j) whole[r * width + j] = c.data[r * c.stride + j];
  }
  Tile<T, kRows>(a, b, b_stride, depth, whole, width);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = first(r); j < cols; ++j) c.data[r * c.stride + j] = whole[r * width + j];
  }
}

/// kRows rows of a block of C.
template <typename T, std::size_t kRows>
HWY_INLINE void RowOfTiles(const RowsOfA<T>& a, const Panels<T>& b, const BlockOfC<T>& c) {
  const std::size_t width = TileWidth<T>();
  for (std::size_t j = 0; j < b.cols; j += width) {
    const auto diagonal = c.diagonal - static_cast<std::ptrdiff_t>(j);
    if (diagonal >= static_cast<std::ptrdiff_t>(width)) continue;
    const bool is_tail = j + width > b.cols;
    const T* panel = is_tail ? b.tail : b.data + j / width * b.panel_step;
    const std::size_t stride = is_tail ? width : b.stride;
    if (is_tail || diagonal + static_cast<std::ptrdiff_t>(kRows) > 1) {
      PartOfTile<T, kRows>(a, panel, stride, b.depth, {c.data + j, c.stride, diagonal},
                           std::min(width, b.cols - j));
    } else {
      Tile<T, kRows>(a, panel, stride, b.depth, c.data + j, c.stride);
    }
  }
}

/// Columns [j, j + cols) of B, rows [k, k + depth), as a panel; the rest of it is zero.
template <typename T>
HWY_INLINE void PackPanel(const Factor<T>& b, std::size_t k, std::size_t depth, std::size_t j,
                          std::size_t cols, T* HWY_RESTRICT panel) {
  const std::size_t width = TileWidth<T>();
  const std::size_t stride = b.stored.stride();
  if (cols < width) std::fill_n(panel, depth * width, T{0});
  if (b.is_transposed) {
    for (std::size_t c = 0; c < cols; ++c) {
      const T* src = b.stored.data_handle() + (j + c) * stride + k;
      for (std::size_t i = 0; i < depth; ++i) panel[i * width + c] = src[i];
    }
    return;
  }
  const T* src = b.stored.data_handle() + k * stride + j;
  for (std::size_t i = 0; i < depth; ++i) {
    std::memcpy(panel + i * width, src + i * stride, cols * sizeof(T));
  }
}

/// kRows rows of A from row i, columns [k, k + depth): in place, or packed with the sign of the
/// update.
template <typename T, std::size_t kRows>
HWY_INLINE RowsOfA<T> TakeRows(const Factor<T>& a, std::size_t i, std::size_t k, std::size_t depth,
                               Update update, T* HWY_RESTRICT packed) {
  const std::size_t stride = a.stored.stride();
  if (!a.is_transposed && update != Update::kSubtract) {
    return {a.stored.data_handle() + i * stride + k, stride, 1};
  }
  const T* src = a.stored.data_handle() + (a.is_transposed ? k * stride + i : i * stride + k);
  const std::size_t row_stride = a.is_transposed ? 1 : stride;
  const std::size_t depth_stride = a.is_transposed ? stride : 1;
  const T sign = update == Update::kSubtract ? T{-1} : T{1};
  for (std::size_t n = 0; n < depth; ++n) {
    for (std::size_t r = 0; r < kRows; ++r) {
      packed[n * kRows + r] = sign * src[n * depth_stride + r * row_stride];
    }
  }
  return {packed, 1, kRows};
}

/// All rows of C, for a block of the depth and of the columns of B.
template <typename T>
HWY_INLINE void AllRows(const Factor<T>& a, const Panels<T>& b, std::size_t k, std::size_t j,
                        MatrixView<T> c, Update update, Region region) {
  HWY_ALIGN T packed[kTileRows * kDepth];
  const auto rows = [&]<std::size_t kRows>(std::size_t i) HWY_ATTR {
    // Far left of every column if all elements are computed.
    const std::ptrdiff_t diagonal =
        region == Region::kUpper ? static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j)
                                 : -static_cast<std::ptrdiff_t>(kTileRows + c.cols());
    RowOfTiles<T, kRows>(TakeRows<T, kRows>(a, i, k, b.depth, update, packed), b,
                         {c.data_handle() + i * c.stride() + j, c.stride(), diagonal});
  };
  std::size_t i = 0;
  for (; i + 6 <= c.rows(); i += 6) rows.template operator()<6>(i);
  for (; i + 4 <= c.rows(); i += 4) rows.template operator()<4>(i);
  for (; i + 2 <= c.rows(); i += 2) rows.template operator()<2>(i);
  for (; i < c.rows(); ++i) rows.template operator()<1>(i);
}

/// For many rows: blocks of B are packed once for all of them.
template <typename T>
HWY_NOINLINE void MultiplyPacked(const Factor<T>& a, const Factor<T>& b, MatrixView<T> c,
                                 Update update, Region region) {
  constexpr std::size_t kWidth = kWidthBytes / sizeof(T);
  HWY_ALIGN T packed[kDepth * kWidth];
  const std::size_t width = TileWidth<T>();
  for (std::size_t k = 0; k < a.cols(); k += kDepth) {
    const std::size_t depth = std::min(kDepth, a.cols() - k);
    for (std::size_t j = 0; j < c.cols(); j += kWidth) {
      const std::size_t cols = std::min(kWidth, c.cols() - j);
      for (std::size_t p = 0; p < cols; p += width) {
        PackPanel(b, k, depth, j + p, std::min(width, cols - p), packed + p * depth);
      }
      const Panels<T> panels{packed, width * depth, width, packed + cols / width * width * depth,
                             depth,  cols};
      AllRows(a, panels, k, j, c, update, region);
    }
  }
}

/// For few rows: the rows of B are read in place, a few at a time.
template <typename T>
HWY_NOINLINE void MultiplyStreamed(const Factor<T>& a, const Factor<T>& b, MatrixView<T> c,
                                   Update update, Region region) {
  HWY_ALIGN T tail[kStreamedDepth * kTileVectors * HWY_MAX_BYTES / sizeof(T)];
  const std::size_t width = TileWidth<T>();
  const std::size_t whole = c.cols() / width * width;
  for (std::size_t k = 0; k < a.cols(); k += kStreamedDepth) {
    const std::size_t depth = std::min(kStreamedDepth, a.cols() - k);
    if (whole < c.cols()) PackPanel(b, k, depth, whole, c.cols() - whole, tail);
    const std::size_t stride = b.stored.stride();
    const Panels<T> panels{
        b.stored.data_handle() + k * stride, width, stride, tail, depth, c.cols()};
    AllRows(a, panels, k, 0, c, update, region);
  }
}

template <typename T>
HWY_INLINE void Multiply(const Factor<T>& a, const Factor<T>& b, MatrixView<T> c, Update update,
                         Region region) {
  if (update == Update::kAssign) {
    for (std::size_t i = 0; i < c.rows(); ++i) {
      const std::size_t first = region == Region::kUpper ? std::min(i, c.cols()) : 0;
      std::ranges::fill(c.row(i).subspan(first), T{0});
    }
  }
  if (c.rows() <= kMaxStreamedRows && !b.is_transposed) {
    MultiplyStreamed(a, b, c, update, region);
  } else {
    MultiplyPacked(a, b, c, update, region);
  }
}

void MatmulF64(const Factor<double>& a, const Factor<double>& b, MatrixView<double> c,
               Update update, Region region) {
  Multiply(a, b, c, update, region);
}

void MatmulF32(const Factor<float>& a, const Factor<float>& b, MatrixView<float> c, Update update,
               Region region) {
  Multiply(a, b, c, update, region);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(MatmulF64);
HALFTONE_EXPORT(MatmulF32);

void matmul(const Factor<double>& a, const Factor<double>& b, MatrixView<double> c, Update update,
            Region region) noexcept {
  HALFTONE_ASSERT(a.rows() == c.rows() && a.cols() == b.rows() && b.cols() == c.cols());
  HALFTONE_DISPATCH(MatmulF64)(a, b, c, update, region);
}

void matmul(const Factor<float>& a, const Factor<float>& b, MatrixView<float> c, Update update,
            Region region) noexcept {
  HALFTONE_ASSERT(a.rows() == c.rows() && a.cols() == b.rows() && b.cols() == c.cols());
  HALFTONE_DISPATCH(MatmulF32)(a, b, c, update, region);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
