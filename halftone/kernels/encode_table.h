// SPDX-License-Identifier: Apache-2.0
// A basis prepared for encoding many numbers at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "halftone/numerics/basis.h"

namespace halftone::kernels {

/// What encode() needs to know of a basis; encodes exactly as numerics::LevelTable.
///
/// The level of x is the number of thresholds below x, so along the sorted levels bit j of the
/// code changes only where x crosses a threshold between two levels whose codes differ in bit j:
///
///     bit_j(x) = bit_j(code of the lowest level) xor (x > t) for every such threshold t
///
/// Few levels are encoded by these comparisons, without a branch or a table; many by searching
/// the sorted thresholds.
class EncodeTable {
 public:
  /// @throws Error kUsage if bits are not 1 to 8 or a level or threshold overflows float32
  explicit EncodeTable(const numerics::Basis& basis);

  /// Moves the thresholds so that x gets the code that f(x) had: the new threshold is the largest
  /// x with f(x) <= t. Exact; saves computing f.
  /// @param f  never decreasing from -infinity to infinity; NaN for NaN
  /// @return whether it could; nothing has changed if not, since f(-infinity) is above a threshold
  bool move_before(const std::function<float(float)>& f);

  [[nodiscard]] const numerics::Basis& basis() const { return basis_; }
  [[nodiscard]] std::size_t bits() const { return static_cast<std::size_t>(basis_.bits); }

  /// The thresholds at which bit `plane` of the code changes, ascending.
  [[nodiscard]] std::span<const float> flips(std::size_t plane) const {
    return std::span(flips_).subspan(first_flip_[plane],
                                     first_flip_[plane + 1] - first_flip_[plane]);
  }
  /// 64 copies of bit `plane` of the code of the lowest level.
  [[nodiscard]] std::uint64_t lowest(std::size_t plane) const { return lowest_[plane]; }
  /// Whether the comparisons of all planes together cost less than a search.
  [[nodiscard]] bool by_comparison() const { return by_comparison_; }

  /// [2^K - 1] all thresholds, ascending.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }
  /// [2^K] the code of each level, ascending by level; 32 bits wide to be gathered with floats.
  [[nodiscard]] std::span<const std::int32_t> codes() const { return codes_; }

 private:
  /// Sets the flips by the thresholds.
  void find_flips();

  numerics::Basis basis_;
  std::vector<float> flips_;
  std::array<std::size_t, numerics::kMaxBits + 1> first_flip_{};
  std::array<std::uint64_t, numerics::kMaxBits> lowest_{};
  bool by_comparison_ = true;
  std::vector<float> thresholds_;
  std::vector<std::int32_t> codes_;
};

}  // namespace halftone::kernels
