// SPDX-License-Identifier: Apache-2.0
// Operators that change the representation of values.
#pragma once

#include <memory>
#include <vector>

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/rules.h"
#include "halftone/numerics/systems.h"

namespace halftone::ir {

/// Codes of the levels nearest to activation(x), with one scale for the whole tensor.
/// Input float32 [..., n], output the same shape in codes. File formats have no such
/// activation: passes add it when they prepare a graph to run.
struct Encode {
  static constexpr std::string_view kName = "Encode";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::shared_ptr<const numerics::MatrixEncoding> encoding;
  Activation activation{};
  bool operator==(const Encode& other) const {
    return *encoding == *other.encoding && activation == other.activation;
  }
};

/// Affine integers: x = scale (q - zero_point), per tensor (one scale) or along an axis.
struct AffineParameters {
  std::vector<float> scales;              ///< > 0
  std::vector<std::int32_t> zero_points;  ///< as many as scales
  std::size_t axis = 0;                   ///< ignored if there is one scale

  bool operator==(const AffineParameters&) const = default;
};

/// How a value is rounded to an integer. ONNX defines the first mode, TensorFlow Lite the others.
enum class CodeRounding : std::uint8_t {
  kHalfEven,  ///< once, ties to even
  kHalfAway,  ///< once, ties away from zero; Source: kernels/internal/reference/quantize.h
  kTwice,     ///< a product of integers, numerics::multiply(sum, numerics::fixed_multiplier(m))
};
std::string_view to_string(CodeRounding rounding);  ///< "half even", "half away", "twice"

/// q = saturate(round(x / scale) + zero_point), float32 to int8, uint8, int16 or int32, rounded
/// kHalfEven or kHalfAway. The rounding also selects the arithmetic of what ends here: with
/// kHalfAway, passes::use_integers() uses that of TensorFlow Lite.
struct QuantizeLinear {
  static constexpr std::string_view kName = "QuantizeLinear";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  AffineParameters parameters;
  ElementType element = ElementType::kInt8;
  CodeRounding rounding = CodeRounding::kHalfEven;
  bool operator==(const QuantizeLinear&) const = default;
};

/// x = scale (q - zero_point), int8, uint8, int16, int32 or int64 to float32.
struct DequantizeLinear {
  static constexpr std::string_view kName = "DequantizeLinear";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  AffineParameters parameters;
  bool operator==(const DequantizeLinear&) const = default;
};

/// The numbers of a number system nearest to x, as float32, with scales computed from x by the
/// rule of the system: numerics::round_by_rule(). For inputs of layers whose scales are not fixed
/// when the network is quantized, and for systems of more than 8 bits.
///
/// Blocks are within a sample, an index of the first axis, so that no sample depends on its batch:
/// kTensor, a scale for the sample; kChannel, for each row along the last axis; kGroup, for
/// group_size neighbours in a row. A tensor of one axis is one row.
struct FakeQuantize {
  static constexpr std::string_view kName = "FakeQuantize";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  const numerics::NumberSystem* system = nullptr;  ///< of find_system(); levels are not learned
  int bits = 8;
  numerics::BlockShape blocks{};
  bool operator==(const FakeQuantize&) const = default;
};

ValueType infer_types(const Encode& op, InputTypes inputs);
ValueType infer_types(const FakeQuantize& op, InputTypes inputs);
ValueType infer_types(const QuantizeLinear& op, InputTypes inputs);
ValueType infer_types(const DequantizeLinear& op, InputTypes inputs);
/// The levels themselves, as float32: decode(encode(x)).
Tensor evaluate(const Encode& op, InputTensors inputs);
Tensor evaluate(const FakeQuantize& op, InputTensors inputs);
Tensor evaluate(const QuantizeLinear& op, InputTensors inputs);
Tensor evaluate(const DequantizeLinear& op, InputTensors inputs);
std::string attributes(const Encode& op);
std::string attributes(const FakeQuantize& op);
std::string attributes(const QuantizeLinear& op);
std::string attributes(const DequantizeLinear& op);

}  // namespace halftone::ir
