// SPDX-License-Identifier: Apache-2.0
// Levels prepared for encoding many numbers at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "halftone/numerics/levels.h"

namespace halftone::kernels {

/// The levels of a block prepared for encode(), which gives exactly the codes of
/// numerics::LevelTable.
///
/// The level of x is the number of thresholds below x, so along the sorted levels bit j of the
/// code changes only where x crosses a threshold between two levels whose codes differ in bit j:
///
///     bit_j(x) = bit_j(code of the lowest level) xor (x > t) for every such threshold t
///
/// Few levels are encoded by these comparisons, without a branch or a table; many that are evenly
/// spaced by arithmetic, except for numbers very near a threshold; others by searching the sorted
/// thresholds, from the first one in the same bucket on. Numbers beyond the outer levels that have
/// codes of their own get these afterwards.
class EncodeTable {
 public:
  /// @throws Error kUsage if bits are not 1 to 8 or a level or threshold overflows float32
  explicit EncodeTable(const numerics::Levels& levels);

  /// Moves the thresholds so that x gets the code that f(x) had: the new threshold is the largest
  /// x with f(x) <= t. Exact; saves computing f.
  /// @param f  never decreasing from -infinity to infinity; NaN for NaN
  /// @return false, without a change, if f(-infinity) is above a threshold, or numbers beyond the
  ///         outer levels have codes of their own
  bool move_before(const std::function<float(float)>& f);

  [[nodiscard]] const numerics::Levels& levels() const { return levels_; }
  [[nodiscard]] std::size_t bits() const { return static_cast<std::size_t>(levels_.bits()); }

  /// The thresholds at which bit `plane` of the code changes, ascending.
  [[nodiscard]] std::span<const float> flips(std::size_t plane) const {
    return std::span(flips_).subspan(first_flip_[plane],
                                     first_flip_[plane + 1] - first_flip_[plane]);
  }
  /// 64 copies of bit `plane` of the code of the lowest level.
  [[nodiscard]] std::uint64_t lowest(std::size_t plane) const { return lowest_[plane]; }
  /// Whether the comparisons of all planes together cost less than a search.
  [[nodiscard]] bool by_comparison() const { return by_comparison_; }

  /// See numerics::LevelTable::beyond(). If there are any, levels are found by a search.
  [[nodiscard]] const std::optional<numerics::Beyond>& beyond() const { return beyond_; }

  /// All thresholds, ascending: one less than codes().
  [[nodiscard]] std::span<const float> thresholds() const {
    return std::span(thresholds_).first(codes_.size() - 1);
  }
  /// The code of each level, ascending by level: at most 2^K.
  [[nodiscard]] std::span<const numerics::Code> codes() const { return codes_; }

  /// The start of a search for the level of x, the number of thresholds below it. The range of the
  /// thresholds is divided into parts of equal width, each with the level of its first threshold.
  struct Buckets {
    static constexpr std::size_t kCount = 2048;
    static constexpr float kLast = kCount - 1;

    float low = 0;
    float scale = 0;
    const std::uint8_t* first = nullptr;  ///< [kCount] thresholds in the buckets before
    const float* thresholds = nullptr;    ///< ascending, then as many NaN, never below any x
    /// First step of the binary search: half of the smallest 2^n above the largest bucket.
    std::size_t step = 0;

    /// min(max((x - low) scale, 0), kLast) as an integer, 0 for NaN. It never decreases with x, so
    /// a value with a lower bucket is lower.
    [[nodiscard]] std::int32_t of(float x) const {
      const float at = (x - low) * scale;
      if (!(at > 0)) return 0;
      return static_cast<std::int32_t>(at < kLast ? at : kLast);
    }
    /// The level of x, which is in `bucket`.
    [[nodiscard]] std::uint8_t search(float x, std::int32_t bucket) const {
      std::size_t level = first[bucket];
      for (std::size_t half = step; half != 0; half /= 2) {
        level += x > thresholds[level + half - 1] ? half : 0;
      }
      return static_cast<std::uint8_t>(level);
    }
  };
  [[nodiscard]] Buckets buckets() const {
    return {bucket_low_, bucket_scale_, first_.data(), thresholds_.data(), bucket_step_};
  }

  /// The level of x by arithmetic, if the thresholds t_0 < ... < t_(n-1) are evenly spaced:
  ///
  ///     r(x) = min(max((x - low) scale, -1/2), n - 1/2), -1/2 for NaN;  level = ceil(r)
  ///
  /// unless r is within `margin` of an integer k. r never decreases with x, and r(t_k) is within
  /// `margin` of k; so an r above k + margin is that of an x above t_k, one below k - margin that
  /// of an x below it.
  struct Spacing {
    float low = 0;
    float scale = 0;  ///< 0: the thresholds are not evenly spaced
    float last = 0;   ///< n - 1/2
    float margin = 0;

    [[nodiscard]] bool is_even() const { return scale != 0; }
  };
  [[nodiscard]] const Spacing& spacing() const { return spacing_; }

 private:
  /// Computes the flips, the buckets and the spacing from the thresholds.
  void index_thresholds();
  void find_flips();
  void fill_buckets();
  void find_spacing();

  numerics::Levels levels_;
  std::optional<numerics::Beyond> beyond_;
  std::vector<float> flips_;
  std::array<std::size_t, numerics::kMaxBits + 1> first_flip_{};
  std::array<std::uint64_t, numerics::kMaxBits> lowest_{};
  bool by_comparison_ = true;
  std::vector<float> thresholds_;  ///< and as many NaN
  std::vector<numerics::Code> codes_;
  float bucket_low_ = 0;
  float bucket_scale_ = 0;
  std::vector<std::uint8_t> first_;
  std::size_t bucket_step_ = 0;
  Spacing spacing_;
};

}  // namespace halftone::kernels
