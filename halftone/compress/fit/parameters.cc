// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/parameters.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/half.h"

namespace halftone::compress {
namespace {

/// The nearest binary16 number where that costs at most half a unit in its last place, else x.
float rounded_to_half(double x) {
  constexpr double kSmallestNormal = 0x1p-14;
  constexpr double kLargest = 65504;
  const auto single = static_cast<float>(x);
  const bool normal = std::abs(x) >= kSmallestNormal && std::abs(x) <= kLargest;
  return normal ? float_from_half(half_from_float(single)) : single;
}

/// The power of two nearest to x on the logarithmic scale; the smallest normal one for x <= 0.
double nearest_power_of_two(double x) {
  if (!(x > std::numeric_limits<float>::min())) return std::numeric_limits<float>::min();
  return std::exp2(std::round(std::log2(x)));
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

bool ParameterSpace::has_offset() const {
  return scheme_ == Scheme::kAffine || scheme_ == Scheme::kFixed ||
         (scheme_ == Scheme::kBasis && offset_);
}

numerics::Basis ParameterSpace::to_basis(const Vector& parameters) const {
  HALFTONE_ASSERT(parameters.size() == size());
  numerics::Basis basis;
  switch (scheme_) {
    case Scheme::kBasis:
      basis.bits = bits_;
      for (int i = 0; i < bits_; ++i) {
        basis.coefficients[static_cast<std::size_t>(i)] = rounded_to_half(parameters[i]);
      }
      basis.offset = offset_ ? rounded_to_half(parameters[bits_]) : 0;
      return basis;
    case Scheme::kAffine:
      basis = numerics::symmetric_basis(bits_, rounded_to_half(parameters[0]));
      basis.offset = rounded_to_half(parameters[1]);
      return basis;
    case Scheme::kSymmetric:
      return numerics::symmetric_basis(bits_, rounded_to_half(parameters[0]));
    case Scheme::kFixed: {
      const auto scale = static_cast<float>(nearest_power_of_two(parameters[0]));
      basis = numerics::symmetric_basis(bits_, scale);
      basis.offset = -scale / 2;
      return basis;
    }
  }
  fail(ErrorKind::kInternal, "unknown scheme");
}

Vector solve_ridge(Matrix gram, const Vector& rhs, double relative_ridge) {
  const double mean_diagonal = gram.diagonal().mean();
  const double ridge = mean_diagonal > 0 ? relative_ridge * mean_diagonal : 1;
  gram.diagonal().array() += ridge;
  return gram.ldlt().solve(rhs);
}

}  // namespace halftone::compress
