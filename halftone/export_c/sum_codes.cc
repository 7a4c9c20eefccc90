// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/sum_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::export_c {
namespace {

/// The smallest sum from -largest on whose number is above `level` thresholds; else largest + 1.
template <typename NumberOf>
std::int64_t first_above(std::size_t level, std::int64_t largest, const LevelCounter& counter,
                         const NumberOf& number_of) {
  std::int64_t low = -largest;
  std::int64_t high = largest + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (counter(number_of(middle)) > level) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The first sums that are above a level, of a line that rises: surely, and perhaps.
struct SureFrom {
  std::int64_t sure = 0;
  std::int64_t unsure = 0;
};

/// @param y  taken as rising: of -S if it falls
SureFrom sure_from(const OutputOfSum& y, std::size_t level, std::int64_t largest,
                   const LevelCounter& counter) {
  // The bound also covers the rounding of these numbers, which are of float64.
  const double error = y.error * (1 + 0x1p-20) + std::numeric_limits<double>::min();
  const auto first = [&](double change) {
    return first_above(level, largest, counter, [&](std::int64_t sum) {
      return std::abs(y.slope) * static_cast<double>(sum) + y.intercept + change;
    });
  };
  return {first(-error), first(error)};
}

}  // namespace

void RoundedSum::add(double reach, int roundings, double error) {
  // Products of up to 2^8 roundings: (1 + 2^-24)^k < 1 + k 2^-24 (1 + 2^-16).
  constexpr double kSecondOrder = 1 + 0x1p-16;
  const bool is_first = reach_ == 0;
  reach_ += reach;
  error_ += (roundings * reach + error + (is_first ? 0 : reach_)) * kSecondOrder;
}

LevelCounter::LevelCounter(const kernels::EncodeTable& table, const ir::Limits& limits)
    : thresholds_(table.thresholds().begin(), table.thresholds().end()), limits_(limits) {}

std::size_t LevelCounter::operator()(double y) const {
  const double limited = std::clamp(y, double{limits_.low}, double{limits_.high});
  return static_cast<std::size_t>(std::ranges::lower_bound(thresholds_, limited) -
                                  thresholds_.begin());
}

std::optional<SumCodes> find_sum_codes(std::span<const OutputOfSum> outputs, std::int64_t largest,
                                       const LevelCounter& counter) {
  if (largest >= std::numeric_limits<std::int16_t>::max()) return std::nullopt;
  const std::size_t max_unsure = 4 + outputs.size() / 8;
  SumCodes codes;
  for (std::size_t row = 0; row < outputs.size(); ++row) {
    const bool falls = outputs[row].slope < 0;
    codes.falls.push_back(falls);
    const auto add_unsure = [&](std::int64_t sum) {
      codes.unsure.push_back({row, static_cast<std::int32_t>(falls ? -sum : sum)});
    };
    std::vector<std::int64_t> firsts;
    for (std::size_t level = 0; level < counter.levels(); ++level) {
      const SureFrom from = sure_from(outputs[row], level, largest, counter);
      for (std::int64_t sum = from.unsure; sum < from.sure; ++sum) {
        if (codes.unsure.size() == max_unsure) return std::nullopt;
        add_unsure(sum);
      }
      firsts.push_back(falls ? 1 - from.sure : from.sure);
    }
    if (falls) std::ranges::reverse(firsts);
    for (const std::int64_t first : firsts) {
      codes.thresholds.push_back(static_cast<std::int16_t>(first));
    }
  }
  return codes;
}

}  // namespace halftone::export_c
