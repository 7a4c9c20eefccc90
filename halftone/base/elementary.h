// SPDX-License-Identifier: Apache-2.0
// Elementary functions that give the same bits on every processor. The C library selects variants
// with fused multiply-adds at run time, and their last bits differ. These functions use only
// operations whose rounding IEEE 754 defines.
#pragma once

namespace halftone::elementary {

/// e^x; relative error below 2^-51 where the result is a normal number.
double exp(double x);
/// e^x - 1; relative error below 2^-50.
double expm1(double x);
/// Natural logarithm; relative error below 2^-50. NaN for x < 0, -infinity for 0.
double log(double x);
/// log(1 + x); relative error below 2^-50.
double log1p(double x);
/// Relative error below 2^-49.
double tanh(double x);
/// Error function; absolute error below 2^-47.
double erf(double x);
/// Absolute error below 2^-51 for |x| <= 2^20, below |x| 2^-53 beyond.
double sin(double x);
double cos(double x);
/// x^y; as std::pow() for zeros, infinities and NaN. Relative error below 2^-50 (1 + |y log x|).
double pow(double x, double y);

}  // namespace halftone::elementary
