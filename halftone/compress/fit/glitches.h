// SPDX-License-Identifier: Apache-2.0
// Which samples are so large that they alone would decide a fit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::compress {

/// The samples whose size is beyond all proportion to the others: with the median m and the 95 %
/// quantile q of the sizes that are not zero,
///
///     size > m max(256, (q / m)^4).
///
/// Sizes are squares, so 256 is a sixteenfold amplitude. The power follows the spread of the data:
/// sizes of wide distributions (loud and quiet sounds) are kept, and so is what more than one
/// sample in twenty has. Of n sizes, one is never part of q, so that a single glitch among few
/// samples is found too.
///
/// Squared errors have no bound: in the second moments E[x x'] of 512 samples, one value of 1000
/// among values of N(0, 1) weighs 2000 times what all others together weigh.
/// @param sizes  of one value by sample, >= 0; NaN and infinity count as larger than all
/// @return       ascending indices; none of fewer than 8 sizes
std::vector<std::size_t> glitches(std::span<const float> sizes);

}  // namespace halftone::compress
