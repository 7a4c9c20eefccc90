// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/codebooks.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::numerics {
namespace {

/// level(q) for every code q of K bits.
template <typename Level>
std::vector<float> levels_of(int bits, const Level& level) {
  HALFTONE_ASSERT(bits >= 1 && bits <= kMaxCodeBits);
  std::vector<float> levels(std::size_t{1} << bits);
  for (std::size_t q = 0; q < levels.size(); ++q) levels[q] = level(static_cast<int>(q));
  return levels;
}

/// magnitude(m) for the codes m of K - 1 bits, and its negative with the top bit set.
template <typename Magnitude>
std::vector<float> signed_levels(int bits, const Magnitude& magnitude) {
  const int sign = 1 << (bits - 1);
  return levels_of(bits,
                   [&](int q) { return (q & sign) != 0 ? -magnitude(q - sign) : magnitude(q); });
}

/// -t in descending order and t, for the thresholds t of levels >= 0: numbers on a threshold take
/// the level nearer to zero.
std::vector<float> mirrored(const std::vector<float>& thresholds) {
  std::vector<float> both;
  for (std::size_t i = thresholds.size(); i-- > 0;) {
    // The lower, larger magnitude takes what is strictly below -t.
    both.push_back(float_at(order_of(-thresholds[i]) - 1));
  }
  both.insert(both.end(), thresholds.begin(), thresholds.end());
  return both;
}

/// 2^(n / 4), within a rounding.
double quarter_power(int n) {
  constexpr double kParts[] = {1, 1.189207115002721067, 1.414213562373095049, 1.681792830507429086};
  const int part = (n % 4 + 4) % 4;
  return std::ldexp(kParts[part], (n - part) / 4);
}

float rounded_down(double x) {
  const auto nearest = static_cast<float>(x);
  return double{nearest} > x ? float_at(order_of(nearest) - 1) : nearest;
}

/// The powers of two among which the sets of additive_powers_of_two() choose: exponents of set j,
/// for bits 1, 2 and 3 of its two bits. The set of one bit has exponent 2n.
int additive_exponent(int sets, bool has_bit, int set, int choice) {
  const int shift = has_bit && choice == 3 ? 1 : 0;
  return -(set + (choice - 1) * sets + shift);
}

/// The value of a posit of n bits and two bits of exponent. @pre 0 < code < 2^(n-1)
double posit_magnitude(int bits, unsigned code) {
  // The bits behind the sign, at the top of 32, followed by zeros.
  const std::uint32_t tail = code << (33 - bits);
  const bool ones = tail >> 31 != 0;
  const int run = ones ? std::countl_one(tail) : std::countl_zero(tail);
  const std::uint32_t rest = run + 1 < 32 ? tail << (run + 1) : 0;
  const auto exponent = static_cast<int>(rest >> 30);
  const double fraction = std::ldexp(static_cast<double>(rest << 2), -32);
  return std::ldexp(1 + fraction, 4 * (ones ? run - 1 : -run) + exponent);
}

float posit_level(int bits, int code) {
  const int sign = 1 << (bits - 1);
  if (code == 0) return 0;
  if (code == sign) return std::numeric_limits<float>::quiet_NaN();
  if (code > sign) return -posit_level(bits, 2 * sign - code);
  return static_cast<float>(posit_magnitude(bits, static_cast<unsigned>(code)));
}

/// The largest number that is not rounded away from zero to posit p + 1 from p >= 0.
float posit_threshold(int bits, int p) {
  if (p == 0) return 0;
  // Exact: a posit of 17 bits has at most 12 bits of fraction.
  const float middle = posit_level(bits + 1, 2 * p + 1);
  return p % 2 == 0 ? middle : float_at(order_of(middle) - 1);
}

}  // namespace

Codebook signed_integers(std::string name, int bits) {
  const int half = 1 << (bits - 1);
  return {std::move(name), levels_of(bits, [&](int q) { return static_cast<float>(q - half); })};
}

Codebook narrow_integers(std::string name, int bits) {
  HALFTONE_ASSERT(bits >= 2);
  const Codebook all = signed_integers(name, bits);
  std::vector<float> thresholds(all.thresholds().begin(), all.thresholds().end());
  thresholds.front() = -std::numeric_limits<float>::infinity();
  return {std::move(name), {all.levels().begin(), all.levels().end()}, std::move(thresholds)};
}

Codebook unsigned_integers(std::string name, int bits) {
  return {std::move(name), levels_of(bits, [](int q) { return static_cast<float>(q); })};
}

Codebook zero_point_integers(std::string name, int bits) {
  return unsigned_integers(std::move(name), bits).with_zero_points();
}

Codebook half_integers(std::string name, int bits) {
  const int last = (1 << bits) - 1;
  return {std::move(name),
          levels_of(bits, [&](int q) { return static_cast<float>(2 * q - last) / 2; })};
}

Codebook signed_fractions(std::string name, int bits) {
  const int half = 1 << (bits - 1);
  return {std::move(name), levels_of(bits, [&](int q) {
            return std::ldexp(static_cast<float>(q - half), 2 - bits);
          })};
}

Codebook ternary(std::string name) {
  return {std::move(name), std::vector<float>{-1, 0, 0, 1}, Ties::kTowardZero};
}

Codebook powers_of_two(std::string name, int bits) {
  const int last = (1 << (bits - 1)) - 1;
  return {std::move(name),
          signed_levels(bits, [&](int m) { return m == 0 ? 0.0F : std::ldexp(1.0F, m - last); }),
          Ties::kTowardZero};
}

Codebook additive_powers_of_two(std::string name, int bits) {
  const int sets = (bits - 1) / 2;
  const bool has_bit = (bits - 1) % 2 != 0;
  const auto magnitude = [&](int m) {
    float sum = 0;
    for (int set = 0; set < sets; ++set) {
      const int choice = m >> (2 * set) & 3;
      if (choice != 0) sum += std::ldexp(1.0F, additive_exponent(sets, has_bit, set, choice));
    }
    return has_bit && m >> (2 * sets) != 0 ? sum + std::ldexp(1.0F, -2 * sets) : sum;
  };
  return {std::move(name), signed_levels(bits, magnitude), Ties::kTowardZero};
}

Codebook logarithmic(std::string name, int bits) {
  const int last = (1 << (bits - 1)) - 1;
  std::vector<float> thresholds;
  for (int m = 0; m < last; ++m)
    thresholds.push_back(rounded_down(quarter_power(2 * (m - last) + 1)));
  const auto magnitude = [&](int m) {
    return m == 0 ? 0.0F : static_cast<float>(quarter_power(2 * (m - last)));
  };
  return {std::move(name), signed_levels(bits, magnitude), mirrored(thresholds)};
}

Codebook exponents(std::string name) {
  const auto level = [](int q) {
    return q == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, q - 127);
  };
  return {std::move(name), levels_of(8, level), Ties::kUpper};
}

Codebook normal_floats(std::string name) {
  std::vector<float> levels = {-1.0F,
                               -0.696192800998687744140625F,
                               -0.52507305145263671875F,
                               -0.39491748809814453125F,
                               -0.2844413816928863525390625F,
                               -0.18477343022823333740234375F,
                               -0.091050036251544952392578125F,
                               0.0F,
                               0.079580299556255340576171875F,
                               0.16093020141124725341796875F,
                               0.24611230194568634033203125F,
                               0.337915241718292236328125F,
                               0.4407098293304443359375F,
                               0.562617003917694091796875F,
                               0.722956836223602294921875F,
                               1.0F};
  std::vector<float> thresholds;
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    thresholds.push_back(static_cast<float>((double{levels[l]} + double{levels[l + 1]}) / 2));
  }
  return {std::move(name), std::move(levels), std::move(thresholds)};
}

Codebook posits(std::string name, int bits) {
  HALFTONE_ASSERT(bits >= 3);
  std::vector<float> thresholds;
  for (int p = 0; p + 1 < 1 << (bits - 1); ++p) thresholds.push_back(posit_threshold(bits, p));
  return {std::move(name), levels_of(bits, [&](int q) { return posit_level(bits, q); }),
          mirrored(thresholds)};
}

}  // namespace halftone::numerics
