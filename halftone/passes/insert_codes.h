// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/numerics/scale_rule.h"
#include "halftone/passes/code_plan.h"

namespace halftone::passes {

/// How values become codes of 8 bits.
struct CodeForm {
  ir::CodeRounding rounding = ir::CodeRounding::kHalfEven;  ///< kHalfAway: TensorFlow Lite
  ir::ElementType element = ir::ElementType::kUint8;        ///< kInt8 or kUint8
};
/// Of ONNX: uint8, which ONNX Runtime multiplies with int8 weights two and a half times as fast on
/// x86-64 as int8.
inline constexpr CodeForm kOnnxCodes{};
/// Of TensorFlow Lite.
inline constexpr CodeForm kTfliteCodes{ir::CodeRounding::kHalfAway, ir::ElementType::kInt8};

/// Splits functions without bounds, such as Sigmoid, off operators that compute with codes: they
/// become operators of their own, whose results have codes. Call it first.
/// @return whether the graph changed
bool split_activations(ir::Graph& graph, const WantsCodes& wanted);

/// The float32 values whose ranges insert_codes() needs: inputs and results of operators that
/// compute with codes, except those whose codes follow from others.
std::vector<ir::ValueId> values_for_codes(const ir::Graph& graph, const WantsCodes& wanted);

/// Gives a float network codes of 8 bits between its layers, as quantizers of TensorFlow Lite and
/// ONNX Runtime do. Every result of an operator that can compute with codes gets
///
///     q = saturate(round(x / s) + z),  x ~ s (q - z),  s = (high - low) / 255,
///     z = round(q_min - low / s), with low <= 0 <= high, widened to hold zero
///
///     x          W   b                     x
///     |          |   |                     |
///     |          |   |           Quantize, Dequantize   [W]          [b]
///      \         |  /                       \            |            |
///       \        | /         ->              \       Dequantize   Dequantize
///        layer (Relu)                         \          |           /
///              |                                     layer (Relu)
///              y                                         |
///                                             Quantize, Dequantize
///                                                        |
///                                                        y
///
/// Operators: FullyConnected, Conv, sums, differences, products, means, average pooling, Concat,
/// Softmax and functions of one number. Those that only select elements work on the codes of their
/// input. All others stay float32, and so do the inputs and outputs of the network and what comes
/// before the first layer.
///
/// Weights are int8 with one scale per output and no zero point: codes of an encoding whose levels
/// are integers, or the nearest multiples of max|w| / 127. A bias is int32 in units of the
/// products. TensorFlow Lite's fixed scales hold: 1/256 for Softmax and Sigmoid, 1/128 for Tanh.
/// @param ranges  of values_for_codes(), finite
/// Source: Jacob et al., Quantization and Training of Neural Networks for Efficient
/// Integer-Arithmetic-Only Inference, 2017 (arXiv:1712.05877), sections 2 and 3; TensorFlow Lite's
/// 8-bit quantization specification.
void insert_codes(ir::Graph& graph, const std::map<ir::ValueId, numerics::ValueRange>& ranges,
                  const WantsCodes& wanted, const CodeForm& form);

}  // namespace halftone::passes
