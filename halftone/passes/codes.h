// SPDX-License-Identifier: Apache-2.0
// What the rewritings of use_integers() share: codes of 8 bits at both ends of a computation.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Codes of 8 bits and the numbers they stand for.
struct Codes {
  ir::ValueId value = ir::kAbsent;
  ir::AffineParameters parameters;
  ir::ElementType element = ir::ElementType::kInt8;

  [[nodiscard]] float scale() const { return parameters.scales[0]; }
  [[nodiscard]] std::int32_t zero_point() const { return parameters.zero_points[0]; }
  /// Whether codes mean the same numbers; the values may differ.
  [[nodiscard]] bool same_numbers(const Codes& other) const {
    return parameters == other.parameters && element == other.element;
  }
};

/// The codes that a value is dequantized from, with one scale or, `along_axis`, several.
std::optional<Codes> codes_of(const ir::Graph& graph, ir::ValueId id, bool along_axis = false);

/// A range of numbers.
struct Bounds {
  double low = 0;
  double high = 0;
};
/// What a bounding activation keeps its numbers within: none, Relu, ReluN1To1, Relu6 or Clip; no
/// value for any other.
std::optional<Bounds> bounds_of(const ir::Activation& activation);

/// Where the only way of a value leads: perhaps through bounds, to codes of one scale.
struct Target {
  ir::NodeId quantize{};
  Codes codes;
  ir::CodeRounding rounding = ir::CodeRounding::kHalfEven;
  ir::CodeRange range{};  ///< of the bounds

  /// Whether the computation is meant in TensorFlow Lite's integers.
  [[nodiscard]] bool in_integers() const { return rounding == ir::CodeRounding::kHalfAway; }
  /// Whether the bounds shut out any code.
  [[nodiscard]] bool is_bounded() const;
};
/// @param activation  of the operator that computes the value
std::optional<Target> target_of(const ir::Graph& graph, ir::ValueId id,
                                const ir::Activation& activation = {});
/// The same for a QuantizeLinear itself; none if its codes are not of 8 bits and one scale.
std::optional<Target> target_at(const ir::Graph& graph, ir::NodeId quantize, Bounds bounds);

/// What makes sums of a scale the codes of a target; none where the multipliers are out of range.
/// @param multipliers  from sums to codes
std::optional<ir::Requantize> requantize_to(const Target& target, std::vector<double> multipliers);

}  // namespace halftone::passes
