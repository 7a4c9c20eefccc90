// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without changing them. They take dense elements of any type.
#pragma once

#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// The same elements in row-major order with another shape. Represents Flatten, Squeeze, Unsqueeze
/// and ExpandDims too; importers resolve their requests with resolve_reshape().
struct Reshape {
  static constexpr std::string_view kName = "Reshape";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  Shape shape;
  bool operator==(const Reshape&) const = default;
};

/// Axis i of the output is axis permutation[i] of the input.
struct Transpose {
  static constexpr std::string_view kName = "Transpose";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::vector<std::size_t> permutation;
  bool operator==(const Transpose&) const = default;
};

/// Concatenates the inputs along an axis.
struct Concat {
  static constexpr std::string_view kName = "Concat";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1024;
  std::size_t axis = 0;
  bool operator==(const Concat&) const = default;
};

/// Elements begin, begin + step, ... (count of them) along one axis; step may be negative.
/// Split, StridedSlice and Slice along several axes become several of these.
struct Slice {
  static constexpr std::string_view kName = "Slice";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  std::size_t begin = 0;
  std::int64_t step = 1;
  std::size_t count = 0;
  bool operator==(const Slice&) const = default;
};

ValueType infer_types(const Reshape& op, InputTypes inputs);
ValueType infer_types(const Transpose& op, InputTypes inputs);
ValueType infer_types(const Concat& op, InputTypes inputs);
ValueType infer_types(const Slice& op, InputTypes inputs);
Tensor evaluate(const Reshape& op, InputTensors inputs);
Tensor evaluate(const Transpose& op, InputTensors inputs);
Tensor evaluate(const Concat& op, InputTensors inputs);
Tensor evaluate(const Slice& op, InputTensors inputs);
std::string attributes(const Reshape& op);
std::string attributes(const Transpose& op);
std::string attributes(const Concat& op);
std::string attributes(const Slice& op);

}  // namespace halftone::ir
