// SPDX-License-Identifier: Apache-2.0
// Operators that find elements. How many they find depends on the data, so results have an upper
// bound of entries, of which those past the last are -1. Who needs the others counts them, and
// makes the count an extent: see Graph::define().
#pragma once

#include <cstdint>
#include <limits>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y[i, p] = the index along axis i of the p-th element of x that is not zero, in row-major order;
/// int64 [rank, elements of x].
struct NonZero {
  static constexpr std::string_view kName = "NonZero";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  bool operator==(const NonZero&) const = default;
};

/// Greedy selection of boxes: y has rows (n, c, s), int64 [N C min(max_per_class, S), 3], one for
/// each selected box s of image n and class c; images and classes ascend, scores descend, and of
/// equal scores the first box comes first. Inputs: boxes [N, S, 4], scores [N, C, S], float32. A
/// box is selected if its score exceeds the threshold and its intersection over union with no
/// selected box of its class exceeds iou_threshold. Boxes are two opposite corners (y, x, y, x), or
/// (centre x, centre y, width, height). Three more inputs of one element may take the place of the
/// attributes max_per_class (int64, with N C S rows), iou_threshold and score_threshold (float32).
/// Source: ONNX's NonMaxSuppression as ONNX Runtime computes it.
struct NonMaxSuppression {
  static constexpr std::string_view kName = "NonMaxSuppression";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 5;
  std::size_t max_per_class = 0;
  float iou_threshold = 0;
  /// -infinity: all boxes.
  float score_threshold = -std::numeric_limits<float>::infinity();
  bool centers = false;
  bool operator==(const NonMaxSuppression&) const = default;
};

enum class UniqueResult : std::uint8_t {
  kFirst,    ///< y[u] = the first index with the u-th distinct slice; -1 past the last
  kInverse,  ///< y[i] = u of the slice at index i
};

/// Distinct slices of x along an axis, ascending if sorted, else in the order of their first
/// indices; int64 [extent of the axis]. Slices compare element by element; NaN is the largest.
struct Unique {
  static constexpr std::string_view kName = "Unique";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  bool sorted = true;
  UniqueResult result = UniqueResult::kFirst;
  bool operator==(const Unique&) const = default;
};

ValueType infer_types(const NonZero& op, InputTypes inputs);
ValueType infer_types(const NonMaxSuppression& op, InputTypes inputs);
ValueType infer_types(const Unique& op, InputTypes inputs);
Tensor evaluate(const NonZero& op, InputTensors inputs);
Tensor evaluate(const NonMaxSuppression& op, InputTensors inputs);
Tensor evaluate(const Unique& op, InputTensors inputs);
std::string attributes(const NonZero& op);
std::string attributes(const NonMaxSuppression& op);
std::string attributes(const Unique& op);

}  // namespace halftone::ir
