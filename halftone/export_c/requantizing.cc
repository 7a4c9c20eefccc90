// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/requantizing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::export_c {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

/// The Requantize's code before its bounds and zero point. @pre it rounds once
double runtime_steps(std::int64_t x, double multiplier, ir::CodeRounding rounding) {
  const double y = static_cast<double>(x) * multiplier;
  return rounding == ir::CodeRounding::kHalfAway ? std::round(y) : std::nearbyint(y);
}

/// Whether both change to `steps` at the same x. Both grow with x.
bool change_together(std::int64_t steps, double multiplier, ir::CodeRounding rounding,
                     const Multiplier& m) {
  const double near = (static_cast<double>(steps) - 0.5) / multiplier;
  if (near > static_cast<double>(kHighest) + 2 || near < static_cast<double>(kLowest) - 2) {
    const std::int64_t end = near > 0 ? kHighest : kLowest;
    const bool reached = runtime_steps(end, multiplier, rounding) >= static_cast<double>(steps);
    return reached == (rounded_once(static_cast<std::int32_t>(end), m) >= steps);
  }
  const auto middle = static_cast<std::int64_t>(std::floor(near));
  for (std::int64_t x = std::max(middle - 2, kLowest); x <= std::min(middle + 3, kHighest); ++x) {
    const bool reached = runtime_steps(x, multiplier, rounding) >= static_cast<double>(steps);
    if (reached != (rounded_once(static_cast<std::int32_t>(x), m) >= steps)) return false;
  }
  return true;
}

bool same_codes(const ir::Requantize& op, double multiplier, const Multiplier& m) {
  for (std::int64_t code = std::int64_t{op.low} + 1; code <= op.high; ++code) {
    if (!change_together(code - op.zero_point, multiplier, op.rounding, m)) return false;
  }
  return true;
}

}  // namespace

Multiplier twice_rounded(numerics::FixedMultiplier m) {
  return {m.mantissa, static_cast<std::int8_t>(31 - m.shift)};
}

std::int64_t rounded_once(std::int32_t sum, const Multiplier& m) {
  const std::int64_t x = std::clamp<std::int64_t>(sum, -kLargestSum, kLargestSum);
  return (x * m.mantissa + (std::int64_t{1} << (m.shift - 1))) >> m.shift;
}

std::optional<Multiplier> once_rounded(const ir::Requantize& op, double multiplier, int bits) {
  // Codes have reached their bounds at kLargestSum, and numbers there fit 32 bits.
  if (multiplier < 0x1p-18 || multiplier >= 16) return std::nullopt;
  int exponent = 0;
  const double fraction = std::frexp(multiplier, &exponent);
  const auto nearest = static_cast<std::int64_t>(std::round(std::ldexp(fraction, bits)));
  constexpr std::int64_t kTries = 8;
  for (std::int64_t i = 0; i <= 2 * kTries; ++i) {
    const std::int64_t change = i % 2 == 0 ? i / 2 : -(i + 1) / 2;
    const Multiplier m{nearest + change, static_cast<std::int8_t>(bits - exponent)};
    if (m.mantissa < std::int64_t{1} << bits && same_codes(op, multiplier, m)) return m;
  }
  return std::nullopt;
}

namespace {

std::optional<CodesOfSums> all_rounded_once(const ir::Requantize& op, int bits) {
  CodesOfSums codes;
  codes.is_wide = bits > 31;
  for (const double each : op.multipliers) {
    const auto m = once_rounded(op, each, bits);
    if (!m) return std::nullopt;
    codes.mantissas.push_back(m->mantissa);
    codes.shifts.push_back(m->shift);
  }
  return codes;
}

}  // namespace

std::optional<CodesOfSums> codes_of_sums(const ir::Requantize& op) {
  if (op.rounding != ir::CodeRounding::kTwice) {
    constexpr int kNarrow = 31;
    constexpr int kWide = 36;
    const auto codes = all_rounded_once(op, kNarrow);
    return codes ? codes : all_rounded_once(op, kWide);
  }
  CodesOfSums codes;
  codes.is_twice = true;
  for (const double each : op.multipliers) {
    const auto m = twice_rounded(numerics::divided(numerics::fixed_multiplier(each), op.count));
    codes.mantissas.push_back(m.mantissa);
    codes.shifts.push_back(m.shift);
  }
  return codes;
}

namespace {

constexpr std::int32_t kLowestCode = -128;

bool makes(std::span<const std::int32_t> table, std::int32_t zero,
           numerics::FixedMultiplier multiplier) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int32_t x = static_cast<std::int32_t>(i) + kLowestCode - zero;
    if (numerics::multiply(x * (1 << 20), multiplier) != table[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<SumOperand> sum_operand(std::span<const std::int32_t> table) {
  const auto zero_at = std::ranges::find(table, 0);
  if (zero_at == table.end()) return std::nullopt;
  const auto zero = static_cast<std::int32_t>(zero_at - table.begin()) + kLowestCode;
  // Multipliers that give each entry with its two roundings lie within less than one of it.
  double low = 0;
  double high = numerics::kFixedMultiplierEnd / 2;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double x = (static_cast<double>(i) + kLowestCode - zero) * 0x1p20;
    if (x == 0) continue;
    low = std::max(low, std::min((table[i] - 1) / x, (table[i] + 1) / x));
    high = std::min(high, std::max((table[i] - 1) / x, (table[i] + 1) / x));
  }
  numerics::FixedMultiplier m = numerics::fixed_multiplier((low + high) / 2);
  if (makes(table, zero, m)) return SumOperand{zero, twice_rounded(m)};
  constexpr std::int32_t kMaxTries = 4096;
  m = numerics::fixed_multiplier(low);
  for (std::int32_t i = 0; i < kMaxTries && m.mantissa < kHighest; ++i, ++m.mantissa) {
    if (makes(table, zero, m)) return SumOperand{zero, twice_rounded(m)};
  }
  return std::nullopt;
}

}  // namespace halftone::export_c
