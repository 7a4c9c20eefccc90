// SPDX-License-Identifier: Apache-2.0
// Corrects outputs for taps outside the image, which are computed with a regular code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// @throws Error kShape unless the codes are [outputs, inputs of an output]
void check_codes(const std::string& kernel, const ConvShape& shape,
                 const numerics::BitPlanes& codes);

/// The sums of the levels of each tap of an output: m c + sum_j a_j T_j with m channels, in
/// float64, from j = 0 on.
/// @return [taps]
std::vector<double> tap_sums(const ConvShape& shape, const numerics::BitPlanes& codes,
                             std::size_t output, const numerics::Basis& basis);

/// Constants for the initial values of outputs.
struct OutputOffsets {
  double bias = 0;
  double offset = 0;  ///< of the activations
  double zero = 0;    ///< the value used for activations outside the image
};

/// bias + offset sum_k w_k - zero sum_(k outside) w_k for each pattern, in float64.
/// @param sums   [taps] of the weights w
/// @param bases  [patterns]
void padded_bases(const PaddingPatterns& patterns, std::span<const double> sums,
                  const OutputOffsets& offsets, std::span<double> bases);

/// bias - zero sum_(k inside) w_k for each pattern, modulo 2^32.
/// @param sums  [taps] of the weights w, integers
/// @return [patterns]
std::vector<std::int32_t> integer_bases(const PaddingPatterns& patterns,
                                        std::span<const double> sums, std::int32_t bias,
                                        std::int32_t zero);

}  // namespace halftone::kernels
