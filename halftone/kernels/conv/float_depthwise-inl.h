// SPDX-License-Identifier: Apache-2.0
// The tiles of float_conv() for depthwise convolutions: neighbouring pixels of a line whose sums
// stay in registers. Lanes are channels.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_FLOAT_DEPTHWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_FLOAT_DEPTHWISE_INL_H_
#undef HALFTONE_KERNELS_CONV_FLOAT_DEPTHWISE_INL_H_
#else
#define HALFTONE_KERNELS_CONV_FLOAT_DEPTHWISE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "halftone/kernels/dense/float_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Pixels of a line, and the channels of a panel.
struct DepthwiseLine {
  std::span<const FloatRun> taps;  ///< where each begins, relative to its window
  const float* weights;            ///< [taps, FloatPanels::kOutputs]
  const float* bias;               ///< [FloatPanels::kOutputs]
  const float* x;                  ///< where the window of the first pixel begins
  std::size_t x_step;              ///< floats from a window to the next
  float* y;
  std::size_t y_step;  ///< floats from a pixel to the next
  std::size_t width;   ///< channels; vectors may be read beyond them, not written

  void advance(std::size_t pixels) {
    x += pixels * x_step;
    y += pixels * y_step;
  }
};

/// kRows pixels, the first kUsed vectors of the panel.
template <std::size_t kRows, std::size_t kUsed>
HWY_NOINLINE void DepthwiseTile(const DepthwiseLine& line) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t step = line.x_step;
  hn::Vec<FloatTag> sums[kRows][kUsed];
  for (std::size_t v = 0; v < kUsed; ++v) {
    const auto bias = hn::LoadU(d, line.bias + v * lanes);
    for (std::size_t r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const float* HWY_RESTRICT w = line.weights;
  for (const FloatRun& tap : line.taps) {
    hn::Vec<FloatTag> weights[kUsed];
    for (std::size_t v = 0; v < kUsed; ++v) weights[v] = Keep(hn::LoadU(d, w + v * lanes));
    w += FloatPanels::kOutputs;
    const float* HWY_RESTRICT x = line.x + tap.offset;
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kUsed; ++v) {
        const auto input = hn::LoadU(d, x + r * step + v * lanes);
        sums[r][v] = Keep(hn::Add(sums[r][v], hn::Mul(input, weights[v])));
      }
    }
  }
  const bool is_whole = line.width >= kUsed * lanes;
  alignas(64) float whole[FloatPanels::kOutputs];
  for (std::size_t r = 0; r < kRows; ++r) {
    float* to = line.y + r * line.y_step;
    for (std::size_t v = 0; v < kUsed; ++v) {
      hn::StoreU(sums[r][v], d, (is_whole ? to : whole) + v * lanes);
    }
    if (!is_whole) std::memcpy(to, whole, line.width * sizeof(float));
  }
}

/// Up to kRows pixels.
template <std::size_t kUsed, std::size_t kRows = TileRows(kUsed)>
HWY_INLINE void DepthwiseRows(const DepthwiseLine& line, std::size_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return DepthwiseRows<kUsed, kRows - 1>(line, rows);
  }
  DepthwiseTile<kRows, kUsed>(line);
}

/// The same of a panel of any width.
template <std::size_t kUsed = kPanelVectors>
HWY_INLINE void DepthwisePanel(const DepthwiseLine& line, std::size_t rows) {
  if constexpr (kUsed > 1) {
    if (line.width <= kUsed / 2 * hn::Lanes(FloatTag())) {
      return DepthwisePanel<kUsed / 2>(line, rows);
    }
  }
  DepthwiseRows<kUsed>(line, rows);
}

/// A line of few channels, whose windows are next to each other: so many pixels at a time as fill a
/// vector. The last of these overlap those before.
/// @param line    its weights and bias are repeated in the panel
/// @param group   pixels that fill a vector, at most `pixels`
HWY_INLINE void DepthwiseGroups(DepthwiseLine line, std::size_t group, std::size_t pixels) {
  constexpr std::size_t kRows = TileRows(1);
  line.width *= group;
  DepthwiseLine last = line;
  last.advance(pixels - group);
  line.x_step *= group;
  line.y_step *= group;
  for (std::size_t left = pixels / group; left != 0;) {
    const std::size_t count = std::min(kRows, left);
    DepthwiseRows<1>(line, count);
    line.advance(count);
    left -= count;
  }
  if (pixels % group != 0) DepthwiseTile<1, 1>(last);
}

/// The outputs of a line, tile by tile, so that neighbouring channels follow each other.
/// @param x     where the window of the first pixel begins
/// @param step  floats from a window to the next
/// @param y     [pixels, channels]
HWY_INLINE void ConvolveDepthwiseLine(const FloatConvWeights& weights, const float* x,
                                      std::size_t step, MatrixView<float> y) {
  constexpr std::size_t kOutputs = FloatPanels::kOutputs;
  constexpr std::size_t kRows = TileRows(kPanelVectors);
  const std::size_t channels = weights.shape().channels;
  const FloatPanels panels = weights.panels(0);
  DepthwiseLine line{weights.runs(), panels.data,     weights.bias(0), x,
                     step,           y.data_handle(), y.stride(),      channels};
  const std::size_t group = hn::Lanes(FloatTag()) / channels;
  if (group > 1 && kOutputs % channels == 0 && group <= y.rows() && step == channels &&
      y.stride() == channels) {
    return DepthwiseGroups(line, group, y.rows());
  }
  // Tiles of about the same height.
  const std::size_t tiles = (y.rows() + kRows - 1) / kRows;
  const std::size_t least = y.rows() / tiles;
  const std::size_t taller = y.rows() % tiles;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t count = least + (t < taller ? 1 : 0);
    DepthwiseLine part = line;
    for (std::size_t p = 0; p < panels.count(); ++p) {
      part.width = std::min(kOutputs, channels - p * kOutputs);
      DepthwisePanel(part, count);
      part.weights += panels.panel_step;
      part.bias += kOutputs;
      part.x += kOutputs;
      part.y += kOutputs;
    }
    line.advance(count);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
