// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/minifloat.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "halftone/base/error.h"

namespace halftone::numerics {
namespace {

constexpr std::int32_t kMagnitude = 0x7fffffff;
constexpr std::int32_t kInfinityBits = 0x7f800000;
constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t mantissa_mask(const Minifloat& system) {
  return (std::uint32_t{1} << system.mantissa_bits) - 1;
}
std::uint32_t exponent_mask(const Minifloat& system) {
  return (std::uint32_t{1} << system.exponent_bits) - 1;
}

/// The code of the largest finite number.
std::uint32_t largest_code(const Minifloat& system) {
  const std::uint32_t all = exponent_mask(system) << system.mantissa_bits | mantissa_mask(system);
  switch (system.specials) {
    case Specials::kInfinityAndNan:
      return all - mantissa_mask(system) - 1;
    case Specials::kNan:
      return all - 1;
    case Specials::kOneNan:
    case Specials::kNone:
      break;
  }
  return all;
}

bool is_special(const Minifloat& system, std::uint32_t magnitude) {
  return magnitude > largest_code(system);
}

/// A system prepared for the inner loop. Magnitudes are the bits of a float32, which have the order
/// of the numbers: without branches on floats, the compiler vectorizes the loop.
struct Grid {
  Grid(const Minifloat& system, Overflow overflow)
      : least_exponent(128 - system.bias),
        mantissa_bits(system.mantissa_bits),
        most(std::bit_cast<std::int32_t>(largest(system))),
        beyond(most),
        unsigned_zero(system.specials == Specials::kOneNan ? 0 : -1) {
    if (overflow == Overflow::kSaturate || system.specials == Specials::kNone) return;
    const bool has_infinity = system.specials == Specials::kInfinityAndNan;
    beyond = std::bit_cast<std::int32_t>(has_infinity ? kInfinite : kNan);
  }

  std::int32_t least_exponent;  ///< of a normal number, with the bias of float32
  std::int32_t mantissa_bits;
  std::int32_t most;
  std::int32_t beyond;
  std::int32_t unsigned_zero;  ///< the magnitude that takes no sign; -1: none
};

double power_of_two(std::int32_t exponent) {
  return std::bit_cast<double>(std::int64_t{exponent + 1023} << 52);
}

/// Rounds x to the grid. The scaled number, below 2^(M + 1), and the additions to it are exact in
/// float64.
/// @param round  maps a number >= 0 to one of the integers around it
template <typename Round>
float on_grid(const Grid& grid, float x, const Round& round) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t magnitude = bits & kMagnitude;
  const std::int32_t finite = std::min(magnitude, kInfinityBits - 1);
  const std::int32_t exponent = std::max(finite >> 23, grid.least_exponent);
  const std::int32_t unit = exponent - 127 - grid.mantissa_bits;
  const double units = static_cast<double>(std::bit_cast<float>(finite)) * power_of_two(-unit);
  const auto rounded = static_cast<float>(round(units) * power_of_two(unit));
  auto y = std::bit_cast<std::int32_t>(rounded);
  y = y > grid.most || magnitude >= kInfinityBits ? grid.beyond : y;
  y = magnitude > kInfinityBits ? magnitude : y;
  const std::int32_t sign = y == grid.unsigned_zero ? 0 : bits & ~kMagnitude;
  return std::bit_cast<float>(y | sign);
}

/// Ties to even: from 2^52 on, a float64 has no fraction bits.
double nearest_integer(double units) { return (units + 0x1p52) - 0x1p52; }

double stochastic_integer(double units, std::uint32_t random) {
  return static_cast<std::int32_t>(units + static_cast<double>(random) * 0x1p-32);
}

}  // namespace

std::optional<Minifloat> minifloat_from(std::string_view name) {
  constexpr std::string_view kFnuz = "fnuz";
  const bool is_fnuz = name.ends_with(kFnuz);
  if (is_fnuz) name.remove_suffix(kFnuz.size());
  // "eXmY" or "eXmYY".
  if (name.size() < 4 || name.size() > 5 || name[0] != 'e' || name[2] != 'm') return std::nullopt;
  int mantissa_bits = 0;
  const char* end = name.data() + name.size();
  const auto [rest, status] = std::from_chars(name.data() + 3, end, mantissa_bits);
  if (rest != end || status != std::errc() || name[3] == '0') return std::nullopt;
  const int exponent_bits = name[1] - '0';
  const int bits = 1 + exponent_bits + mantissa_bits;
  const int max_exponent_bits = is_fnuz ? 7 : 8;
  if (exponent_bits < 2 || exponent_bits > max_exponent_bits || mantissa_bits < 1 || bits > 16) {
    return std::nullopt;
  }
  if (is_fnuz)
    return Minifloat{exponent_bits, mantissa_bits, 1 << (exponent_bits - 1), Specials::kOneNan};
  if (exponent_bits == 4 && mantissa_bits == 3) return kE4M3;
  return minifloat(exponent_bits, mantissa_bits,
                   bits < 8 ? Specials::kNone : Specials::kInfinityAndNan);
}

float decode(const Minifloat& system, std::uint32_t code) {
  const std::uint32_t field = code >> system.mantissa_bits & exponent_mask(system);
  const std::uint32_t mantissa = code & mantissa_mask(system);
  const std::uint32_t magnitude = field << system.mantissa_bits | mantissa;
  const bool is_negative = (code >> (system.bits() - 1) & 1) != 0;
  if (system.specials == Specials::kOneNan && magnitude == 0 && is_negative) return -kNan;
  const auto whole =
      static_cast<float>(field == 0 ? mantissa : mantissa + mantissa_mask(system) + 1);
  const int exponent = std::max(static_cast<int>(field), 1) - system.bias - system.mantissa_bits;
  float x = std::ldexp(whole, exponent);
  if (is_special(system, magnitude)) {
    x = system.specials == Specials::kInfinityAndNan && mantissa == 0 ? kInfinite : kNan;
  }
  return is_negative ? -x : x;
}

std::uint32_t encode(const Minifloat& system, float x, Overflow overflow) {
  const float y = round_to_nearest(system, x, overflow);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(y);
  const std::uint32_t sign = (bits >> 31) << (system.bits() - 1);
  const std::uint32_t infinity = exponent_mask(system) << system.mantissa_bits;
  if (std::isnan(y)) {
    HALFTONE_ASSERT(system.specials != Specials::kNone);
    if (system.specials == Specials::kOneNan) return std::uint32_t{1} << (system.bits() - 1);
    const std::uint32_t quiet = std::uint32_t{1} << (system.mantissa_bits - 1);
    return sign | infinity | (system.specials == Specials::kNan ? mantissa_mask(system) : quiet);
  }
  if (std::isinf(y)) return sign | infinity;
  // With n as in round_to_nearest(), the code is n plus 2^M for each exponent above the least.
  const int exponent = std::max(static_cast<int>(bits >> 23 & 0xff), 128 - system.bias);
  const float n = std::ldexp(std::abs(y), 127 - exponent + system.mantissa_bits);
  const auto steps = static_cast<std::uint32_t>(exponent - 128 + system.bias);
  return sign | (static_cast<std::uint32_t>(n) + (steps << system.mantissa_bits));
}

float largest(const Minifloat& system) { return decode(system, largest_code(system)); }

float smallest_normal(const Minifloat& system) { return std::ldexp(1.0F, 1 - system.bias); }

float smallest_subnormal(const Minifloat& system) {
  return std::ldexp(1.0F, 1 - system.bias - system.mantissa_bits);
}

float round_to_nearest(const Minifloat& system, float x, Overflow overflow) {
  return on_grid(Grid(system, overflow), x, nearest_integer);
}

float round_stochastically(const Minifloat& system, float x, std::uint32_t random,
                           Overflow overflow) {
  return on_grid(Grid(system, overflow), x,
                 [&](double units) { return stochastic_integer(units, random); });
}

void round_to_nearest(const Minifloat& system, std::span<float> numbers, Overflow overflow) {
  const Grid grid(system, overflow);
  for (float& x : numbers) x = on_grid(grid, x, nearest_integer);
}

void round_stochastically(const Minifloat& system, std::span<float> numbers, Random& random,
                          Overflow overflow) {
  const Grid grid(system, overflow);
  for (float& x : numbers) {
    const auto draw = static_cast<std::uint32_t>(random.next() >> 32);
    x = on_grid(grid, x, [&](double units) { return stochastic_integer(units, draw); });
  }
}

}  // namespace halftone::numerics
