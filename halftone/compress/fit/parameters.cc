// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/numerics/basis.h"
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

/// The factor of each number, or one for all.
std::vector<double> factors_of(const numerics::StoredNumbers& numbers) {
  std::vector<double> factors;
  const std::size_t count = numbers.sharing().share == 0 ? 1 : numbers.size();
  for (std::size_t i = 0; i < count; ++i) factors.push_back(double{numbers.factor_of(i)});
  return factors;
}

double factor_at(const std::vector<double>& factors, std::size_t block) {
  return factors[factors.size() == 1 ? 0 : block];
}

double round_to_bits(double x, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, bits)), exponent - bits);
}

}  // namespace

ParameterSpace::ParameterSpace(int bits, bool offset) : bits_(bits), has_offset_(offset) {
  HALFTONE_ASSERT(bits >= 1 && bits <= numerics::kMaxBits);
  Matrix features = Matrix::Ones(Eigen::Index{1} << bits, bits + (offset ? 1 : 0));
  for (Eigen::Index code = 0; code < features.rows(); ++code) {
    for (int i = 0; i < bits; ++i) features(code, i) = (code >> i & 1) != 0 ? 1 : -1;
  }
  features_ = std::make_shared<const Matrix>(std::move(features));
}

ParameterSpace::ParameterSpace(std::shared_ptr<const numerics::Codebook> codebook, bool offset,
                               numerics::NumberType scale_type)
    : bits_(codebook->bits()),
      has_offset_(offset),
      codebook_(std::move(codebook)),
      scale_type_(scale_type) {
  Matrix features = Matrix::Ones(Eigen::Index{1} << bits_, offset ? 2 : 1);
  for (Eigen::Index code = 0; code < features.rows(); ++code) {
    const float level = codebook_->levels()[static_cast<std::size_t>(code)];
    if (std::isfinite(level)) {
      features(code, 0) = level;
    } else {
      features.row(code).setZero();
    }
  }
  features_ = std::make_shared<const Matrix>(std::move(features));
}

ParameterSpace::ParameterSpace(std::vector<int> multiples, bool offset)
    : bits_(static_cast<int>(multiples.size())),
      has_offset_(offset),
      multiples_(std::move(multiples)) {
  Matrix features = Matrix::Ones(Eigen::Index{1} << bits_, offset ? 2 : 1);
  for (Eigen::Index code = 0; code < features.rows(); ++code) {
    int sum = 0;
    for (int i = 0; i < bits_; ++i) {
      const int multiple = multiples_[static_cast<std::size_t>(i)];
      sum += (code >> i & 1) != 0 ? multiple : -multiple;
    }
    features(code, 0) = sum;
  }
  features_ = std::make_shared<const Matrix>(std::move(features));
}

ParameterSpace ParameterSpace::of(const numerics::MatrixEncoding& encoding) {
  if (encoding.codebook == nullptr) return {encoding.bits, encoding.has_offset};
  ParameterSpace space(encoding.codebook, encoding.has_offset, encoding.number_type());
  space.scale_factors_ = factors_of(encoding.scales);
  if (encoding.offsets.has_factors()) {
    space.offset_type_ = encoding.offsets.type();
    space.offset_factors_ = factors_of(encoding.offsets);
  }
  return space;
}

ParameterSpace ParameterSpace::of_block(std::size_t block) const {
  ParameterSpace space(*this);
  for (std::vector<double>* factors : {&space.scale_factors_, &space.offset_factors_}) {
    if (factors->size() > 1) *factors = {(*factors)[block]};
  }
  return space;
}

double ParameterSpace::to_scale(double x, double factor) const {
  const double rounded = factor * double{numerics::round_to(scale_type_, x / factor)};
  // A stored scale is never zero.
  return rounded != 0 ? rounded : factor * double{numerics::least_scale(scale_type_)};
}

double ParameterSpace::to_offset(double x, std::size_t block) const {
  if (offset_factors_.empty()) return x;
  const double factor = factor_at(offset_factors_, block);
  return factor * double{numerics::round_to(offset_type_, x / factor)};
}

numerics::Levels ParameterSpace::to_levels(const Vector& parameters, std::size_t block) const {
  HALFTONE_ASSERT(parameters.size() == size());
  const NumberRounding rounded(parameters);
  if (codebook_ != nullptr) {
    const bool is_float = scale_type_ == numerics::NumberType::kFloat32;
    const double scale = is_float ? rounded(parameters[0]) : parameters[0];
    const double offset = !has_offset_              ? 0
                          : offset_factors_.empty() ? double{rounded(parameters[1])}
                                                    : to_offset(parameters[1], block);
    const float stored = finite(to_scale(finite(scale), factor_at(scale_factors_, block)));
    if (!has_zero_points()) return {codebook_, stored, finite(offset)};
    const auto zero = static_cast<float>(codebook_->zero_point(double{stored}, parameters[1]));
    return {codebook_, stored, finite(double{-stored * zero})};
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
  if (has_zero_points()) {
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
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

Vector ParameterSpace::with_zero_point(const Matrix& gram, const Vector& rhs, double z) const {
  const double square = gram(0, 0) - 2 * z * gram(0, 1) + z * z * gram(1, 1);
  const double scale = square > 0 ? (rhs[0] - z * rhs[1]) / square : 0;
  return Vector{{scale, -scale * z}};
}

Vector ParameterSpace::parameters_of(const numerics::Levels& levels) const {
  if (codebook_ != nullptr && levels.codebook() == codebook_.get()) {
    Vector parameters(size());
    parameters[0] = levels.scale();
    if (has_offset_) parameters[1] = levels.offset();
    return parameters;
  }
  Vector values(features_->rows());
  for (Eigen::Index code = 0; code < values.size(); ++code) {
    values[code] = double{levels.value(static_cast<numerics::Code>(code))};
  }
  return solve_least_squares(*features_, values, 0);
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
