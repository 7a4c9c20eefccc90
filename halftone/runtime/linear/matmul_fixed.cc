// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "halftone/base/buffer.h"
#include "halftone/ir/strides.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/dense/transpose.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

using kernels::FloatPanels;

/// A matrix product and its operands: offsets of the matrices of a and b in floats, one each per
/// matrix of the result.
struct MatrixProducts {
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t cols = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  std::vector<std::size_t> a;
  std::vector<std::size_t> b;
  AlignedBuffer constant;              ///< panels of all right operands, if they are constant
  std::vector<std::size_t> constants;  ///< offsets in it, one per matrix of the result

  [[nodiscard]] std::size_t panel_floats() const { return FloatPanels::floats_for(cols, inner); }
  [[nodiscard]] std::size_t turned_bytes() const {
    return transpose_a ? AlignedBuffer::rounded_up(rows * inner * sizeof(float)) : 0;
  }
  [[nodiscard]] std::size_t scratch_bytes() const {
    const bool packs = constants.empty();
    return turned_bytes() + (packs ? AlignedBuffer::rounded_up(panel_floats() * sizeof(float)) : 0);
  }

  void pack(const float* matrix, std::span<float> panels) const {
    if (transpose_b) {
      kernels::pack_float_panels({matrix, cols, inner, inner}, panels);
    } else {
      kernels::pack_transposed_float_panels({matrix, inner, cols, cols}, panels);
    }
  }

  void run(const float* left, const float* right, std::byte* scratch, float* y) const {
    auto* turned = reinterpret_cast<float*>(scratch);
    const std::span packed(reinterpret_cast<float*>(scratch + turned_bytes()), panel_floats());
    for (std::size_t i = 0; i < a.size(); ++i, y += rows * cols) {
      const float* x = left + a[i];
      if (transpose_a) {
        kernels::transpose({reinterpret_cast<const std::uint32_t*>(x), inner, rows, rows},
                           {reinterpret_cast<std::uint32_t*>(turned), rows, inner, inner});
        x = turned;
      }
      FloatPanels panels{packed.data(), cols, inner};
      if (!constants.empty()) {
        panels.data = constant.as<float>().data() + constants[i];
      } else if (i == 0 || b[i] != b[i - 1]) {
        pack(right + b[i], packed);
      }
      std::fill_n(y, rows * cols, 0.0F);
      kernels::float_matmul({x, rows, inner, inner}, panels, {0, panels.count()},
                            {y, rows, cols, cols});
    }
  }
};

/// A MatMul operand with at least two axes; those that a vector lacks are 1.
ir::Shape as_matrix(const ir::Shape& shape, bool is_left) {
  if (shape.rank() > 1) return shape;
  return is_left ? ir::Shape{1, shape[0]} : ir::Shape{shape[0], 1};
}

ir::Shape leading_axes(const ir::Shape& shape) {
  return ir::Shape(std::vector<ir::Dim>(shape.dims().begin(), shape.dims().end() - 2));
}

MatrixProducts matrix_products(const NodeContext& context) {
  const auto& op = context.op<ir::MatMul>();
  const ir::Shape a = as_matrix(context.input(0).shape, true);
  const ir::Shape b = as_matrix(context.input(1).shape, false);
  const auto extent = [](const ir::Shape& shape, std::size_t from_end) {
    return static_cast<std::size_t>(shape[shape.rank() - from_end]);
  };
  MatrixProducts products;
  products.transpose_a = op.transpose_a;
  products.transpose_b = op.transpose_b;
  products.rows = extent(a, op.transpose_a ? 1 : 2);
  products.inner = extent(a, op.transpose_a ? 2 : 1);
  products.cols = extent(b, op.transpose_b ? 2 : 1);
  const ir::Shape batch = ir::broadcast(leading_axes(a), leading_axes(b));
  if (b.rank() == 2 && !op.transpose_a) {  // a single product of all rows
    products.rows *= batch.element_count();
    products.a = products.b = {0};
    return products;
  }
  ir::StridedWalk<2> walk(batch, {ir::broadcast_strides(leading_axes(a), batch),
                                  ir::broadcast_strides(leading_axes(b), batch)});
  for (std::size_t i = 0; i < batch.element_count(); ++i, walk.next()) {
    products.a.push_back(walk.offset(0) * products.rows * products.inner);
    products.b.push_back(walk.offset(1) * products.inner * products.cols);
  }
  return products;
}

/// Packs each matrix of a constant right operand once.
void pack_constant(std::span<const float> right, MatrixProducts& products) {
  const std::size_t matrix = products.inner * products.cols;
  const std::size_t count = right.size() / matrix;
  const std::size_t floats = products.panel_floats();
  products.constant = AlignedBuffer(count * floats * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    products.pack(right.data() + i * matrix,
                  products.constant.as<float>().subspan(i * floats, floats));
  }
  for (const std::size_t offset : products.b)
    products.constants.push_back(offset / matrix * floats);
}

Verdict judge_matmul_fixed(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
  if (auto refusal = refuse_fixed_order(context)) return *refusal;
  if (context.input(0).shape.element_count() == 0 || context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  return accept("sums in the order of the inner axis");
}

Kernel create_matmul_fixed(const NodeContext& context) {
  MatrixProducts products = matrix_products(context);
  Kernel kernel;
  if (const ir::Constant* constant = context.constant(1)) {
    pack_constant(std::get<ir::Tensor>(*constant).as<float>(), products);
    kernel.packed_bytes = products.constant.size_bytes();
    kernel.packed_inputs = {1};
  }
  kernel.scratch_bytes = products.scratch_bytes();
  kernel.bind = [products = std::make_shared<const MatrixProducts>(std::move(products))](
                    const Buffers& buffers) -> Call {
    return [products, a = reinterpret_cast<const float*>(buffers.inputs[0]),
            b = reinterpret_cast<const float*>(buffers.inputs[1]), scratch = buffers.scratch,
            y = reinterpret_cast<float*>(buffers.output)] { products->run(a, b, scratch, y); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kMatMulFixed{
    .name = "fixed_order_f32", .judge = judge_matmul_fixed, .create = create_matmul_fixed};

}  // namespace halftone::runtime
