// SPDX-License-Identifier: Apache-2.0
// The orders of a level's loops that the search considers. For the sources here.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

using LoopOrder = std::vector<std::size_t>;  ///< dimensions, outermost first

/// Orders matter only by the innermost loops that each data space lacks, which cause it no traffic,
/// and by the innermost loop, along which a window moves. An order is dropped if another lets each
/// data space leave out at least the same loops and moves windows at least as well.
class LoopOrders {
 public:
  explicit LoopOrders(const Problem& problem);

  /// @param mask  bit d is set for each dimension whose loop has more than one iteration
  const std::vector<LoopOrder>& of(unsigned mask);

  /// Dimensions whose loops move a window.
  [[nodiscard]] unsigned window_mask() const { return moves_window_; }

 private:
  /// What matters of an order.
  struct Effect {
    std::size_t window;              ///< the innermost dimension if it moves a window
    std::vector<unsigned> left_out;  ///< dimensions of each data space's left-out loops
  };
  [[nodiscard]] Effect effect_of(const LoopOrder& order) const;
  [[nodiscard]] static bool is_as_good(const Effect& a, const Effect& b);

  unsigned moves_window_ = 0;            ///< dimensions
  std::vector<unsigned> has_dimension_;  ///< dimensions of each data space
  std::map<unsigned, std::vector<LoopOrder>> orders_;
};

}  // namespace halftone::accel::mapping
