// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/indexing.h"

namespace halftone::ir {
namespace {

/// The extents of a MatMul, with vectors as matrices.
struct MatMulShapes {
  Shape a;       ///< rank >= 2
  Shape b;       ///< rank >= 2
  Shape batch;   ///< broadcast leading axes
  Shape result;  ///< without the axes that vectors lack
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
  require(may_be_equal(shapes.inner, shapes.b[b - (op.transpose_b ? 1 : 2)]),
          "inner extents of " + lhs.to_string() + " and " + rhs.to_string() + " differ");
  shapes.batch = broadcast(leading(shapes.a), leading(shapes.b));
  std::vector<Dim> dims(shapes.batch.dims().begin(), shapes.batch.dims().end());
  if (lhs.rank() > 1) dims.push_back(shapes.rows);
  if (rhs.rank() > 1) dims.push_back(shapes.cols);
  shapes.result = Shape(std::move(dims));
  return shapes;
}

/// Index of the matrix of an operand for a matrix of the broadcast batch.
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

bool is_code(const Tensor& tensor) { return tensor.element() != ElementType::kFloat32; }

/// float32, or int32 for integers.
ValueType product_type(InputTypes inputs, const Activation& activation, Shape shape) {
  if (!are_integers(*inputs[0], *inputs[1])) {
    return dense_type(ElementType::kFloat32, std::move(shape));
  }
  require(activation == Activation{}, "an integer product takes no activation");
  return dense_type(ElementType::kInt32, std::move(shape));
}

/// An operand of an integer product minus its zero points.
std::vector<std::int32_t> widened(const Tensor& tensor) {
  const Tensor wide = tensor.cast(ElementType::kInt32);
  return {wide.as<std::int32_t>().begin(), wide.as<std::int32_t>().end()};
}

/// Adds the product of two codes; unsigned because sums may wrap around.
void add_product(std::uint32_t& sum, std::int32_t x, std::int32_t w) {
  sum += static_cast<std::uint32_t>(x * w);
}

Tensor evaluate_integers(const FullyConnected& op, InputTensors inputs) {
  const std::vector<std::int32_t> x = widened(*inputs[0]);
  const std::vector<std::int32_t> w = widened(*inputs[1]);
  const auto [outputs, n] = matrix_extent(inputs[1]->shape());
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  Shape shape = inputs[0]->shape();
  shape[shape.rank() - 1] = static_cast<Dim>(outputs);
  Tensor result(ElementType::kInt32, shape);
  const auto y = result.as<std::int32_t>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t o = i % outputs;
    auto sum = static_cast<std::uint32_t>(bias != nullptr ? bias->as<std::int32_t>()[o] : 0);
    for (std::size_t k = 0; k < n; ++k) {
      add_product(sum, x[i / outputs * n + k] - op.zero_points.x,
                  w[o * n + k] - op.zero_points.of_output(o));
    }
    y[i] = static_cast<std::int32_t>(sum);
  }
  return result;
}

/// Calls visit(i, a_index, b_index) for each term of each element i of a product, in order.
template <typename Visit>
void for_each_term(const MatMul& op, const MatMulShapes& shapes, Visit&& visit) {
  const auto rows = static_cast<std::size_t>(shapes.rows);
  const auto inner = static_cast<std::size_t>(shapes.inner);
  const auto cols = static_cast<std::size_t>(shapes.cols);
  const std::size_t count = shapes.batch.element_count() * rows * cols;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t batch = i / (rows * cols);
    const std::size_t row = i / cols % rows;
    const std::size_t col = i % cols;
    const std::size_t a_base = operand_batch(batch, shapes.batch, leading(shapes.a)) * rows * inner;
    const std::size_t b_base = operand_batch(batch, shapes.batch, leading(shapes.b)) * inner * cols;
    for (std::size_t k = 0; k < inner; ++k) {
      visit(i, a_base + (op.transpose_a ? k * rows + row : row * inner + k),
            b_base + (op.transpose_b ? col * inner + k : k * cols + col));
    }
  }
}

Tensor evaluate_integers(const MatMul& op, InputTensors inputs) {
  const MatMulShapes shapes = matmul_shapes(op, inputs[0]->shape(), inputs[1]->shape());
  const std::vector<std::int32_t> a = widened(*inputs[0]);
  const std::vector<std::int32_t> b = widened(*inputs[1]);
  const auto cols = static_cast<std::size_t>(shapes.cols);
  std::vector<std::uint32_t> sums(shapes.result.element_count(), 0);
  for_each_term(op, shapes, [&](std::size_t i, std::size_t at_a, std::size_t at_b) {
    add_product(sums[i], a[at_a] - op.zero_points.x, b[at_b] - op.zero_points.of_output(i % cols));
  });
  Tensor result(ElementType::kInt32, shapes.result);
  std::ranges::transform(sums, result.as<std::int32_t>().begin(),
                         [](std::uint32_t sum) { return static_cast<std::int32_t>(sum); });
  return result;
}

/// Joins two attribute strings, either of which may be empty.
std::string joined(std::string first, const std::string& second) {
  if (!first.empty() && !second.empty()) first += " ";
  return first + second;
}

}  // namespace

ValueType infer_types(const FullyConnected& op, InputTypes inputs) {
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  check_operands(inputs, op.zero_points, w.rank() == 2 ? w[0] : 0);
  const Encoding& encoding = inputs[0]->encoding;
  require(encoding.is_dense() || (encoding.codes != nullptr &&
                                  encoding.codes->granularity == numerics::Granularity::kTensor),
          "input 0: expected one scale for the tensor, found " + inputs[0]->to_string());
  require(w.rank() == 2, "weights: expected [outputs, inputs], found " + w.to_string());
  require(x.rank() >= 1 && may_be_equal(x.back(), w[1]),
          "input " + x.to_string() + " does not fit weights " + w.to_string());
  check_bias(inputs, 2, w[0]);
  Shape y = x;
  y[y.rank() - 1] = w[0];
  return product_type(inputs, op.activation, std::move(y));
}

ValueType infer_types(const MatMul& op, InputTypes inputs) {
  if (!are_integers(*inputs[0], *inputs[1])) {
    require_float(inputs, 0);
    require_float(inputs, 1);
  }
  MatMulShapes shapes = matmul_shapes(op, inputs[0]->shape, inputs[1]->shape);
  check_operands(inputs, op.zero_points, shapes.cols);
  return product_type(inputs, {}, std::move(shapes.result));
}

Tensor evaluate(const FullyConnected& op, InputTensors inputs) {
  if (is_code(*inputs[0])) return evaluate_integers(op, inputs);
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
  if (is_code(*inputs[0])) return evaluate_integers(op, inputs);
  const MatMulShapes shapes = matmul_shapes(op, inputs[0]->shape(), inputs[1]->shape());
  const auto a = inputs[0]->as<float>();
  const auto b = inputs[1]->as<float>();
  std::vector<double> sums(shapes.result.element_count(), 0);
  for_each_term(op, shapes, [&](std::size_t i, std::size_t at_a, std::size_t at_b) {
    sums[i] += static_cast<double>(a[at_a]) * static_cast<double>(b[at_b]);
  });
  Tensor result(ElementType::kFloat32, shapes.result);
  std::ranges::transform(sums, result.as<float>().begin(),
                         [](double sum) { return static_cast<float>(sum); });
  return result;
}

std::string attributes(const FullyConnected& op) {
  return joined(op.activation == Activation{} ? "" : "activation=" + to_string(op.activation),
                to_string(op.zero_points));
}

std::string attributes(const MatMul& op) {
  return joined(
      std::string(op.transpose_a ? "transpose_a " : "") + (op.transpose_b ? "transpose_b" : ""),
      to_string(op.zero_points));
}

ValueType infer_types(const ExpertProduct& /*op*/, InputTypes inputs) {
  require_float(inputs, 0);
  if (inputs[1]->encoding.blocks == nullptr) require_float(inputs, 1);
  require_indices(inputs, 2);
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  const Shape& chosen = inputs[2]->shape;
  require(w.rank() == 3 && w.is_static() && w[0] > 0,
          "weights: expected [experts, outputs, inputs], found " + w.to_string());
  require(x.rank() >= 1 && x.back() == w[2],
          "input " + x.to_string() + " does not fit weights " + w.to_string());
  require(chosen.rank() >= 1 && !is_open(chosen.back()),
          "experts: expected [..., k], found " + chosen.to_string());
  const auto rows = x.dims().first(x.rank() - 1);
  const auto pairs = chosen.dims();
  require(
      std::ranges::equal(rows, pairs) || std::ranges::equal(rows, pairs.first(pairs.size() - 1)),
      "experts " + chosen.to_string() + " do not fit the rows of input " + x.to_string());
  std::vector<Dim> y(pairs.begin(), pairs.end());
  y.push_back(w[1]);
  return dense_type(ElementType::kFloat32, Shape(std::move(y)));
}

Tensor evaluate(const ExpertProduct& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Tensor chosen = inputs[2]->cast(ElementType::kInt64);
  const Shape& w = inputs[1]->shape();
  const auto experts = static_cast<std::size_t>(w[0]);
  const auto outputs = static_cast<std::size_t>(w[1]);
  const auto n = static_cast<std::size_t>(w[2]);
  const bool has_own_rows = inputs[0]->shape().rank() > inputs[2]->shape().rank();
  const std::size_t share = has_own_rows ? 1 : static_cast<std::size_t>(chosen.shape().back());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t pair = i / outputs;
    const std::size_t expert = resolve_index(chosen.as<std::int64_t>()[pair], experts);
    const auto x = inputs[0]->as<float>().subspan(pair / share * n, n);
    const auto row = inputs[1]->as<float>().subspan((expert * outputs + i % outputs) * n, n);
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      sum += static_cast<double>(x[k]) * static_cast<double>(row[k]);
    }
    result.as<float>()[i] = apply(op.activation, static_cast<float>(sum));
  }
  return result;
}

std::string attributes(const ExpertProduct& op) {
  return op.activation == Activation{} ? "" : "activation=" + to_string(op.activation);
}

}  // namespace halftone::ir
