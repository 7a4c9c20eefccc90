// SPDX-License-Identifier: Apache-2.0
// Short words for tests of graphs and operators; no part of the library.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/ir/graph.h"

namespace halftone::ir::test {

using halftone::expect_error;

template <typename T>
Tensor tensor(Shape shape, std::initializer_list<T> values) {
  return Tensor::from<T>(std::move(shape), std::vector<T>(values));
}
inline Tensor floats(Shape shape, std::initializer_list<float> values) {
  return tensor<float>(std::move(shape), values);
}
/// 0, 1, 2, ... as float32.
inline Tensor counting(Shape shape) {
  Tensor result(ElementType::kFloat32, std::move(shape));
  float next = 0;
  for (float& value : result.as<float>()) value = next++;
  return result;
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

inline ValueType float_type(Shape shape) {
  return dense_type(ElementType::kFloat32, std::move(shape));
}

/// Two bits, levels -3 -1 1 3, no offset: one basis for a tensor.
inline std::shared_ptr<const numerics::BasisEncoding> odd_encoding() {
  return std::make_shared<const numerics::BasisEncoding>(
      numerics::tensor_encoding(numerics::make_basis(std::vector{1.0F, 2.0F})));
}

/// The output type for inputs that are all there.
inline ValueType infer(const Operator& op, const std::vector<ValueType>& inputs) {
  std::vector<const ValueType*> pointers;
  for (const ValueType& input : inputs) pointers.push_back(&input);
  return infer_output(op, pointers);
}
/// The shape rule on float32 inputs.
inline Shape infer_shape(const Operator& op, const std::vector<Shape>& inputs) {
  std::vector<ValueType> types;
  for (const Shape& input : inputs) types.push_back(float_type(input));
  return infer(op, types).shape;
}

template <typename... Tensors>
Tensor evaluate(const Operator& op, const Tensors&... inputs) {
  return evaluate_operator(op, std::vector<const Tensor*>{&inputs...});
}

}  // namespace halftone::ir::test
