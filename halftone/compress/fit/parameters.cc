// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/numerics/digits.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::compress {
namespace {

/// The nearest finite float32; 0 for NaN.
float finite(double x) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return std::isnan(x) ? 0.0F : static_cast<float>(std::clamp(x, -kMost, kMost));
}

/// Rounds numbers to binary16 if none changes by more than 2^-11 of the largest.
class NumberRounding {
 public:
  explicit NumberRounding(const Vector& numbers) {
    // Below 2^-14 binary16 has a fixed step of 2^-24, which is negligible beside 2^-13.
    constexpr double kSmallest = 0x1p-13;
    constexpr double kLargest = 65504;
    const double largest = numbers.size() == 0 ? 0 : numbers.cwiseAbs().maxCoeff();
    to_half_ = largest >= kSmallest && largest <= kLargest;
  }

  [[nodiscard]] float operator()(double x) const {
    const auto single = static_cast<float>(x);
    return to_half_ ? float_from_half(half_from_float(single)) : single;
  }

 private:
  bool to_half_;
};

/// Significant bits of a unit, few enough for its multiples to be exact.
constexpr int kUnitBits = 11;

double round_to_bits(double x, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, bits)), exponent - bits);
}

}  // namespace

ParameterSpace::ParameterSpace(int bits, bool offset)
    : bits_(bits),
      has_offset_(offset),
      features_(Matrix::Ones(Eigen::Index{1} << bits, bits + (offset ? 1 : 0))) {
  HALFTONE_ASSERT(bits >= 1 && bits <= numerics::kMaxBits);
  for (Eigen::Index code = 0; code < features_.rows(); ++code) {
    for (int i = 0; i < bits; ++i) features_(code, i) = (code >> i & 1) != 0 ? 1 : -1;
  }
}

ParameterSpace::ParameterSpace(std::shared_ptr<const numerics::Codebook> codebook, bool offset,
                               numerics::NumberType scale_type, double factor)
    : bits_(codebook->bits()),
      has_offset_(offset),
      codebook_(std::move(codebook)),
      scale_type_(scale_type),
      factor_(factor),
      features_(Matrix::Ones(Eigen::Index{1} << bits_, offset ? 2 : 1)) {
  for (Eigen::Index code = 0; code < features_.rows(); ++code) {
    const float level = codebook_->levels()[static_cast<std::size_t>(code)];
    if (std::isfinite(level)) {
      features_(code, 0) = level;
    } else {
      features_.row(code).setZero();
    }
  }
}

ParameterSpace::ParameterSpace(std::vector<int> multiples, bool offset)
    : bits_(static_cast<int>(multiples.size())),
      has_offset_(offset),
      multiples_(std::move(multiples)),
      features_(Matrix::Ones(Eigen::Index{1} << bits_, offset ? 2 : 1)) {
  for (Eigen::Index code = 0; code < features_.rows(); ++code) {
    int sum = 0;
    for (int i = 0; i < bits_; ++i) {
      const int multiple = multiples_[static_cast<std::size_t>(i)];
      sum += (code >> i & 1) != 0 ? multiple : -multiple;
    }
    features_(code, 0) = sum;
  }
}

ParameterSpace ParameterSpace::of(const numerics::MatrixEncoding& encoding) {
  if (encoding.codebook == nullptr) return {encoding.bits, encoding.has_offset};
  const numerics::StoredNumbers& scales = encoding.scales;
  HALFTONE_ASSERT(scales.num_factors() <= 1);
  return {encoding.codebook, encoding.has_offset, encoding.number_type(),
          scales.has_factors() ? double{scales.factor(0)} : 1.0};
}

double ParameterSpace::to_scale(double x) const {
  const auto scale = [&](double each) {
    return factor_ * double{numerics::round_to(scale_type_, each / factor_)};
  };
  const double rounded = scale(x);
  // A stored scale is never zero.
  return rounded != 0 ? rounded : factor_ * double{numerics::least_scale(scale_type_)};
}

numerics::Levels ParameterSpace::to_levels(const Vector& parameters) const {
  HALFTONE_ASSERT(parameters.size() == size());
  const NumberRounding rounded(parameters);
  if (codebook_ != nullptr) {
    const bool is_float = scale_type_ == numerics::NumberType::kFloat32;
    const double scale = is_float ? rounded(parameters[0]) : parameters[0];
    return {codebook_, finite(to_scale(finite(scale))),
            has_offset_ ? finite(rounded(parameters[1])) : 0};
  }
  numerics::Basis basis;
  basis.bits = bits_;
  basis.offset = has_offset_ ? rounded(parameters[size() - 1]) : 0;
  if (multiples_.empty()) {
    for (int i = 0; i < bits_; ++i) {
      basis.coefficients[static_cast<std::size_t>(i)] = finite(parameters[i]);
    }
    basis = numerics::on_integer_grid(basis);
    for (float& a : basis.coefficients) a = rounded(double{a});
    return basis;
  }
  // The levels are the same with either sign.
  const auto unit = static_cast<float>(round_to_bits(std::abs(parameters[0]), kUnitBits));
  for (std::size_t i = 0; i < multiples_.size(); ++i) {
    basis.coefficients[i] = static_cast<float>(multiples_[i]) * unit;
  }
  return basis;
}

bool ParameterSpace::has_symmetric_levels() const {
  if (codebook_ == nullptr) return true;
  const std::span<const float> levels = codebook_->sorted();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] != -levels[levels.size() - 1 - i]) return false;
  }
  return true;
}

Vector ParameterSpace::covering(double low, double high, bool is_reversed) const {
  HALFTONE_ASSERT(codebook_ != nullptr);
  const double sign = is_reversed ? -1 : 1;
  double bottom = codebook_->sorted().front();
  double top = codebook_->sorted().back();
  if (is_reversed) bottom = -std::exchange(top, -bottom);
  Vector parameters(size());
  if (has_offset_) {
    const double scale = (high - low) / (top - bottom);
    parameters[0] = sign * scale;
    parameters[1] = low - scale * bottom;
    return parameters;
  }
  double scale = 0;
  if (top > 0) scale = std::max(scale, high / top);
  if (bottom < 0) scale = std::max(scale, low / bottom);
  parameters[0] = sign * scale;
  return parameters;
}

Vector ParameterSpace::parameters_of(const numerics::Levels& levels) const {
  if (codebook_ != nullptr && levels.codebook() == codebook_.get()) {
    Vector parameters(size());
    parameters[0] = levels.scale();
    if (has_offset_) parameters[1] = levels.offset();
    return parameters;
  }
  Vector values(features_.rows());
  for (Eigen::Index code = 0; code < values.size(); ++code) {
    values[code] = double{levels.value(static_cast<numerics::Code>(code))};
  }
  return solve_least_squares(features_, values, 0);
}

ParameterSpace activation_space(const numerics::MatrixEncoding& encoding) {
  if (encoding.codebook == nullptr && encoding.bits == 2) {
    const auto digits = numerics::split_digits(encoding.basis(0), 1);
    const auto [m, n] = digits.front().multiples;
    if (digits.size() == 1) return ParameterSpace({m, n}, encoding.has_offset);
  }
  return ParameterSpace::of(encoding);
}

}  // namespace halftone::compress
