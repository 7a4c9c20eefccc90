// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/window.h"

#include <algorithm>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {
namespace {

/// Bounds every value so that positions cannot overflow.
constexpr Dim kMax = Dim{1} << 31;

void check_list(const std::vector<Dim>& list, std::size_t rank, Dim min, const char* what) {
  require(list.size() == rank, std::string(what) + ": expected " + std::to_string(rank) +
                                   " values, found " + std::to_string(list.size()));
  for (const Dim number : list) {
    require((number >= min || is_expression(number)) && number < kMax,
            std::string(what) + ": expected values from " + std::to_string(min) +
                " to 2^31 - 1, found " + std::to_string(number));
  }
}

void append(std::string& text, const char* name, std::span<const Dim> list, Dim usual) {
  if (std::ranges::all_of(list, [&](Dim number) { return number == usual; })) return;
  text.append(text.empty() ? "" : " ").append(name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    text.append(i == 0 ? "=" : ",").append(to_string(list[i]));
  }
}

/// The outputs along an axis of open extent, which a window is taken to fit.
Dim open_window_count(const Window& window, std::size_t i, const Extent& extent, Dim kernel,
                      bool round_up) {
  // Padding that follows the extent gives a window for each step.
  if (is_expression(window.pads_before[i]) || is_expression(window.pads_after[i])) {
    return dim_of((extent + window.strides[i] - 1).over(window.strides[i]));
  }
  const Extent padded = extent + window.pads_before[i] + window.pads_after[i];
  const Extent rest = padded - covered(kernel, window.dilations[i]);
  const Extent whole = rest.over(window.strides[i]) + 1;
  if (!round_up || window.strides[i] == 1) return dim_of(whole);
  // One more where elements remain and the window begins on one: not beyond the extent.
  const Extent begins = (extent + window.pads_before[i] - 1).over(window.strides[i]) + 1;
  const Extent up = (rest + window.strides[i] - 1).over(window.strides[i]) + 1;
  return dim_of(Extent::greatest(whole, Extent::least(up, begins)));
}

}  // namespace

Window plain_window(std::size_t rank) {
  const std::vector<Dim> ones(rank, 1);
  const std::vector<Dim> zeros(rank, 0);
  return {ones, ones, zeros, zeros};
}

void check_window(const Window& window, std::size_t rank) {
  check_list(window.strides, rank, 1, "strides");
  check_list(window.dilations, rank, 1, "dilations");
  check_list(window.pads_before, rank, 0, "padding before");
  check_list(window.pads_after, rank, 0, "padding after");
}

std::span<const Dim> spatial_extents(const Shape& image) {
  require(image.rank() >= 3, "expected [N, spatial..., C], found " + image.to_string());
  const auto inner = image.dims().subspan(1);
  require(std::ranges::none_of(inner, depends_on_batch),
          "expected the batch as the first axis only, found " + image.to_string());
  return inner.first(inner.size() - 1);
}

std::size_t count_of(std::span<const Dim> extents) {
  std::size_t count = 1;
  for (const Dim extent : extents) count *= static_cast<std::size_t>(extent);
  return count;
}

Dim covered(Dim taps, Dim dilation) { return (taps - 1) * dilation + 1; }

std::vector<Dim> window_counts(const Window& window, std::span<const Dim> extents,
                               std::span<const Dim> kernel, bool round_up) {
  std::vector<Dim> counts;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    require(kernel[i] >= 1 && kernel[i] < kMax,
            "expected a kernel of at least one tap, found " + std::to_string(kernel[i]));
    if (is_expression(extents[i])) {
      counts.push_back(open_window_count(window, i, extent_of(extents[i]), kernel[i], round_up));
      continue;
    }
    const Dim padded = extents[i] + window.pads_before[i] + window.pads_after[i];
    const Dim rest = padded - covered(kernel[i], window.dilations[i]);
    require(rest >= 0, "a window of " + std::to_string(padded - rest) +
                           " does not fit an extent of " + std::to_string(padded) +
                           ", padding included");
    Dim count = rest / window.strides[i] + 1;
    const bool is_cut = rest % window.strides[i] != 0;
    if (round_up && is_cut && count * window.strides[i] < extents[i] + window.pads_before[i]) {
      ++count;
    }
    counts.push_back(count);
  }
  return counts;
}

void find_taps(const Window& window, const WindowExtents& extents, std::size_t output,
               std::vector<Tap>& taps) {
  const auto& [input, kernel, counts] = extents;
  taps.assign(1, {0, 0});
  std::size_t stride = 1;
  for (const Dim count : counts) stride *= static_cast<std::size_t>(count);
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    stride /= static_cast<std::size_t>(counts[axis]);
    const auto at = static_cast<Dim>(output / stride);
    output %= stride;
    const Dim first = at * window.strides[axis] - window.pads_before[axis];
    std::vector<Tap> longer;
    for (const Tap& tap : taps) {
      for (Dim k = 0; k < kernel[axis]; ++k) {
        const Dim position = first + k * window.dilations[axis];
        if (position < 0 || position >= input[axis]) continue;
        longer.push_back(
            {tap.position * static_cast<std::size_t>(input[axis]) +
                 static_cast<std::size_t>(position),
             tap.tap * static_cast<std::size_t>(kernel[axis]) + static_cast<std::size_t>(k)});
      }
    }
    taps.swap(longer);
  }
}

std::string to_string(const Window& window) {
  std::string text;
  append(text, "strides", window.strides, 1);
  append(text, "dilations", window.dilations, 1);
  append(text, "pads_before", window.pads_before, 0);
  append(text, "pads_after", window.pads_after, 0);
  return text;
}

}  // namespace halftone::ir
