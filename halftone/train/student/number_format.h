// SPDX-License-Identifier: Apache-2.0
// The number systems that training may imitate: float32 numbers rounded to what others can hold.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "halftone/numerics/minifloat.h"

namespace halftone::train {

/// What numbers are anyway: nothing is rounded.
struct Float32 {
  bool operator==(const Float32&) const = default;
};

/// Integers of K bits, symmetric around 0, in steps that bring the largest of a tensor's numbers to
/// the last one:
///     y = n s,  s = max|x| / (2^(K - 1) - 1),  n = round(x / s)
/// A tensor that is zero, or has a number that is not finite, stays as it is.
/// Source: Zhou et al., DoReFa-Net, 2016 (arXiv:1606.06160), where gradients are scaled by their
/// largest. Differs: zero is a level, of 2^K - 1; one scale for a tensor,
/// where they have one for each sample. The step need not be a power of two, as it is in Wu et al.,
/// WAGE, ICLR 2018 (arXiv:1802.04680): at four bits that costs up to half of the levels.
struct ScaledIntegers {
  int bits;  ///< K, 2 to 16
  bool operator==(const ScaledIntegers&) const = default;
};

using NumberFormat = std::variant<Float32, numerics::Minifloat, ScaledIntegers>;

/// "fp32", "fp16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", or "int2" to "int16".
/// @throws Error kUsage that lists these, if the text is none of them
NumberFormat parse_number_format(std::string_view text);
/// The text that parse_number_format() makes the format of.
/// @pre there is one
std::string to_string(const NumberFormat& format);

/// The numbers of the format nearest to those of a tensor; what is too large for a Minifloat
/// becomes its largest number. NaN stays NaN.
/// @param x  float32
/// @return   a copy, of the same strides where nothing overlaps
at::Tensor rounded_to_nearest(const NumberFormat& format, const at::Tensor& x);

/// The same, but each number becomes one of the two around it, by chance, so that it is itself on
/// average: numerics::round_stochastically(), and likewise for integers.
/// @param seed  of random numbers: the i-th of Random(seed) belongs to the i-th number in memory
at::Tensor rounded_stochastically(const NumberFormat& format, const at::Tensor& x,
                                  std::uint64_t seed);

/// A seed for each place, as of a step, a part and a node, that depends on nothing else.
std::uint64_t seed_of(std::uint64_t seed, std::initializer_list<std::uint64_t> place);

}  // namespace halftone::train
