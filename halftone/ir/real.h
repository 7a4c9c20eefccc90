// SPDX-License-Identifier: Apache-2.0
// Float32 arithmetic on extents, as files compute the sizes of images with it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "halftone/ir/extent.h"

namespace halftone::ir {

/// A float32 number that depends on symbols. Its bits are an Extent, so a Dim can hold it, and
/// numbers >= 0 have the order of their bits.
class Real {
 public:
  /// The number nearest to an integer.
  static Real of(const Extent& integer);
  static Real of_bits(Extent bits);
  explicit Real(float number);

  [[nodiscard]] const Extent& bits() const { return bits_; }
  /// The number if it depends on nothing.
  [[nodiscard]] std::optional<float> number() const;

  // Rounded to float32 like runtimes. @throws Error as Extent's operators
  Real operator*(const Real& other) const;
  Real operator/(const Real& other) const;
  Real operator+(const Real& other) const;
  Real operator-(const Real& other) const;
  /// @pre both are >= 0
  static Real least(const Real& a, const Real& b);
  static Real greatest(const Real& a, const Real& b);

  /// The integer below, above, or nearest, where ties are away from zero. The product or quotient
  /// of an integer and a constant becomes a quotient of integers where it equals one for all
  /// extents of images.
  // @throws Error kShape beyond 64 bits
  [[nodiscard]] Extent floor() const;
  [[nodiscard]] Extent ceil() const;
  [[nodiscard]] Extent round() const;

 private:
  explicit Real(Extent bits) : bits_(std::move(bits)) {}
  Extent bits_;
};

/// Whole numbers of which a scale is the quotient, so that the product with the extent of an image,
/// or the extent divided by the scale, rounded down, is that of runtimes, which compute in float32.
struct Ratio {
  std::int64_t above = 1;
  std::int64_t below = 1;
};
/// @return nothing for a scale that is no such quotient
std::optional<Ratio> ratio_of(float scale, bool divides = false);

/// The scale of a Resize to an open extent: the factor of the extent of which count is the product,
/// rounded.
inline constexpr float kScaleOfCount = -1;
/// The factor that count has beside an extent.
/// @return nothing for a count that is no product with the extent
std::optional<Real> scale_of_count(const Extent& count, const Extent& extent);

/// The value of an operation that has a float as an operand or as its result.
Extent combined_reals(Extent::Atom::Kind kind, const Extent& a, const Extent& b);

}  // namespace halftone::ir
