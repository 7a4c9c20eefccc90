// SPDX-License-Identifier: Apache-2.0
// Rounds values to levels and passes gradients straight through.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/numerics/levels.h"

namespace halftone::gradient {

/// Random choice of elements that stay float while a block learns.
struct DropOptions {
  double probability = 0;  ///< that an element is not encoded
  Random random{0};
};

/// Encodes values in learned levels and remembers the level of each value.
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator. Differs:
/// no gradient passes where a value lies beyond the outer levels by LevelTable::half_gap() or more.
class StraightThrough {
 public:
  /// @param levels  must outlive this
  /// @param size    total number of values
  StraightThrough(const numerics::LevelTable& levels, std::size_t size)
      : levels_(levels), indices_(size, 0) {}

  /// y = the level nearest to x, or x itself where the encoding is dropped.
  /// @param first  index of x[0] among all values; here and below
  void encode(std::span<const float> x, std::span<float> y, DropOptions& drop,
              std::size_t first = 0);

  /// Adds the gradients with respect to x and to each level, in ascending order.
  /// @param x   as in encode()
  /// @param dx  empty if not wanted, like level_gradient
  void pass_back(std::span<const float> x, std::span<const float> dy, std::span<float> dx,
                 std::span<double> level_gradient, std::size_t first = 0) const;

 private:
  const numerics::LevelTable& levels_;
  std::vector<std::uint16_t> indices_;
};

}  // namespace halftone::gradient
