// SPDX-License-Identifier: Apache-2.0
// Divides the indices of a loop among threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "halftone/base/parallel.h"
#include "halftone/kernels/block_range.h"

namespace halftone::runtime {

/// Calls body(share, range) for equal parts of [0, count), on up to `threads` threads; for one part
/// on the calling thread. It must not matter how they are divided. Allocates nothing.
template <typename Body>
void divide(std::size_t count, std::size_t threads, const Body& body) {
  const std::size_t shares = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(threads, 1));
  const auto share = [&](std::size_t s) {
    body(s, kernels::BlockRange{count * s / shares, count * (s + 1) / shares});
  };
  if (shares == 1) return share(0);
  parallel_for(shares, std::ref(share));
}

}  // namespace halftone::runtime
