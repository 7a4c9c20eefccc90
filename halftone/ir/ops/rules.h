// SPDX-License-Identifier: Apache-2.0
// What every operator family in this folder provides, and helpers for it.
//
// An operator is a struct of attributes with
//   kName, kMinInputs, kMaxInputs           its row in the table of operators
//   infer_types(op, InputTypes)             its shape rule; throws kShape or kUnsupported
//   evaluate(op, InputTensors)              its reference implementation on dense tensors
//   attributes(op)                          its attributes as text, for dumps
// Every operator here has one output.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/ir/tensor.h"

namespace halftone::ir {

/// One entry per input; null where an optional input is absent.
using InputTypes = std::span<const ValueType* const>;
using InputTensors = std::span<const Tensor* const>;

/// @throws Error kShape "input I: expected WANTED, found TYPE" unless the input is dense float32
void require_float(InputTypes inputs, std::size_t index);
/// @throws Error kShape unless condition holds
void require(bool condition, const std::string& message);
/// @throws Error kShape if the input is absent or encoded
void require_dense(InputTypes inputs, std::size_t index);
/// @throws Error kShape unless the input is dense int32 or int64
void require_indices(InputTypes inputs, std::size_t index);
/// @throws Error kShape unless the shape has the axis and it is not the batch, as operators along
///         an axis require
void require_axis(const Shape& shape, std::size_t axis);
/// As require_axis() for several axes in ascending order.
void require_axes(const Shape& shape, std::span<const std::size_t> axes);

/// A shape split at an axis: the number of elements before, at and after it.
struct AxisView {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t inner = 1;
};
AxisView axis_view(const Shape& shape, std::size_t axis);

/// "1 2 3", for attributes.
std::string joined(std::span<const std::size_t> numbers);

/// The output of an operator, filled with zeros, with the type that its rule infers.
template <typename Op>
Tensor output_tensor(const Op& op, InputTensors inputs) {
  std::vector<ValueType> types;
  types.reserve(inputs.size());
  for (const Tensor* input : inputs) types.push_back(input ? input->type() : ValueType{});
  std::vector<const ValueType*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(inputs[i] != nullptr ? &types[i] : nullptr);
  }
  const ValueType type = infer_types(op, pointers);
  return {type.encoding.element, type.shape};
}

}  // namespace halftone::ir
