// SPDX-License-Identifier: Apache-2.0
// Multipliers as integers: the numbers of ht_codes in text/requantize.c.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/ops/integer.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::export_c {

/// x mantissa / 2^shift, shift in [1, 62].
struct Multiplier {
  std::int64_t mantissa = 0;
  std::int8_t shift = 31;
};

/// As ht_round_twice() takes it.
Multiplier twice_rounded(numerics::FixedMultiplier m);

/// Beyond these sums, codes have reached their bounds.
inline constexpr std::int64_t kLargestSum = std::int64_t{1} << 26;

/// (x mantissa + 2^(shift - 1)) >> shift of x within kLargestSum of 0: as ht_code() rounds once.
std::int64_t rounded_once(std::int32_t sum, const Multiplier& m);

/// A multiplier with which rounded_once() gives the code of the Requantize for every sum; found by
/// comparing where codes change. Nothing if none is found.
/// @param bits  of the mantissa: up to 36
std::optional<Multiplier> once_rounded(const ir::Requantize& op, double multiplier, int bits);

/// The multipliers of a Requantize; nothing if integers cannot replace its float64 products.
struct CodesOfSums {
  std::vector<std::int64_t> mantissas;
  std::vector<std::int8_t> shifts;
  bool is_twice = false;
  bool is_wide = false;  ///< mantissas of more than 32 bits
};
std::optional<CodesOfSums> codes_of_sums(const ir::Requantize& op);

/// An operand of a sum of codes: the table of numerics::multiply((q - zero) 2^20, m).
struct SumOperand {
  std::int32_t zero = 0;
  Multiplier multiplier;
};
/// Finds what a table was made of. Nothing if it was made otherwise.
std::optional<SumOperand> sum_operand(std::span<const std::int32_t> table);

}  // namespace halftone::export_c
