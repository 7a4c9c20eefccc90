// SPDX-License-Identifier: Apache-2.0
// Shorthands for tests of graphs and operators; not part of the library.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/test_data.h"

namespace halftone::ir::test {

using halftone::expect_error;

inline const Unary kRelu{{ActivationKind::kRelu}};
inline const Unary kTanh{{ActivationKind::kTanh}};
inline const Binary kAdd{BinaryKind::kAdd, {}};

template <typename T>
Tensor tensor(Shape shape, const std::vector<T>& values) {
  return Tensor::from<T>(std::move(shape), values);
}
inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return tensor<float>(std::move(shape), values);
}
/// 0, 1, 2, ... as float32.
inline Tensor counting(Shape shape) {
  Tensor result(ElementType::kFloat32, std::move(shape));
  float next = 0;
  for (float& value : result.as<float>()) value = next++;
  return result;
}

/// A vector of tensors. An initializer list cannot hold move-only values.
template <typename... Tensors>
std::vector<Tensor> list(Tensors... tensors) {
  std::vector<Tensor> result;
  (result.push_back(std::move(tensors)), ...);
  return result;
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

/// The elements of any type as float32.
std::vector<float> numbers(const Tensor& tensor);

inline ValueType float_type(Shape shape) {
  return dense_type(ElementType::kFloat32, std::move(shape));
}

/// Two bits, levels -3 -1 1 3, no offset: one basis for a tensor.
inline std::shared_ptr<const numerics::MatrixEncoding> odd_encoding() {
  return std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::make_basis(std::vector{1.0F, 2.0F})));
}

/// The output type if all inputs are present.
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

inline std::vector<Tensor> run_reference(const Graph& graph, const std::vector<Tensor>& inputs) {
  return evaluate_graph(graph, inputs);
}

/// y = sum = sum + x, vectors of 2, where the sum is a state.
Graph running_sum();

/// Expects equal types, and values that differ by at most tolerance (1 + |expected|); NaN equals
/// NaN.
/// @param context  added to the message of a failure
void expect_near(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                 float tolerance, const std::string& context = "");
bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

/// How to compare two graphs: on inputs uniform in [low, high).
struct SameFunction {
  std::size_t batch = 3;
  double low = -2;
  double high = 2;
  float tolerance = 2e-6F;
};
/// Expects the same input types, and the same outputs for random inputs.
void expect_same_function(const Graph& found, const Graph& expected, const SameFunction& how = {});

}  // namespace halftone::ir::test
