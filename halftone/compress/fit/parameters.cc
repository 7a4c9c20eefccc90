// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/parameters.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/numerics/digits.h"

namespace halftone::compress {
namespace {

/// Rounds a basis to binary16 if no value changes by more than 2^-11 of the largest.
class BasisRounding {
 public:
  explicit BasisRounding(const Vector& numbers) {
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

/// The power of two nearest to x on the logarithmic scale; the smallest normal one for x <= 0.
double nearest_power_of_two(double x) {
  if (!(x > std::numeric_limits<float>::min())) return std::numeric_limits<float>::min();
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  constexpr double kMiddle = 0.70710678118654752;    // 2^(-1/2)
  return std::ldexp(1, mantissa < kMiddle ? exponent - 1 : exponent);
}

}  // namespace

std::string_view to_string(Scheme scheme) {
  switch (scheme) {
    case Scheme::kBasis:
      return "basis";
    case Scheme::kAffine:
      return "affine";
    case Scheme::kSymmetric:
      return "symmetric";
    case Scheme::kFixed:
      return "fixed";
  }
  return "unknown";
}

Scheme scheme_from(std::string_view name) {
  for (const Scheme scheme :
       {Scheme::kBasis, Scheme::kAffine, Scheme::kSymmetric, Scheme::kFixed}) {
    if (to_string(scheme) == name) return scheme;
  }
  fail(ErrorKind::kUsage, "scheme: expected basis, affine, symmetric, fixed or float, found '" +
                              std::string(name) + "'");
}

ParameterSpace::ParameterSpace(Scheme scheme, int bits, bool offset)
    : scheme_(scheme), bits_(bits), offset_(offset) {
  const Eigen::Index codes = Eigen::Index{1} << bits;
  const Eigen::Index free = scheme == Scheme::kBasis    ? bits + (offset ? 1 : 0)
                            : scheme == Scheme::kAffine ? 2
                                                        : 1;
  features_ = Matrix::Ones(codes, free);
  for (Eigen::Index code = 0; code < codes; ++code) {
    const double evenly = static_cast<double>(code) - static_cast<double>(codes - 1) / 2;
    if (scheme == Scheme::kBasis) {
      for (int i = 0; i < bits; ++i) features_(code, i) = (code >> i & 1) != 0 ? 1 : -1;
    } else {
      features_(code, 0) = scheme == Scheme::kFixed ? evenly - 0.5 : evenly;
    }
  }
}

ParameterSpace::ParameterSpace(std::vector<int> multiples, bool offset)
    : scheme_(Scheme::kBasis),
      bits_(static_cast<int>(multiples.size())),
      offset_(offset),
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

bool ParameterSpace::has_offset() const {
  return scheme_ == Scheme::kAffine || scheme_ == Scheme::kFixed ||
         (scheme_ == Scheme::kBasis && offset_);
}

numerics::Basis ParameterSpace::to_basis(const Vector& parameters) const {
  HALFTONE_ASSERT(parameters.size() == size());
  const BasisRounding rounded(parameters);
  numerics::Basis basis;
  if (!multiples_.empty()) {
    // The levels are the same with either sign.
    const auto unit = static_cast<float>(round_to_bits(std::abs(parameters[0]), kUnitBits));
    basis.bits = bits_;
    for (std::size_t i = 0; i < multiples_.size(); ++i) {
      basis.coefficients[i] = static_cast<float>(multiples_[i]) * unit;
    }
    basis.offset = offset_ ? rounded(parameters[1]) : 0;
    return basis;
  }
  switch (scheme_) {
    case Scheme::kBasis:
      basis.bits = bits_;
      for (int i = 0; i < bits_; ++i) {
        basis.coefficients[static_cast<std::size_t>(i)] = rounded(parameters[i]);
      }
      basis.offset = offset_ ? rounded(parameters[bits_]) : 0;
      return basis;
    case Scheme::kAffine:
      basis = numerics::symmetric_basis(bits_, rounded(parameters[0]));
      basis.offset = rounded(parameters[1]);
      return basis;
    case Scheme::kSymmetric:
      return numerics::symmetric_basis(bits_, rounded(parameters[0]));
    case Scheme::kFixed: {
      const auto scale = static_cast<float>(nearest_power_of_two(parameters[0]));
      basis = numerics::symmetric_basis(bits_, scale);
      basis.offset = -scale / 2;
      return basis;
    }
  }
  fail(ErrorKind::kInternal, "unknown scheme");
}

ParameterSpace activation_space(Scheme scheme, const numerics::Basis& basis, bool has_offset) {
  if (scheme == Scheme::kBasis && basis.bits == 2) {
    const auto digits = numerics::split_digits(basis, 1);
    const auto [m, n] = digits.front().multiples;
    if (digits.size() == 1) return ParameterSpace({m, n}, has_offset);
  }
  return ParameterSpace(scheme, basis.bits, has_offset);
}

}  // namespace halftone::compress
