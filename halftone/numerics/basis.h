// SPDX-License-Identifier: Apache-2.0
// The learned basis: the number system at the centre of Halftone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halftone::numerics {

inline constexpr int kMaxBits = 8;

/// The K bits that represent one number: bit i set means +a[i], clear means -a[i].
using Code = std::uint8_t;

/// A number system of K bits: x = c + a_1 b_1 + ... + a_K b_K with b_i in {-1, +1}.
/// The 2^K levels need not be evenly spaced; they are for a_i = s 2^(i-1) (see affine_basis()).
/// Source: Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029), Sec. 3.1.
/// Differs: has an offset c.
struct Basis {
  int bits = 1;                                ///< K, 1 to kMaxBits
  std::array<float, kMaxBits> coefficients{};  ///< a; only the first `bits` are used
  float offset = 0;                            ///< c

  [[nodiscard]] std::span<const float> a() const {
    return {coefficients.data(), static_cast<std::size_t>(bits)};
  }
  [[nodiscard]] std::size_t num_levels() const { return std::size_t{1} << bits; }
  /// The value of a code: ((+-a[0] +- a[1]) +- ...) + c, added in this order in float32.
  [[nodiscard]] float value(Code code) const;

  bool operator==(const Basis&) const = default;
};

/// @param a  [K] coefficients, 1 <= K <= kMaxBits, any sign, finite
/// @throws Error kUsage if K is out of range or a number is not finite
Basis make_basis(std::span<const float> a, float offset = 0);

/// Unsigned integers q in [0, 2^K) with x = scale (q - zero_point), as a basis:
/// a_i = scale 2^(i-1), c = scale ((2^K - 1) / 2 - zero_point); the code is q.
/// @throws Error kUsage if bits are out of range or a parameter or coefficient is not finite (also
///         below)
Basis affine_basis(int bits, float scale, float zero_point);
/// The affine basis whose lowest level is `low` and whose highest is `high`.
/// @pre low <= high; equal bounds give the one level `low`
Basis range_basis(int bits, float low, float high);
/// Levels at the odd multiples of scale / 2, symmetric about zero, no offset.
Basis symmetric_basis(int bits, float scale);
/// Two's complement fixed point of K bits with step 2^-fraction_bits: q in [-2^(K-1), 2^(K-1)).
Basis fixed_point_basis(int bits, int fraction_bits);

/// The levels of a basis in ascending order, ready to encode with.
///
/// The threshold between neighbouring levels q_l <= q_(l+1) is (q_l + q_(l+1)) / 2, computed in
/// float32. A number encodes to level l if l thresholds are below it, so a number exactly on a
/// threshold takes the lower level. NaN takes the lowest.
class LevelTable {
 public:
  explicit LevelTable(const Basis& basis);

  [[nodiscard]] std::size_t size() const { return levels_.size(); }
  /// [2^K] ascending; equal levels keep the order of their codes.
  [[nodiscard]] std::span<const float> levels() const { return levels_; }
  /// [2^K] the code of each level.
  [[nodiscard]] std::span<const Code> codes() const { return codes_; }
  /// [2^K - 1] ascending.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }
  /// Half the mean distance between neighbouring levels.
  [[nodiscard]] float half_gap() const {
    return (levels_.back() - levels_.front()) / static_cast<float>(2 * (size() - 1));
  }

  /// Index of the level x encodes to.
  [[nodiscard]] std::size_t index(float x) const;
  [[nodiscard]] Code encode(float x) const { return codes_[index(x)]; }
  /// The level itself: decode(encode(x)).
  [[nodiscard]] float nearest(float x) const { return levels_[index(x)]; }

 private:
  std::vector<float> levels_;
  std::vector<Code> codes_;
  std::vector<float> thresholds_;
};

}  // namespace halftone::numerics
