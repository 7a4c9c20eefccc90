// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/requantizing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::export_c {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

/// The Requantize's code before its bounds and zero point. @pre it rounds once
double runtime_steps(std::int64_t x, double multiplier, ir::CodeRounding rounding) {
  const double y = static_cast<double>(x) * multiplier;
  return rounding == ir::CodeRounding::kHalfAway ? std::round(y) : std::nearbyint(y);
}

std::int64_t c_steps(std::int64_t x, const Multiplier& m) {
  return (x * m.mantissa + (std::int64_t{1} << (m.shift - 1))) >> m.shift;
}

/// Whether both change to `steps` at the same x. Both grow with x.
bool change_together(std::int64_t steps, double multiplier, ir::CodeRounding rounding,
                     const Multiplier& m) {
  const double near = (static_cast<double>(steps) - 0.5) / multiplier;
  if (near > static_cast<double>(kMost) + 2 || near < static_cast<double>(kLeast) - 2) {
    const std::int64_t end = near > 0 ? kMost : kLeast;
    const bool reached = runtime_steps(end, multiplier, rounding) >= static_cast<double>(steps);
    return reached == (c_steps(end, m) >= steps);
  }
  const auto middle = static_cast<std::int64_t>(std::floor(near));
  for (std::int64_t x = std::max(middle - 2, kLeast); x <= std::min(middle + 3, kMost); ++x) {
    const bool reached = runtime_steps(x, multiplier, rounding) >= static_cast<double>(steps);
    if (reached != (c_steps(x, m) >= steps)) return false;
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

std::optional<Multiplier> once_rounded(const ir::Requantize& op, double multiplier) {
  if (multiplier < 0x1p-31 || multiplier >= 0x1p29) return std::nullopt;
  const Multiplier nearest = twice_rounded(numerics::fixed_multiplier(multiplier));
  for (const std::int32_t change : {0, 1, -1, 2, -2, 3, -3}) {
    const std::int64_t mantissa = std::int64_t{nearest.mantissa} + change;
    if (mantissa > kMost) continue;
    const Multiplier m{static_cast<std::int32_t>(mantissa), nearest.shift};
    if (same_codes(op, multiplier, m)) return m;
  }
  return std::nullopt;
}

std::optional<CodesOfSums> codes_of_sums(const ir::Requantize& op) {
  CodesOfSums codes;
  codes.is_twice = op.rounding == ir::CodeRounding::kTwice;
  for (const double each : op.multipliers) {
    std::optional<Multiplier> m;
    if (codes.is_twice) {
      m = twice_rounded(numerics::divided(numerics::fixed_multiplier(each), op.count));
    } else {
      m = once_rounded(op, each);
    }
    if (!m) return std::nullopt;
    codes.mantissas.push_back(m->mantissa);
    codes.shifts.push_back(m->shift);
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
  constexpr std::int32_t kMostTried = 4096;
  m = numerics::fixed_multiplier(low);
  for (std::int32_t i = 0; i < kMostTried && m.mantissa < kMost; ++i, ++m.mantissa) {
    if (makes(table, zero, m)) return SumOperand{zero, twice_rounded(m)};
  }
  return std::nullopt;
}

}  // namespace halftone::export_c
