// SPDX-License-Identifier: Apache-2.0
// A window that slides over the spatial axes of an image [N, spatial..., C].
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/shape.h"

namespace halftone::ir {

/// Each list has one entry per spatial axis. On axis i, tap k of output position p reads input
/// position p strides[i] + k dilations[i] - pads_before[i]; positions outside the input are
/// padding.
struct Window {
  std::vector<Dim> strides;      ///< >= 1
  std::vector<Dim> dilations;    ///< >= 1
  std::vector<Dim> pads_before;  ///< >= 0
  std::vector<Dim> pads_after;   ///< >= 0

  [[nodiscard]] std::size_t rank() const { return strides.size(); }
  bool operator==(const Window&) const = default;
};

/// Stride and dilation 1, no padding.
Window plain_window(std::size_t rank);
/// @throws Error kShape unless every list has `rank` values in range, each below 2^31
void check_window(const Window& window, std::size_t rank);

/// The extents between the batch and the channels.
/// @throws Error kShape unless there is at least one and only the first extent is the batch
std::span<const Dim> spatial_extents(const Shape& image);

/// The number of positions, given the extents.
std::size_t count_of(std::span<const Dim> extents);

/// (k - 1) dilation + 1: the extent that a kernel of k taps covers.
Dim covered(Dim taps, Dim dilation);

/// Number of window positions: (extent + pads - covered) / stride + 1, rounded down. With
/// `round_up`, the last window may extend past the padding if it starts before its end.
/// @throws Error kShape if the window does not fit once
std::vector<Dim> window_counts(const Window& window, std::span<const Dim> extents,
                               std::span<const Dim> kernel, bool round_up = false);

/// A tap inside the input: row-major indices of the input position and of the tap.
struct Tap {
  std::size_t position;
  std::size_t tap;
};
/// The extents of the axes that a window moves along.
struct WindowExtents {
  std::span<const Dim> input;
  std::span<const Dim> kernel;
  std::span<const Dim> output;
};
/// The taps of the window at an output position (row-major index) that lie inside the input.
void find_taps(const Window& window, const WindowExtents& extents, std::size_t output,
               std::vector<Tap>& taps);

/// "strides=2 2 pads=1 1 1 1", omitting lists that are all 1 or all 0.
std::string to_string(const Window& window);

}  // namespace halftone::ir
