// SPDX-License-Identifier: Apache-2.0
// Arithmetic on integers: the zero points of products, the way back to 8 bits, functions of codes.
#pragma once

#include <vector>

#include "halftone/ir/ops/encoding.h"

namespace halftone::ir {

/// What is subtracted from the operands of a product of integers. FullyConnected, Conv and MatMul
/// take dense int8 or uint8 for both operands; then a bias is int32, there is no activation, and
/// the output is int32:
///
///     y[.., o] = bias[o] + sum_k (x[.., k] - zero_x) (w[o, k] - zero_w[o])   modulo 2^32
///
/// where padding counts as x = zero_x. A sum of up to 2^15 terms of 8 bits never wraps around.
struct ZeroPoints {
  std::int32_t x = 0;
  std::vector<std::int32_t> w;  ///< empty for zeros, one for all outputs, or one for each

  [[nodiscard]] std::int32_t of_output(std::size_t o) const {
    return w.empty() ? 0 : w[w.size() == 1 ? 0 : o];
  }
  bool operator==(const ZeroPoints&) const = default;
};

/// Whether these are the operands of a product of integers.
bool are_integers(const ValueType& x, const ValueType& w);
/// Checks the operands and zero points of a product.
/// @param outputs  how many zero points of w there may be
/// @throws Error kShape unless both operands are numbers of float32 and there are no zero points,
///         or both are dense int8 or uint8 and the zero points within their range
void check_operands(InputTypes inputs, const ZeroPoints& zero_points, Dim outputs);
/// The bias of a product, input `index`: [outputs], float32 or for integers int32.
/// @throws Error kShape if it is there and is anything else
void check_bias(InputTypes inputs, std::size_t index, Dim outputs);
/// "zero_points=-128,0"; empty without any.
std::string to_string(const ZeroPoints& zero_points);

/// q = min(max(round(x m / count) + zero_point, low), high), int32 to int8 or uint8, with a
/// multiplier m for all or for each index of the last axis. Rounded kHalfEven, x m is a product of
/// float64 and count 1; rounded kTwice, m / count is a multiplier of 31 bits,
/// numerics::divided(numerics::fixed_multiplier(m), count).
struct Requantize {
  static constexpr std::string_view kName = "Requantize";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::vector<double> multipliers;
  std::int32_t zero_point = 0;
  ElementType element = ElementType::kInt8;
  std::int32_t low = -128;
  std::int32_t high = 127;
  CodeRounding rounding = CodeRounding::kHalfEven;
  std::int64_t count = 1;  ///< of terms in x, where their mean is wanted
  bool operator==(const Requantize&) const = default;
};

/// y = table[x - lowest code], int8 or uint8 to int8, uint8 or int32: any function of a code.
struct Lookup {
  static constexpr std::string_view kName = "Lookup";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  static constexpr std::size_t kCodes = 256;
  ElementType element = ElementType::kInt8;
  std::vector<std::int32_t> table;  ///< [kCodes], numbers of that type
  bool operator==(const Lookup&) const = default;
};

ValueType infer_types(const Requantize& op, InputTypes inputs);
ValueType infer_types(const Lookup& op, InputTypes inputs);
Tensor evaluate(const Requantize& op, InputTensors inputs);
Tensor evaluate(const Lookup& op, InputTensors inputs);
std::string attributes(const Requantize& op);
std::string attributes(const Lookup& op);

/// Whether these are codes of 8 bits: dense int8 or uint8.
bool are_codes(const ValueType& type);
/// The lowest and the highest number of an element type of 8 bits.
struct CodeRange {
  std::int32_t low;
  std::int32_t high;
};
CodeRange code_range(ElementType element);

}  // namespace halftone::ir
