// SPDX-License-Identifier: Apache-2.0
// Shared by float_matmul.cc and float_conv.cc, once per target: tiles of rows and outputs whose
// sums stay in registers. Lanes are outputs, so that the order of a sum does not depend on the
// vector length; multiplications and additions stay separate, so that every target rounds alike.
#if defined(HALFTONE_KERNELS_FLOAT_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_FLOAT_TILES_INL_H_
#undef HALFTONE_KERNELS_FLOAT_TILES_INL_H_
#else
#define HALFTONE_KERNELS_FLOAT_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "halftone/kernels/block_range.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A product y[r, o] = start[o] + sum_k x[r][k] w[o, k], in the order of k; without a start it is
/// added to y.
struct FloatProduct {
  std::span<const float* const> x;  ///< [rows] where a row's inputs begin
  std::span<const FloatRun> runs;   ///< which of them the weights multiply, in the order of these
  FloatPanels weights;
  std::size_t done;              ///< inputs of the weights that come before those of the runs
  MatrixView<float> y;           ///< [rows, outputs]
  const float* start = nullptr;  ///< [panels, FloatPanels::kOutputs] or null
};

using FloatTag = hn::CappedTag<float, FloatPanels::kOutputs>;
/// Vectors of a panel.
constexpr std::size_t kPanelVectors = FloatPanels::kOutputs / hn::MaxLanes(FloatTag());
/// Rows of a tile: sums of 12 vectors beside those they are made of, or of 8 with long latencies.
/// @param vectors  those of a panel that hold outputs
constexpr std::size_t TileRows(std::size_t vectors) {
  return vectors == 1 ? 8 : vectors == 2 ? 6 : 3;
}
/// Panels of a tile of one row: 8 sums hide the latency of an addition.
constexpr std::size_t kWidePanels = kPanelVectors < 8 ? 8 / kPanelVectors : 1;
/// Rows whose inputs stay in the second-level cache while panels pass by.
constexpr std::size_t kBlockRows = 96;

/// The part of a product that a tile computes.
struct FloatTile {
  const float* const* x;
  std::span<const FloatRun> runs;
  const float* weights;
  std::size_t input_step;  ///< floats of the weights from one input to the next
  std::size_t panel_step;  ///< and from one panel to the next
  std::size_t first;       ///< where the inputs begin, beside the offsets of the runs
  float* y;
  std::size_t stride;
  const float* start;  ///< as FloatProduct's, from this panel on
};

/// kRows rows of kPanels panels: the first kUsed vectors of each.
template <std::size_t kRows, std::size_t kPanels, std::size_t kUsed, class D = FloatTag>
HWY_NOINLINE void AddTile(const FloatTile& tile) {
  static_assert(kPanels == 1 || kUsed == kPanelVectors);
  constexpr std::size_t kVectors = kPanels * kUsed;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t input_step = tile.input_step;
  const std::size_t panel_step = tile.panel_step;
  const float* HWY_RESTRICT w = tile.weights;
  const float* HWY_RESTRICT x[kRows];
  hn::Vec<D> sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    x[r] = tile.x[r] + tile.first;
    const float* from = tile.start == nullptr ? tile.y + r * tile.stride : tile.start;
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::LoadU(d, from + v * lanes);
  }
  for (const FloatRun& run : tile.runs) {
    const std::size_t end = std::size_t{run.offset} + run.length;
    for (std::size_t k = run.offset; k < end; ++k, w += input_step) {
      hn::Vec<D> weights[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        const float* from = w + v / kUsed * panel_step + v % kUsed * lanes;
        weights[v] = Keep(hn::LoadU(d, from));
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto input = hn::Set(d, x[r][k]);
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[r][v] = Keep(hn::Add(sums[r][v], hn::Mul(input, weights[v])));
        }
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, tile.y + r * tile.stride + v * lanes);
    }
  }
}

/// Up to kRows rows of a panel.
template <class D, std::size_t kUsed, std::size_t kRows = TileRows(kUsed)>
HWY_INLINE void AddRows(const FloatTile& tile, std::size_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return AddRows<D, kUsed, kRows - 1>(tile, rows);
  }
  AddTile<kRows, 1, kUsed, D>(tile);
}

/// Up to TileRows(kUsed) rows of a panel whose vectors end beyond the last output.
template <class D, std::size_t kUsed>
HWY_INLINE void AddPartOfPanel(FloatTile tile, std::size_t rows, std::size_t width) {
  constexpr std::size_t kOutputs = FloatPanels::kOutputs;
  alignas(64) float whole[TileRows(kUsed) * kOutputs] = {};
  float* y = tile.y;
  for (std::size_t r = 0; r < rows && tile.start == nullptr; ++r) {
    std::memcpy(whole + r * kOutputs, y + r * tile.stride, width * sizeof(float));
  }
  const std::size_t stride = tile.stride;
  tile.y = whole;
  tile.stride = kOutputs;
  AddRows<D, kUsed>(tile, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    std::memcpy(y + r * stride, whole + r * kOutputs, width * sizeof(float));
  }
}

/// All rows of a panel with outputs in its first kUsed vectors, in tiles of about the same height.
template <class D, std::size_t kUsed>
HWY_INLINE void AddVectorsOfPanel(const FloatProduct& product, FloatTile tile, std::size_t width) {
  constexpr std::size_t kRows = TileRows(kUsed);
  const std::size_t rows = product.x.size();
  const std::size_t tiles = (rows + kRows - 1) / kRows;
  float* y = tile.y;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t begin = rows * t / tiles;
    const std::size_t count = rows * (t + 1) / tiles - begin;
    tile.x = product.x.data() + begin;
    tile.y = y + begin * tile.stride;
    if (width >= kUsed * hn::Lanes(D())) {
      AddRows<D, kUsed>(tile, count);
    } else {
      AddPartOfPanel<D, kUsed>(tile, count, width);
    }
  }
}

/// All rows of a panel of `width` outputs; vectors that hold none are left out. Two vectors of 8
/// floats may take as long as one of 16.
template <std::size_t kUsed = kPanelVectors>
HWY_INLINE void AddPanel(const FloatProduct& product, const FloatTile& tile, std::size_t width) {
  if constexpr (kUsed > 1) {
    if (width <= kUsed / 2 * hn::Lanes(FloatTag())) {
      return AddPanel<kUsed / 2>(product, tile, width);
    }
  } else if constexpr (hn::MaxLanes(FloatTag()) > 8) {
    using Half = hn::CappedTag<float, 8>;
    if (width <= 8) return AddVectorsOfPanel<Half, 1>(product, tile, width);
  }
  AddVectorsOfPanel<FloatTag, kUsed>(product, tile, width);
}

/// The number of runs that fit the first-level cache together with a panel of their weights.
HWY_INLINE std::size_t RunsOfBlock(std::span<const FloatRun> runs, std::size_t& inputs) {
  constexpr std::size_t kBlockInputs = 384;
  std::size_t count = 0;
  inputs = 0;
  while (count < runs.size() && (count == 0 || inputs + runs[count].length <= kBlockInputs)) {
    inputs += runs[count++].length;
  }
  return count;
}

/// Some panels of a product of at most kBlockRows rows.
/// @param first  where the inputs begin, beside the offsets of the runs
HWY_INLINE void AddProduct(const FloatProduct& product, std::size_t first, BlockRange panels) {
  constexpr std::size_t kOutputs = FloatPanels::kOutputs;
  const std::size_t outputs = product.weights.outputs;
  std::span<const FloatRun> runs = product.runs;
  const float* start = product.start;
  for (std::size_t done = product.done; !runs.empty();) {
    std::size_t inputs = 0;
    const std::size_t count = RunsOfBlock(runs, inputs);
    for (std::size_t p = panels.begin; p < panels.end;) {
      const FloatTile tile{product.x.data(),
                           runs.first(count),
                           product.weights.panel(p) + done * product.weights.input_step,
                           product.weights.input_step,
                           product.weights.panel_step,
                           first,
                           product.y.data_handle() + p * kOutputs,
                           product.y.stride(),
                           start == nullptr ? nullptr : start + p * kOutputs};
      if (product.x.size() == 1 && p + kWidePanels <= panels.end &&
          (p + kWidePanels) * kOutputs <= outputs) {
        AddTile<1, kWidePanels, kPanelVectors>(tile);
        p += kWidePanels;
        continue;
      }
      AddPanel(product, tile, outputs - p * kOutputs);
      ++p;
    }
    done += inputs;
    runs = runs.subspan(count);
    start = nullptr;  // the remaining runs are added
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_FLOAT_TILES_INL_H_
