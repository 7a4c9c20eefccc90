// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/linear_codes.h"

namespace halftone::kernels {
namespace {

std::size_t code_of(float x, const EncodeTable& table) {
  if (table.beyond()) {
    if (const numerics::Beyond::Special* special = table.beyond()->find(x)) return special->code;
  }
  std::size_t level = 0;
  for (const float t : table.thresholds()) level += x > t;
  return table.codes()[level];
}

template <typename Number>
Number combined(PairKind kind, Number a, Number b) {
  if (kind == PairKind::kSum) return a + b;
  return kind == PairKind::kDifference ? a - b : a * b;
}

float number_of(std::int32_t q, CodeScale scale) {
  return scale.scale * static_cast<float>(q - scale.zero_point);
}

/// Column i of a sum times its multiplier, rounded, in float64 plus the zero point.
double code_before_bounds(std::int32_t x, const Requantization& how, std::size_t i) {
  const std::size_t at = i % how.period();
  const std::int32_t zero_point = how.bounds().zero_point;
  if (how.rounding() == SumRounding::kTwice) {
    const numerics::FixedMultiplier m{how.mantissas()[at],
                                      how.left_shifts()[at] - how.right_shifts()[at]};
    const auto y = static_cast<std::uint32_t>(numerics::multiply(x, m));
    return static_cast<std::int32_t>(y + static_cast<std::uint32_t>(zero_point));
  }
  const double y = static_cast<double>(x) * how.factors()[at];
  return (how.rounding() == SumRounding::kHalfAway ? std::round(y) : std::nearbyint(y)) +
         zero_point;
}

template <typename Code>
void requantize_plainly(std::span<const std::int32_t> x, const Requantization& how, Code* q) {
  const double low = how.bounds().low;
  const double high = how.bounds().high;
  for (std::size_t i = 0; i < x.size(); ++i) {
    q[i] = static_cast<Code>(std::clamp(code_before_bounds(x[i], how, i), low, high));
  }
}

std::size_t period_of(std::size_t multipliers) {
  HALFTONE_ASSERT(multipliers > 0);
  return std::lcm(multipliers, Requantization::kLanes);
}

}  // namespace

void encode_reference(MatrixView<const float> values, const EncodeTable& table,
                      std::span<std::uint64_t> planes) noexcept {
  const std::size_t words = words_for_bits(values.cols());
  std::fill(planes.begin(), planes.end(), 0);
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < values.cols(); ++c) {
      const std::uint64_t code = code_of(values(r, c), table);
      for (std::size_t j = 0; j < table.bits(); ++j) {
        planes[(r * table.bits() + j) * words + c / 64] |= (code >> j & 1) << (c % 64);
      }
    }
  }
}

void encode_int8_reference(MatrixView<const float> values, const EncodeTable& table,
                           const Int8Levels& levels, MatrixView<std::int8_t> q) noexcept {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < values.cols(); ++c) {
      q(r, c) = levels.q[code_of(values(r, c), table)];
    }
  }
}

void round_to_levels_reference(std::span<const float> x, const numerics::LevelTable& table,
                               std::span<float> y) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = table.nearest(x[i]);
}

void sum_by_level_reference(std::span<const float> x, std::span<const float> v,
                            const numerics::LevelTable& table, std::span<double> sums) noexcept {
  constexpr std::size_t kRun = 4096;
  std::ranges::fill(sums, 0.0);
  for (std::size_t begin = 0; begin < x.size(); begin += kRun) {
    std::vector<std::array<float, 16>> partial(table.size());
    for (std::size_t i = begin; i < std::min(begin + kRun, x.size()); ++i) {
      partial[table.index(x[i])][(i - begin) % 16] += v[i];
    }
    for (std::size_t level = 0; level < table.size(); ++level) {
      for (std::size_t h = 8; h != 0; h /= 2) {
        for (std::size_t l = 0; l < h; ++l) partial[level][l] += partial[level][l + h];
      }
      sums[level] += partial[level][0];
    }
  }
}

void pass_between_reference(std::span<const float> x, float low, float high,
                            std::span<const float> g, std::span<float> y) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] >= low && x[i] <= high ? g[i] : 0.0F;
}

std::int32_t quantized_reference(float x, const CodeRounder& how) noexcept {
  const float steps = x / how.scale;
  const float whole = (how.half_away ? std::round(steps) : std::nearbyint(steps)) +
                      static_cast<float>(how.bounds.zero_point);
  if (std::isnan(whole)) return 0;
  return static_cast<std::int32_t>(
      std::clamp(whole, static_cast<float>(how.bounds.low), static_cast<float>(how.bounds.high)));
}

std::int32_t combined_reference(std::int32_t a, std::int32_t b, const FloatPair& how) noexcept {
  const float number = combined(how.kind, number_of(a, how.a), number_of(b, how.b));
  return quantized_reference(std::clamp(number, how.low, how.high), how.y);
}

void quantize_rows_reference(MatrixView<const float> values, MatrixView<std::int8_t> q,
                             std::span<float> scales) noexcept {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    float largest = 0;
    bool finite = true;
    for (const float x : values.row(r)) {
      finite = finite && std::isfinite(x);
      largest = std::max(largest, std::abs(x));
    }
    const float steps = kInt8Range / largest;
    const bool zero = !finite || std::isinf(steps);
    for (std::size_t c = 0; c < values.cols(); ++c) {
      q(r, c) = zero ? std::int8_t{0} : static_cast<std::int8_t>(std::lrint(values(r, c) * steps));
    }
    scales[r] = !finite ? std::numeric_limits<float>::quiet_NaN() : zero ? 0 : largest / kInt8Range;
  }
}

Requantization::Requantization(std::span<const numerics::FixedMultiplier> multipliers,
                               CodeBounds bounds)
    : bounds_(bounds), rounding_(SumRounding::kTwice), period_(period_of(multipliers.size())) {
  for (std::size_t i = 0; i < period_; ++i) {
    const numerics::FixedMultiplier m = multipliers[i % multipliers.size()];
    HALFTONE_ASSERT(m.shift >= -31 && m.shift <= 30);
    mantissas_.push_back(m.mantissa);
    left_shifts_.push_back(std::max(m.shift, 0));
    right_shifts_.push_back(std::max(-m.shift, 0));
  }
}

Requantization::Requantization(std::span<const double> multipliers, CodeBounds bounds,
                               SumRounding rounding)
    : bounds_(bounds), rounding_(rounding), period_(period_of(multipliers.size())) {
  HALFTONE_ASSERT(rounding != SumRounding::kTwice);
  for (std::size_t i = 0; i < period_; ++i) {
    factors_.push_back(multipliers[i % multipliers.size()]);
  }
}

void requantize_reference(std::span<const std::int32_t> x, const Requantization& how,
                          std::span<std::int8_t> q) noexcept {
  requantize_plainly(x, how, q.data());
}

void requantize_reference(std::span<const std::int32_t> x, const Requantization& how,
                          std::span<std::uint8_t> q) noexcept {
  requantize_plainly(x, how, q.data());
}

}  // namespace halftone::kernels
