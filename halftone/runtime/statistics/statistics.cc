// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/statistics/statistics.h"

#include <algorithm>

#include "halftone/runtime/statistics/blocks.h"

namespace halftone::runtime {

Block block_of(const ir::AxisView& view, std::size_t i) {
  const std::size_t per_outer = (view.inner + kLanes - 1) / kLanes;
  const std::size_t first = i % per_outer * kLanes;
  return {i / per_outer * view.extent * view.inner + first, std::min(kLanes, view.inner - first),
          view.inner, view.extent};
}

std::size_t num_blocks(const ir::AxisView& view) {
  return view.outer * ((view.inner + kLanes - 1) / kLanes);
}

std::size_t block_shares(const ir::AxisView& view, int threads) {
  const std::size_t count = view.outer * view.extent * view.inner;
  const std::size_t max_shares = count < kParallelNumbers ? 1 : static_cast<std::size_t>(threads);
  return std::min(max_shares, num_blocks(view));
}

std::optional<ir::AxisView> joined_axes(const ir::Shape& shape,
                                        const std::vector<std::size_t>& axes) {
  ir::AxisView view;
  bool seen = false;
  bool over = false;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const auto extent = static_cast<std::size_t>(shape[i]);
    if (std::ranges::binary_search(axes, i)) {
      if (over && extent != 1) return std::nullopt;
      view.extent *= extent;
      seen = true;
    } else if (!seen) {
      view.outer *= extent;
    } else if (extent != 1) {
      view.inner *= extent;
      over = true;
    }
  }
  return view;
}

}  // namespace halftone::runtime
