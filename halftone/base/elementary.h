// SPDX-License-Identifier: Apache-2.0
// Elementary functions that give the same bits on every processor. The C library selects variants
// with fused multiply-adds at run time, and their last bits differ. These functions use only
// operations whose rounding IEEE 754 defines.
#pragma once

#include <cmath>

namespace halftone::elementary {

/// The larger number, the first of equal ones; NaN if either is NaN, which std::max() may lose.
template <typename T>
constexpr T larger(T a, T b) {
  return a < b || std::isnan(b) ? b : a;
}
/// The smaller number, likewise.
template <typename T>
constexpr T smaller(T a, T b) {
  return b < a || std::isnan(b) ? b : a;
}

/// e^x; relative error below 2^-51 where the result is a normal number.
double exp(double x);
/// e^x - 1; relative error below 2^-50.
double expm1(double x);
/// Natural logarithm; relative error below 2^-50. NaN for x < 0, -infinity for 0.
double log(double x);
/// log(1 + x); relative error below 2^-50.
double log1p(double x);
/// x^y; as std::pow() for zeros, infinities and NaN. Relative error below 2^-50 (1 + |y log x|).
double pow(double x, double y);

/// Absolute error below 2^-51. NaN for infinities.
double sin(double x);
double cos(double x);
/// Error below 2^-50 (1 + tan^2 x). NaN for infinities.
double tan(double x);
/// Relative error below 2^-50. NaN for |x| > 1.
double asin(double x);
double acos(double x);
/// Relative error below 2^-51.
double atan(double x);

/// Relative error below 2^-49. Infinite for |x| >= 709.8.
double sinh(double x);
double cosh(double x);
/// Relative error below 2^-49.
double tanh(double x);
double asinh(double x);
/// Relative error below 2^-49. NaN for x < 1.
double acosh(double x);
/// Relative error below 2^-49. NaN for |x| > 1.
double atanh(double x);

/// Error function; absolute error below 2^-47.
double erf(double x);
/// 1 - erf(x); relative error below 2^-42 where the result is a normal number.
double erfc(double x);

}  // namespace halftone::elementary
