// SPDX-License-Identifier: Apache-2.0
// A number system with its bits and blocks: its name, and rounding of whole tensors to it.
#pragma once

#include <string>
#include <string_view>

#include "halftone/base/random.h"
#include "halftone/base/view.h"
#include "halftone/numerics/systems.h"

namespace halftone::numerics {

/// A format of numbers whose scales follow from the numbers themselves, by the rule of the system.
struct NumberFormat {
  const NumberSystem* system = nullptr;  ///< null: float32, nothing is rounded
  int bits = 32;
  BlockShape blocks{};

  [[nodiscard]] bool is_float32() const { return system == nullptr; }
  bool operator==(const NumberFormat&) const = default;
};

/// "fp32"; the name of a system of one number of bits, as "bf16" or "mxfp8_e4m3"; or a name and the
/// bits, as "int8". Blocks are the groups of the system, or the whole tensor if it has none.
/// @throws Error kUsage with the formats that there are; or if levels are learned or vectors, which
/// no
///         rule gives
NumberFormat parse_number_format(std::string_view text);
/// The text that parse_number_format() parses to the format.
std::string to_string(const NumberFormat& format);

/// The numbers of a format nearest to x, with the scales that the system's rule gives for x:
/// decode(encode(x)). NaN stays NaN; numbers beyond the largest become the largest, or what
/// kOverflowSuffix says.
///
/// Evenly spaced levels and floating point formats are computed directly, which gives the same
/// numbers as a search of the levels.
/// @param x  [rows, cols]
/// @param y  [rows, cols]; may be the memory of x
/// @throws Error kUsage as encoding_by_rule()
void round_by_rule(const NumberFormat& format, MatrixView<const float> x, MatrixView<float> y);

/// The same, but a number between neighbouring levels l <= x <= u, relative to scale and offset,
/// becomes u with the probability (x - l) / (u - l), else l: the expected result is x. Levels stay
/// as they are, and so does the treatment of numbers beyond them.
/// @param random  number i, row by row, uses the upper half of the i-th value
/// Source: Gupta et al., Deep Learning with Limited Numerical Precision, ICML 2015
/// (arXiv:1502.02551), section 3. Differs: any levels instead of fixed point.
void round_by_rule_stochastically(const NumberFormat& format, MatrixView<const float> x,
                                  MatrixView<float> y, Random& random);

}  // namespace halftone::numerics
