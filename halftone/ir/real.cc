// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/real.h"

#include <bit>
#include <cmath>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::ir {
namespace {

using AtomKind = Extent::AtomKind;

float float_of(std::int64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

/// The single atom that a value is, or null.
const Extent::Atom* atom_of(const Extent& value) {
  if (value.terms().size() != 1) return nullptr;
  const Extent::Term& term = value.terms().begin()->second;
  return term.factor == 1 && term.atoms.size() == 1 ? term.atoms[0].get() : nullptr;
}

const Extent::Atom* atom_of(const Extent& value, AtomKind kind) {
  const Extent::Atom* atom = atom_of(value);
  return atom != nullptr && atom->kind == kind ? atom : nullptr;
}

std::int64_t whole(float number) {
  if (std::abs(number) < 0x1p62F) return static_cast<std::int64_t>(number);
  fail(ErrorKind::kShape, "an extent is too long an expression, or exceeds 64 bits");
}

float computed(AtomKind kind, float a, float b) {
  if (kind == AtomKind::kRealProduct) return a * b;
  if (kind == AtomKind::kRealQuotient) return a / b;
  return kind == AtomKind::kRealSum ? a + b : a - b;
}

/// a scale or a / scale, rounded down, as a quotient of integers; nothing if it is none.
std::optional<Extent> floor_of_ratio(const Extent::Atom& atom, const Extent& number) {
  const bool divides = atom.kind == AtomKind::kRealQuotient;
  const Extent& other = &number == &atom.a ? atom.b : atom.a;
  const Extent::Atom* integer = atom_of(other, AtomKind::kReal);
  if (integer == nullptr || (divides && &number == &atom.a)) return std::nullopt;
  const auto ratio = ratio_of(float_of(*number.number()), divides);
  if (!ratio) return std::nullopt;
  return divides ? (integer->a * ratio->below).over(ratio->above)
                 : (integer->a * ratio->above).over(ratio->below);
}

/// The integer below a number that is not known, in another form; nothing if there is none.
std::optional<Extent> simpler_floor(const Extent& real) {
  const Extent::Atom* atom = atom_of(real);
  if (atom == nullptr) return std::nullopt;
  if (atom->kind == AtomKind::kReal) return atom->a;
  if (atom->kind != AtomKind::kRealProduct && atom->kind != AtomKind::kRealQuotient)
    return std::nullopt;
  for (const Extent* operand : {&atom->a, &atom->b}) {
    if (operand->is_number()) return floor_of_ratio(*atom, *operand);
  }
  return std::nullopt;
}

Extent rounded(AtomKind kind, const Extent& real) {
  if (const auto bits = real.number()) {
    const float x = float_of(*bits);
    return whole(kind == AtomKind::kFloor  ? std::floor(x)
                 : kind == AtomKind::kCeil ? std::ceil(x)
                                           : std::round(x));
  }
  if (const auto* integer = atom_of(real, AtomKind::kReal)) return integer->a;
  if (kind == AtomKind::kFloor) {
    if (const auto simple = simpler_floor(real)) return *simple;
  }
  return Extent::of(kind, real, 0);
}

/// The number that a quotient of two integers is for all symbols.
std::optional<std::int64_t> known_quotient(const Extent& a, const Extent& b) {
  const auto* above = atom_of(a, AtomKind::kReal);
  const auto* below = atom_of(b, AtomKind::kReal);
  if (above == nullptr || below == nullptr || !below->a.is_at_least(1)) return std::nullopt;
  const Extent quotient = above->a.over(below->a);
  if (quotient * below->a != above->a) return std::nullopt;
  return quotient.number();
}

}  // namespace

Extent combined_reals(AtomKind kind, const Extent& a, const Extent& b) {
  if (kind == AtomKind::kReal) return Real::of(a).bits();
  if (kind == AtomKind::kFloor || kind == AtomKind::kCeil || kind == AtomKind::kRound)
    return rounded(kind, a);
  const auto x = a.number();
  const auto y = b.number();
  if (x && y) return Real(computed(kind, float_of(*x), float_of(*y))).bits();
  if (kind == AtomKind::kRealProduct && (x || y)) {
    if (float_of(x ? *x : *y) == 1) return x ? b : a;
  }
  if (kind == AtomKind::kRealQuotient) {
    if (y && float_of(*y) == 1) return a;
    if (const auto number = known_quotient(a, b)) return Real::of(*number).bits();
  }
  return Extent::of(kind, a, b);
}

Real Real::of(const Extent& integer) {
  if (const auto number = integer.number()) return Real(static_cast<float>(*number));
  return Real(Extent::of(AtomKind::kReal, integer, 0));
}

Real Real::of_bits(Extent bits) { return Real(std::move(bits)); }

Real::Real(float number) : bits_(static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(number))) {}

std::optional<float> Real::number() const {
  const auto bits = bits_.number();
  return bits ? std::optional(float_of(*bits)) : std::nullopt;
}

Real Real::operator*(const Real& other) const {
  return Real(combined_reals(AtomKind::kRealProduct, bits_, other.bits_));
}

Real Real::operator/(const Real& other) const {
  return Real(combined_reals(AtomKind::kRealQuotient, bits_, other.bits_));
}

Real Real::operator+(const Real& other) const {
  return Real(combined_reals(AtomKind::kRealSum, bits_, other.bits_));
}

Real Real::operator-(const Real& other) const {
  return Real(combined_reals(AtomKind::kRealDifference, bits_, other.bits_));
}

Real Real::least(const Real& a, const Real& b) { return Real(Extent::least(a.bits_, b.bits_)); }

Real Real::greatest(const Real& a, const Real& b) {
  return Real(Extent::greatest(a.bits_, b.bits_));
}

Extent Real::floor() const { return rounded(AtomKind::kFloor, bits_); }

Extent Real::ceil() const { return rounded(AtomKind::kCeil, bits_); }

Extent Real::round() const { return rounded(AtomKind::kRound, bits_); }

std::optional<Real> scale_of_count(const Extent& count, const Extent& extent) {
  const Extent::Atom* whole = atom_of(count);
  const bool is_rounded =
      whole != nullptr && (whole->kind == AtomKind::kFloor || whole->kind == AtomKind::kRound);
  const auto* product = is_rounded ? atom_of(whole->a, AtomKind::kRealProduct) : nullptr;
  if (product == nullptr) return std::nullopt;
  const Extent bits = Real::of(extent).bits();
  if (product->a == bits) return Real::of_bits(product->b);
  return product->b == bits ? std::optional(Real::of_bits(product->a)) : std::nullopt;
}

std::optional<Ratio> ratio_of(float scale, bool divides) {
  constexpr std::int64_t kMaxDivisor = 1024;
  constexpr std::int64_t kMaxImage = 1 << 14;
  if (!(scale > 1e-6F && scale < 1e6F)) return std::nullopt;
  const auto agrees = [&](const Ratio& ratio) {
    for (std::int64_t n = 1; n <= kMaxImage; ++n) {
      const auto extent = static_cast<float>(n);
      const float found = std::floor(divides ? extent / scale : extent * scale);
      const auto exact = divides ? n * ratio.below / ratio.above : n * ratio.above / ratio.below;
      if (found != static_cast<float>(exact)) return false;
    }
    return true;
  };
  for (std::int64_t below = 1; below <= kMaxDivisor; ++below) {
    const double product = static_cast<double>(scale) * static_cast<double>(below);
    const Ratio ratio{std::llround(product), below};
    const double miss = std::abs(product - static_cast<double>(ratio.above));
    if (ratio.above >= 1 && miss <= product * 0x1p-22 && agrees(ratio)) return ratio;
  }
  return std::nullopt;
}

}  // namespace halftone::ir
