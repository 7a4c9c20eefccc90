// SPDX-License-Identifier: Apache-2.0
// Definitions that the rewrites of use_integers() share: 8-bit codes at both ends of a computation.
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

}  // namespace halftone::passes
