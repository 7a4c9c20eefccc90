// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace halftone::kernels {

/// Blocks [begin, end) of the outputs of a layer: the share of one caller.
struct BlockRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

}  // namespace halftone::kernels
