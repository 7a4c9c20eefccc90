// SPDX-License-Identifier: Apache-2.0
// Codebooks: which 2^K numbers the K bits of a code name, before scale and offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/numerics/minifloat.h"

namespace halftone::numerics {

/// Longest code of a codebook.
inline constexpr int kMaxCodeBits = 16;
/// Longest code of a basis, and of codes that kernels multiply.
inline constexpr int kMaxBits = 8;

/// The K bits that name one number.
using Code = std::uint16_t;

/// Which of two neighbouring levels a number midway between them takes.
enum class Ties : std::uint8_t {
  kEven,        ///< the one with the even code
  kLower,       ///< the lower one
  kUpper,       ///< the higher one
  kTowardZero,  ///< the one nearer to zero
};

/// What numbers beyond the outer levels become where these are not to replace them.
struct Beyond {
  struct Special {
    Code code;
    float value;  ///< infinity or NaN
  };

  float low;   ///< the largest float32 that becomes at_low
  float high;  ///< the largest float32 that does not become at_high
  Special at_low;
  Special at_high;
  Special of_nan;

  /// What x becomes; null if it takes a level.
  [[nodiscard]] const Special* find(float x) const {
    if (x > low && x <= high) return nullptr;
    return x <= low ? &at_low : x > high ? &at_high : &of_nan;
  }
};

/// The levels of a number system of K bits, shared by all blocks of a matrix. Immutable.
///
/// Levels are in the order of codes, and need be neither ascending nor all finite: codes of NaN and
/// infinity name no number and no number is encoded to them. Where several codes name one number,
/// it is encoded to the lowest of them, except that -0 takes the code of -0 if there is one.
class Codebook {
 public:
  /// Numbers are encoded to the nearest level.
  /// @param name    see numerics::find_system(); files store it
  /// @param levels  [2^K] by code, 1 <= K <= kMaxCodeBits, at least one finite
  Codebook(std::string name, std::vector<float> levels, Ties ties = Ties::kEven);
  /// Numbers are encoded by thresholds: level l, in ascending order, if l of them are below.
  /// @param thresholds  ascending, one less than there are different finite levels
  Codebook(std::string name, std::vector<float> levels, std::vector<float> thresholds);
  /// The codes of a floating point format.
  /// @pre at most kMaxCodeBits bits
  Codebook(std::string name, const Minifloat& format, Overflow overflow = Overflow::kSaturate);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int bits() const { return bits_; }
  /// [2^K] by code.
  [[nodiscard]] std::span<const float> levels() const { return levels_; }

  /// The different finite levels, ascending; the code of each; and the thresholds between
  /// neighbours, each the largest float32 that still takes the lower level.
  [[nodiscard]] std::span<const float> sorted() const { return sorted_; }
  [[nodiscard]] std::span<const Code> codes() const { return codes_; }
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }

  /// What numbers beyond the ends become, unless they take the ends.
  [[nodiscard]] const std::optional<Beyond>& beyond() const { return beyond_; }
  /// The floating point format whose codes these are, if they are.
  [[nodiscard]] const std::optional<Minifloat>& format() const { return format_; }

  /// The same codebook with zero points: the offset of a block is minus its scale times a level z,
  /// so that zero is a level of the block: scale (level - z).
  [[nodiscard]] Codebook with_zero_points() &&;
  [[nodiscard]] bool has_zero_points() const { return has_zero_points_; }
  /// The zero point of a block whose offset is near `offset`: the nearest integer between the
  /// lowest and the highest level. @pre has_zero_points(), scale is not 0
  [[nodiscard]] double zero_point(double scale, double offset) const;

  /// Position of x among sorted(). NaN takes the lowest, numbers beyond the ends take the ends.
  [[nodiscard]] std::size_t index(float x) const;
  /// The code of x, or of what it becomes beyond the ends. NaN takes the first code of NaN, if
  /// there is one, else the lowest level.
  [[nodiscard]] Code encode(float x) const;

  /// a_1, ..., a_K, if the bits of codes of up to kMaxBits bits are signs b_i of them, exactly:
  ///     level = (level[0] + level[2^K - 1]) / 2 + a_1 b_1 + ... + a_K b_K, b_i = +-1
  /// Else empty. See Levels::basis().
  [[nodiscard]] std::span<const float> coefficients() const { return coefficients_; }
  /// Whether code q is level first + q step, so that coefficients are step 2^(i-1).
  [[nodiscard]] bool is_even() const { return step_ != 0; }
  [[nodiscard]] float step() const { return step_; }  ///< 0 unless is_even()

  /// The largest number of steps, up to `most`, in which to divide the distance between the lowest
  /// and the highest level so that every level is on the grid; 0 if there is none.
  [[nodiscard]] int exact_steps(int most) const;
  /// Steps of the grid of 8-bit integers that kernels compute with for weights of up to kMaxBits
  /// bits: exact_steps() up to 127, for more than 4 bits 255, or weight_steps() of integer_grid.h.
  [[nodiscard]] int weight_steps() const { return weight_steps_; }
  /// Whether the levels are nearly on this grid: none is farther from it than an eighth of the
  /// distance to its neighbours. Infinity and NaN beyond() the ends are on no grid.
  [[nodiscard]] bool fits_integers() const { return fits_integers_; }

  /// Whether all codes mean the same and all numbers have the same codes.
  bool operator==(const Codebook& other) const;

 private:
  void sort();
  void find_step();
  void find_coefficients();
  void find_fit();
  void find_beyond();

  std::string name_;
  int bits_ = 0;
  std::vector<float> levels_;
  std::vector<float> sorted_;
  std::vector<Code> codes_;
  std::vector<float> thresholds_;
  int nan_ = -1;            ///< code of NaN, or none
  int negative_zero_ = -1;  ///< code of -0, or none
  float step_ = 0;
  std::vector<float> coefficients_;
  int weight_steps_ = 0;
  bool fits_integers_ = false;
  bool has_zero_points_ = false;
  std::optional<Minifloat> format_;
  std::optional<Beyond> beyond_;
};

/// The largest float32 for which `holds`, which never becomes true again once it is false for a
/// smaller number, or -infinity if it holds for none. Infinity if it holds for all.
/// @param guess  a number near it; the nearer, the faster
template <typename Holds>
float largest_where(const Holds& holds, float guess);

/// Position of a float32, not NaN, in the order of all: ..., -1: -0, 0: 0, 1: the smallest above.
std::int64_t order_of(float x);
/// The inverse.
float float_at(std::int64_t order);

template <typename Holds>
float largest_where(const Holds& holds, float guess) {
  constexpr std::int64_t kInfinity = 0x7f800000;
  std::int64_t below = -kInfinity - 1;  // -infinity
  std::int64_t above = kInfinity + 1;   // behind infinity
  const std::int64_t start = order_of(guess);
  // Steps of doubling length away from the guess bracket the answer.
  if (holds(guess)) {
    below = start;
    for (std::int64_t step = 1; below + step < above; step *= 2) {
      if (!holds(float_at(start + step))) {
        above = start + step;
        break;
      }
      below = start + step;
    }
  } else {
    above = start;
    for (std::int64_t step = 1; start - step > below; step *= 2) {
      if (holds(float_at(start - step))) {
        below = start - step;
        break;
      }
      above = start - step;
    }
  }
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (holds(float_at(middle)) ? below : above) = middle;
  }
  return float_at(below);
}

}  // namespace halftone::numerics
