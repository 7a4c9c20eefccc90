// SPDX-License-Identifier: Apache-2.0
// Numbers brought to levels, and the gradient that passes straight through.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/numerics/basis.h"

namespace halftone::gradient {

/// How numbers are kept float while a block learns.
struct DropOptions {
  double probability = 0;  ///< that an element is not encoded
  Random random{0};
};

/// Encodes numbers in levels that are learned, and remembers which level each one got.
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator. Differs:
/// nothing passes where a number lies beyond the outer levels by more than half their distance.
class StraightThrough {
 public:
  /// @param levels  must outlive this
  /// @param size    numbers in all
  StraightThrough(const numerics::LevelTable& levels, std::size_t size)
      : levels_(levels), indices_(size, 0) {}

  /// y = the level nearest to x, or x itself where it is dropped.
  /// @param first  how many of the numbers lie before these; here and below
  void encode(std::span<const float> x, std::span<float> y, DropOptions& drop,
              std::size_t first = 0);

  /// Adds the gradient by x, and by each level in ascending order.
  /// @param x   as in encode()
  /// @param dx  empty where it is not wanted, as level_gradient
  void pass_back(std::span<const float> x, std::span<const float> dy, std::span<float> dx,
                 std::span<double> level_gradient, std::size_t first = 0) const;

 private:
  const numerics::LevelTable& levels_;
  std::vector<std::uint16_t> indices_;
};

}  // namespace halftone::gradient
