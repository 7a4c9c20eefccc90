// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/linear.h"

#include <algorithm>
#include <utility>

namespace halftone::ir {
namespace {

/// A MatMul's extents, with vectors seen as matrices.
struct MatMulShapes {
  Shape a;       ///< rank >= 2
  Shape b;       ///< rank >= 2
  Shape batch;   ///< broadcast leading axes
  Shape result;  ///< with the axes that vectors do not have left out
  Dim rows = 0;
  Dim inner = 0;
  Dim cols = 0;
};

Shape leading(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin(), shape.dims().end() - 2));
}

MatMulShapes matmul_shapes(const MatMul& op, const Shape& lhs, const Shape& rhs) {
  require(lhs.rank() >= 1 && rhs.rank() >= 1,
          "expected matrices or vectors, found " + lhs.to_string() + " and " + rhs.to_string());
  require((lhs.rank() > 1 || !op.transpose_a) && (rhs.rank() > 1 || !op.transpose_b),
          "a vector cannot be transposed, found " + lhs.to_string() + " and " + rhs.to_string());
  MatMulShapes shapes;
  shapes.a = lhs.rank() == 1 ? Shape{1, lhs[0]} : lhs;
  shapes.b = rhs.rank() == 1 ? Shape{rhs[0], 1} : rhs;
  const std::size_t a = shapes.a.rank();
  const std::size_t b = shapes.b.rank();
  shapes.rows = shapes.a[a - (op.transpose_a ? 1 : 2)];
  shapes.inner = shapes.a[a - (op.transpose_a ? 2 : 1)];
  shapes.cols = shapes.b[b - (op.transpose_b ? 2 : 1)];
  require(shapes.inner == shapes.b[b - (op.transpose_b ? 1 : 2)],
          "inner extents of " + lhs.to_string() + " and " + rhs.to_string() + " differ");
  shapes.batch = broadcast(leading(shapes.a), leading(shapes.b));
  std::vector<Dim> dims(shapes.batch.dims().begin(), shapes.batch.dims().end());
  if (lhs.rank() > 1) dims.push_back(shapes.rows);
  if (rhs.rank() > 1) dims.push_back(shapes.cols);
  shapes.result = Shape(std::move(dims));
  return shapes;
}

/// Which matrix of an operand a matrix of the broadcast batch reads.
std::size_t operand_batch(std::size_t index, const Shape& batch, const Shape& operand) {
  std::size_t result = 0;
  std::size_t stride = 1;
  for (std::size_t i = batch.rank(); i-- > 0;) {
    const std::size_t at = index % static_cast<std::size_t>(batch[i]);
    index /= static_cast<std::size_t>(batch[i]);
    if (i + operand.rank() < batch.rank()) continue;
    const auto extent = static_cast<std::size_t>(operand[i + operand.rank() - batch.rank()]);
    result += (extent == 1 ? 0 : at) * stride;
    stride *= extent;
  }
  return result;
}

}  // namespace

ValueType infer_types(const FullyConnected& /*op*/, InputTypes inputs) {
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  require(inputs[0]->encoding.element == ElementType::kFloat32 &&
              inputs[1]->encoding.element == ElementType::kFloat32,
          "expected numbers of float32, found " + inputs[0]->to_string() + " and " +
              inputs[1]->to_string());
  require(inputs[0]->encoding.is_dense() ||
              inputs[0]->encoding.basis->granularity == numerics::Granularity::kTensor,
          "input 0: expected one basis for the tensor, found " + inputs[0]->to_string());
  require(w.rank() == 2, "weights: expected [outputs, inputs], found " + w.to_string());
  require(x.rank() >= 1 && x.back() == w[1],
          "input " + x.to_string() + " does not fit weights " + w.to_string());
  if (inputs.size() > 2 && inputs[2] != nullptr) {
    require_float(inputs, 2);
    require(inputs[2]->shape == Shape{w[0]}, "bias: expected " + Shape{w[0]}.to_string() +
                                                 ", found " + inputs[2]->shape.to_string());
  }
  Shape y = x;
  y[y.rank() - 1] = w[0];
  return dense_type(ElementType::kFloat32, y);
}

ValueType infer_types(const MatMul& op, InputTypes inputs) {
  require_float(inputs, 0);
  require_float(inputs, 1);
  return dense_type(ElementType::kFloat32,
                    matmul_shapes(op, inputs[0]->shape, inputs[1]->shape).result);
}

Tensor evaluate(const FullyConnected& op, InputTensors inputs) {
  const auto x = inputs[0]->as<float>();
  const auto w = inputs[1]->as<float>();
  const auto [outputs, n] = matrix_extent(inputs[1]->shape());
  const bool has_bias = inputs.size() > 2 && inputs[2] != nullptr;
  Shape shape = inputs[0]->shape();
  shape[shape.rank() - 1] = static_cast<Dim>(outputs);
  Tensor result(ElementType::kFloat32, shape);
  const auto y = result.as<float>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / outputs;
    const std::size_t o = i % outputs;
    double sum = has_bias ? inputs[2]->as<float>()[o] : 0;
    for (std::size_t k = 0; k < n; ++k) {
      sum += static_cast<double>(x[row * n + k]) * static_cast<double>(w[o * n + k]);
    }
    y[i] = apply(op.activation, static_cast<float>(sum));
  }
  return result;
}

Tensor evaluate(const MatMul& op, InputTensors inputs) {
  const MatMulShapes shapes = matmul_shapes(op, inputs[0]->shape(), inputs[1]->shape());
  const auto rows = static_cast<std::size_t>(shapes.rows);
  const auto inner = static_cast<std::size_t>(shapes.inner);
  const auto cols = static_cast<std::size_t>(shapes.cols);
  const auto a = inputs[0]->as<float>();
  const auto b = inputs[1]->as<float>();
  Tensor result(ElementType::kFloat32, shapes.result);
  const auto y = result.as<float>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t batch = i / (rows * cols);
    const std::size_t row = i / cols % rows;
    const std::size_t col = i % cols;
    const std::size_t a_base = operand_batch(batch, shapes.batch, leading(shapes.a)) * rows * inner;
    const std::size_t b_base = operand_batch(batch, shapes.batch, leading(shapes.b)) * inner * cols;
    double sum = 0;
    for (std::size_t k = 0; k < inner; ++k) {
      const float left = a[a_base + (op.transpose_a ? k * rows + row : row * inner + k)];
      const float right = b[b_base + (op.transpose_b ? col * inner + k : k * cols + col)];
      sum += static_cast<double>(left) * static_cast<double>(right);
    }
    y[i] = static_cast<float>(sum);
  }
  return result;
}

std::string attributes(const FullyConnected& op) {
  return op.activation == Activation{} ? "" : "activation=" + to_string(op.activation);
}

std::string attributes(const MatMul& op) {
  return std::string(op.transpose_a ? "transpose_a " : "") + (op.transpose_b ? "transpose_b" : "");
}

}  // namespace halftone::ir
