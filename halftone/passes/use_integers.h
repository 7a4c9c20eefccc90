// SPDX-License-Identifier: Apache-2.0
// Computations with 8-bit codes in place of float32: use_integers(), and the rewrites that it
// makes. Each looks at one node and returns whether the graph changed; the caller removes nodes
// that lost their readers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// 8-bit codes and the values they represent.
struct Codes {
  ir::ValueId value = ir::kAbsent;
  ir::AffineParameters parameters;
  ir::ElementType element = ir::ElementType::kInt8;

  [[nodiscard]] float scale() const { return parameters.scales[0]; }
  [[nodiscard]] std::int32_t zero_point() const { return parameters.zero_points[0]; }
  /// Whether equal codes represent equal values; the ids may differ.
  [[nodiscard]] bool same_numbers(const Codes& other) const {
    return parameters == other.parameters && element == other.element;
  }
};

/// The codes that a value is dequantized from, with one scale or, if `along_axis`, several.
std::optional<Codes> codes_of(const ir::Graph& graph, ir::ValueId id, bool along_axis = false);

/// The end of a value's only path: 8-bit codes of one scale, perhaps after an activation with
/// bounds.
struct Target {
  ir::NodeId quantize{};
  Codes codes;
  ir::CodeRounding rounding = ir::CodeRounding::kHalfEven;
  ir::CodeRange range{};  ///< of the bounds

  /// Whether the computation uses TensorFlow Lite's integer arithmetic.
  [[nodiscard]] bool in_integers() const { return rounding == ir::CodeRounding::kHalfAway; }
  /// Whether the bounds exclude any code.
  [[nodiscard]] bool is_bounded() const;
};
/// @param activation  of the operator that computes the value
std::optional<Target> target_of(const ir::Graph& graph, ir::ValueId id,
                                const ir::Activation& activation = {});
/// The same for a QuantizeLinear; none unless its codes have 8 bits and one scale.
std::optional<Target> target_at(const ir::Graph& graph, ir::NodeId quantize, ir::Limits bounds);

/// The Requantize from sums to the codes of a target; none if a multiplier is out of range.
/// @param multipliers  from sums to codes
/// @param once         for a target with integer arithmetic: rounds once instead of twice
std::optional<ir::Requantize> requantize_to(const Target& target, std::vector<double> multipliers,
                                            bool once = false);

/// Moves a DequantizeLinear behind an operator that only moves or compares elements: layouts,
/// slices, padding with a representable value, maxima and minima of codes with equal meaning. The
/// values stay the same, and the operator works on bytes.
///
///     q           q
///     |           |
///     Dequantize  MaxPool
///     |       ->  |
///     MaxPool     Dequantize
bool read_codes_later(ir::Graph& graph, ir::NodeId id);

/// Turns a FullyConnected or Conv of codes with constant weights into an integer layer, and the
/// QuantizeLinear behind it into a Requantize.
bool use_integer_product(ir::Graph& graph, ir::NodeId id);

/// A sum, difference or product of two codes with TensorFlow Lite's arithmetic: a Lookup to int32
/// for each operand, and a Requantize.
bool use_integer_binary(ir::Graph& graph, ir::NodeId id);

/// A mean over a window or over axes, or a sum over axes, with TensorFlow Lite's arithmetic.
bool use_integer_mean(ir::Graph& graph, ir::NodeId id);

/// A Softmax over the last axis that reads codes, with TensorFlow Lite's arithmetic.
bool use_softmax_of_codes(ir::Graph& graph, ir::NodeId id);

/// Converts the operands of a Concat to codes of the result's scale before the Concat.
bool quantize_before_concat(ir::Graph& graph, ir::NodeId id);

/// Replaces an elementwise path from codes to codes by a Lookup, or by nothing if the codes stay
/// the same. The table holds the result of the operators for every code; for a target with integer
/// arithmetic, that of TensorFlow Lite's kernels.
bool use_table(ir::Graph& graph, ir::NodeId id);

/// Replaces computations between conversions by integer arithmetic.
///
///      q        [w]      [b]                      q   [w]  [b]
///      |         |        |                        \   |   /
///  Dequantize Dequantize Dequantize      ->    layer of integers
///       \        |       /                             |
///          layer (Relu)                            Requantize
///               |                                      |
///           Quantize                                   p
///               |
///               p
///
/// A layer is a FullyConnected or a Conv. Its weights are constant, with one scale or one per
/// output. Its bias is absent, float32 (rounded to the product of the scales of q and w), or int32
/// on that product. A fused activation must be one with bounds: none, Relu, Relu6, ReluN1To1 or
/// Clip. Functions of single codes become a Lookup with the same values. Operators that only move
/// or compare elements work on the codes.
///
/// The rounding of the QuantizeLinear selects the arithmetic. With kHalfEven (ONNX), sums are exact
/// and rounded once, so results differ from the float computation only by its rounding; all other
/// operators stay in float32. With kHalfAway (TensorFlow Lite), the results equal those of the
/// reference kernels of LiteRT 2.3, code for code, also for sums, products and means of codes,
/// Softmax and functions of one code (sources: see the implementations of these rewrites). A
/// FullyConnected rounds once, its product in float64, ties away from zero. The exceptions are
/// computed in float32 and rounded once: transposed convolutions, products of two computed
/// matrices, bilinear resizing, quotients, powers, squared differences, norms. They differ by at
/// most one step if the float result is halfway between two codes.
/// @return whether the graph changed
bool use_integers(ir::Graph& graph);

}  // namespace halftone::passes
