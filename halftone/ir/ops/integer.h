// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: zero points of products, requantization to 8 bits, functions of codes.
#pragma once

#include <vector>

#include "halftone/ir/ops/encoding.h"

namespace halftone::ir {

/// Values subtracted from the operands of an integer product. FullyConnected, Conv and MatMul take
/// dense int8 or uint8 for both operands; then the bias is int32, there is no activation, and the
/// output is int32:
///
///     y[.., o] = bias[o] + sum_k (x[.., k] - zero_x) (w[o, k] - zero_w[o])   modulo 2^32
///
/// where padding is x = zero_x. A sum of up to 2^15 terms of 8 bits never wraps around.
struct ZeroPoints {
  std::int32_t x = 0;
  std::vector<std::int32_t> w;  ///< empty for zeros, one for all outputs, or one for each

  [[nodiscard]] std::int32_t of_output(std::size_t o) const {
    return w.empty() ? 0 : w[w.size() == 1 ? 0 : o];
  }
  bool operator==(const ZeroPoints&) const = default;
};

/// Whether both types are operands of an integer product.
bool are_integers(const ValueType& x, const ValueType& w);
/// Checks the operands and zero points of a product.
/// @param outputs  the maximum number of zero points of w
/// @throws Error kShape unless both operands are float32 and there are no zero points, or both are
///         dense int8 or uint8 and the zero points are in range
void check_operands(InputTypes inputs, const ZeroPoints& zero_points, Dim outputs);
/// Checks the bias of a product, input `index`: [outputs], float32, or int32 for integers.
/// @throws Error kShape if it is present and has another type
void check_bias(InputTypes inputs, std::size_t index, Dim outputs);
/// "zero_points=-128,0"; empty without any.
std::string to_string(const ZeroPoints& zero_points);

/// q = min(max(round(x m / count) + zero_point, low), high), int32 to int8 or uint8, with one
/// multiplier m for all elements or one per index of the last axis. With kTwice, m / count is a
/// 31-bit multiplier, numerics::divided(numerics::fixed_multiplier(m), count). Otherwise x m is a
/// float64 product and count is 1.
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
  std::int64_t count = 1;  ///< number of terms in x, for a mean
  bool operator==(const Requantize&) const = default;
};

/// y = table[x - lowest code], int8 or uint8 to int8, uint8 or int32: an arbitrary function of a
/// code.
struct Lookup {
  static constexpr std::string_view kName = "Lookup";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  static constexpr std::size_t kCodes = 256;
  ElementType element = ElementType::kInt8;
  std::vector<std::int32_t> table;  ///< [kCodes], values of that type
  bool operator==(const Lookup&) const = default;
};

ValueType infer_types(const Requantize& op, InputTypes inputs);
ValueType infer_types(const Lookup& op, InputTypes inputs);
Tensor evaluate(const Requantize& op, InputTensors inputs);
Tensor evaluate(const Lookup& op, InputTensors inputs);
std::string attributes(const Requantize& op);
std::string attributes(const Lookup& op);

/// Whether the type is 8-bit codes: dense int8 or uint8.
bool are_codes(const ValueType& type);
/// The range of an 8-bit element type.
struct CodeRange {
  std::int32_t low;
  std::int32_t high;
};
CodeRange code_range(ElementType element);

}  // namespace halftone::ir
