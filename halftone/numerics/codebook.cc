// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/codebook.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::numerics {
namespace {

constexpr std::int64_t kSignBit = 0x80000000;

/// Whether a number midway between neighbouring levels of these codes takes the upper one.
bool takes_upper(Ties ties, double middle, Code low, Code high) {
  switch (ties) {
    case Ties::kEven:
      return low % 2 != 0 && high % 2 == 0;
    case Ties::kLower:
      return false;
    case Ties::kUpper:
      return true;
    case Ties::kTowardZero:
      return middle < 0;
  }
  return false;
}

/// The largest float32 that takes the lower of two levels.
/// @param middle    between them
/// @param is_upper  whether the middle takes the upper level
float threshold_at(double middle, bool is_upper) {
  return largest_where([&](float x) { return is_upper ? double{x} < middle : double{x} <= middle; },
                       static_cast<float>(middle));
}

/// The values of the codes of a floating point format.
std::vector<float> values_of(const Minifloat& format) {
  std::vector<float> values(std::size_t{1} << format.bits());
  for (std::size_t code = 0; code < values.size(); ++code) {
    values[code] = decode(format, static_cast<std::uint32_t>(code));
  }
  return values;
}

}  // namespace

std::int64_t order_of(float x) {
  const auto bits = std::int64_t{std::bit_cast<std::uint32_t>(x)};
  return bits < kSignBit ? bits : kSignBit - 1 - bits;
}

float float_at(std::int64_t order) {
  const std::int64_t bits = order >= 0 ? order : kSignBit - 1 - order;
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

Codebook::Codebook(std::string name, std::vector<float> levels, Ties ties)
    : name_(std::move(name)), levels_(std::move(levels)) {
  sort();
  for (std::size_t l = 0; l + 1 < sorted_.size(); ++l) {
    // Exact for neighbours whose exponents differ by less than 29.
    const double middle = double{sorted_[l]} / 2 + double{sorted_[l + 1]} / 2;
    thresholds_.push_back(
        threshold_at(middle, takes_upper(ties, middle, codes_[l], codes_[l + 1])));
  }
  find_step();
  find_coefficients();
  find_fit();
}

Codebook::Codebook(std::string name, std::vector<float> levels, std::vector<float> thresholds)
    : name_(std::move(name)), levels_(std::move(levels)), thresholds_(std::move(thresholds)) {
  sort();
  HALFTONE_ASSERT(thresholds_.size() + 1 == sorted_.size());
  HALFTONE_ASSERT(std::ranges::is_sorted(thresholds_));
  find_step();
  find_coefficients();
  find_fit();
}

Codebook::Codebook(std::string name, const Minifloat& format, Overflow overflow)
    : Codebook(std::move(name), values_of(format)) {
  format_ = format;
  if (overflow == Overflow::kSpecial && format.specials != Specials::kNone) find_beyond();
}

void Codebook::sort() {
  HALFTONE_ASSERT(levels_.size() >= 2 && std::has_single_bit(levels_.size()));
  bits_ = static_cast<int>(std::bit_width(levels_.size())) - 1;
  HALFTONE_ASSERT(bits_ <= kMaxCodeBits);
  std::vector<Code> order;
  for (std::size_t code = 0; code < levels_.size(); ++code) {
    const float level = levels_[code];
    if (std::isnan(level) && nan_ < 0) nan_ = static_cast<int>(code);
    if (level == 0 && std::signbit(level) && negative_zero_ < 0) {
      negative_zero_ = static_cast<int>(code);
    }
    if (std::isfinite(level)) order.push_back(static_cast<Code>(code));
  }
  HALFTONE_ASSERT(!order.empty());
  // Equal levels stay in the order of their codes, except that 0 comes before -0.
  std::ranges::stable_sort(order, [this](Code x, Code y) {
    if (levels_[x] != levels_[y]) return levels_[x] < levels_[y];
    return !std::signbit(levels_[x]) && std::signbit(levels_[y]);
  });
  for (const Code code : order) {
    if (!sorted_.empty() && sorted_.back() == levels_[code]) continue;
    sorted_.push_back(levels_[code]);
    codes_.push_back(code);
  }
}

void Codebook::find_step() {
  const float step = levels_[1] - levels_[0];
  if (!(step > 0)) return;
  for (std::size_t code = 0; code < levels_.size(); ++code) {
    // Exact for the multiples of powers of two that codebooks of integers have.
    if (levels_[code] != levels_[0] + static_cast<float>(code) * step) return;
  }
  step_ = step;
}

void Codebook::find_coefficients() {
  if (bits_ > kMaxBits) return;
  std::vector<float> coefficients;
  for (int i = 0; i < bits_; ++i) {
    coefficients.push_back((levels_[std::size_t{1} << i] - levels_[0]) / 2);
  }
  for (std::size_t code = 0; code < levels_.size(); ++code) {
    double level = (double{levels_.front()} + double{levels_.back()}) / 2;
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      level += (code >> i & 1) != 0 ? double{coefficients[i]} : -double{coefficients[i]};
    }
    // Also if a level is not finite.
    if (level != double{levels_[code]}) return;
  }
  coefficients_ = std::move(coefficients);
}

int Codebook::exact_steps(int most) const {
  constexpr double kTolerance = 0x1p-10;  // of a step: levels are rounded to float32
  const double low = sorted_.front();
  const double range = sorted_.back() - low;
  for (int steps = most; steps > 0; --steps) {
    const auto is_on_grid = [&](float level) {
      const double at = (level - low) / range * steps;
      return std::abs(at - std::round(at)) <= kTolerance;
    };
    if (std::ranges::all_of(sorted_, is_on_grid)) return steps;
  }
  return 0;
}

void Codebook::find_fit() {
  if (bits_ > kMaxBits || sorted_.size() < 2) return;
  const int exact = exact_steps(most_weight_steps(bits_));
  weight_steps_ = exact != 0 ? exact : numerics::weight_steps(bits_);
  const double low = sorted_.front();
  const double step = (double{sorted_.back()} - low) / weight_steps_;
  const auto gap = [&](std::size_t l) {
    const double before = l == 0 ? std::numeric_limits<double>::infinity()
                                 : double{sorted_[l]} - double{sorted_[l - 1]};
    const double after = l + 1 == sorted_.size() ? std::numeric_limits<double>::infinity()
                                                 : double{sorted_[l + 1]} - double{sorted_[l]};
    return std::min(before, after);
  };
  for (std::size_t l = 0; l < sorted_.size(); ++l) {
    const double at = (sorted_[l] - low) / step;
    if (std::abs(at - std::round(at)) * step > gap(l) / 8) return;
  }
  fits_integers_ = true;
}

void Codebook::find_beyond() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto is_held = [this](float x) {
    return std::isfinite(round_to_nearest(*format_, x, Overflow::kSpecial));
  };
  const auto special = [this](std::uint32_t code) {
    return Beyond::Special{static_cast<Code>(code), levels_[code]};
  };
  const float most = sorted_.back();
  beyond_ = {largest_where([&](float x) { return x < 0 && !is_held(x); }, -most),
             largest_where([&](float x) { return x < 0 || is_held(x); }, most),
             special(numerics::encode(*format_, -kInfinity, Overflow::kSpecial)),
             special(numerics::encode(*format_, kInfinity, Overflow::kSpecial)),
             special(static_cast<std::uint32_t>(nan_))};
  fits_integers_ = false;
}

std::size_t Codebook::index(float x) const {
  // Counts thresholds strictly below x. The comparison is false for NaN, which gets level 0.
  return static_cast<std::size_t>(
      std::ranges::partition_point(thresholds_, [x](float t) { return t < x; }) -
      thresholds_.begin());
}

Code Codebook::encode(float x) const {
  if (std::isnan(x) && nan_ >= 0) return static_cast<Code>(nan_);
  if (beyond_) {
    if (const Beyond::Special* special = beyond_->find(x)) return special->code;
  }
  const std::size_t l = index(x);
  if (sorted_[l] == 0 && std::signbit(x) && negative_zero_ >= 0) {
    return static_cast<Code>(negative_zero_);
  }
  return codes_[l];
}

Codebook Codebook::with_zero_points() && {
  HALFTONE_ASSERT(is_even() && step_ == 1);
  has_zero_points_ = true;
  return std::move(*this);
}

double Codebook::zero_point(double scale, double offset) const {
  HALFTONE_ASSERT(has_zero_points_ && scale != 0);
  const double z = std::round(-offset / scale);
  return std::clamp(z, double{sorted_.front()}, double{sorted_.back()});
}

bool Codebook::operator==(const Codebook& other) const {
  // Levels as bits, so that NaN equals itself and -0 differs from 0.
  const auto same = [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  };
  return name_ == other.name_ && std::ranges::equal(levels_, other.levels_, same) &&
         thresholds_ == other.thresholds_ && has_zero_points_ == other.has_zero_points_;
}

}  // namespace halftone::numerics
