// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "halftone/base/buffer.h"
#include "halftone/base/parallel.h"
#include "halftone/ir/strides.h"
#include "halftone/ir/work.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/dense/matmul.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

using kernels::FloatPanels;

/// Maximum number of rows of a product that reads its right operand without packing it.
constexpr std::size_t kMaxUnpackedRows = 12;
/// Minimum number of rows worth packing the right operand for once more.
constexpr std::size_t kMinPartRows = 32;

/// Estimated time of a product, measured like the costs of linear.h.
constexpr double kProductUs = 27e-6;

/// Some outputs of one of the products.
struct ProductPart {
  std::size_t product = 0;
  std::size_t first_row = 0;
  std::size_t rows = 0;
  kernels::BlockRange panels;  ///< of outputs
};

/// The memory of a run.
struct ProductBuffers {
  const float* a = nullptr;
  const float* b = nullptr;
  std::byte* scratch = nullptr;
  float* y = nullptr;
};

/// Matrix products of the same extents: y[rows, cols] = a[rows, inner] b[inner, cols]. Threads
/// divide the products, ranges of rows and panels of columns among themselves; results do not
/// depend on the number of threads, bit for bit.
struct MatrixProducts {
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t cols = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  std::vector<std::size_t> a;          ///< offsets of the left operands in floats
  std::vector<std::size_t> b;          ///< and of the right operands
  AlignedBuffer constant;              ///< panels of all right operands, if they are constant
  std::vector<std::size_t> constants;  ///< offsets in it, one per product
  std::size_t row_parts = 1;           ///< ranges of rows of each product
  std::size_t shares = 1;

  [[nodiscard]] std::size_t num_panels() const { return FloatPanels::count_for(cols); }
  [[nodiscard]] std::size_t panel_floats() const { return inner * FloatPanels::kOutputs; }
  /// Parts of one panel each, the smallest that a share computes.
  [[nodiscard]] std::size_t num_parts() const { return a.size() * row_parts * num_panels(); }
  void divide(const NodeContext& context);

  /// The number of columns that some panels hold.
  [[nodiscard]] std::size_t columns_in(kernels::BlockRange panels) const {
    const std::size_t first = panels.begin * FloatPanels::kOutputs;
    return std::min(panels.end * FloatPanels::kOutputs, cols) - first;
  }
  [[nodiscard]] MatrixView<const float> columns_of(const float* matrix,
                                                   kernels::BlockRange panels) const;
  void pack(MatrixView<const float> columns, std::span<float> panels) const {
    if (transpose_b) {
      kernels::pack_float_panels(columns, panels);
    } else {
      kernels::pack_transposed_float_panels(columns, panels);
    }
  }

  [[nodiscard]] std::size_t scratch_bytes() const { return shares * share_bytes(); }
  void run(const ProductBuffers& buffers) const;

 private:
  [[nodiscard]] std::size_t turned_bytes() const {
    const std::size_t part_rows = (rows + row_parts - 1) / row_parts;
    return transpose_a ? AlignedBuffer::rounded_up(part_rows * inner * sizeof(float)) : 0;
  }
  [[nodiscard]] std::size_t share_bytes() const {
    const std::size_t panels = std::min(num_panels(), (num_parts() + shares - 1) / shares);
    const std::size_t packed = constants.empty() ? panels * panel_floats() * sizeof(float) : 0;
    return turned_bytes() + AlignedBuffer::rounded_up(packed);
  }
  [[nodiscard]] bool reads_b() const {
    return constants.empty() && !transpose_b && rows <= kMaxUnpackedRows;
  }
  /// Whether two parts multiply by the same panels of the same right operand.
  [[nodiscard]] bool has_same_columns(const ProductPart& part, const ProductPart& other) const {
    return b[part.product] == b[other.product] && part.panels.begin == other.panels.begin &&
           part.panels.end == other.panels.end;
  }
  [[nodiscard]] ProductPart part_at(std::size_t begin, std::size_t end) const;
  [[nodiscard]] MatrixView<const float> left_rows(const ProductBuffers& buffers,
                                                  const ProductPart& part) const;
  void multiply(const ProductBuffers& buffers, const ProductPart& part, bool is_packed) const;
};

/// Divides the rows where panels are too few for the threads.
void MatrixProducts::divide(const NodeContext& context) {
  const double products = ir::work_of(context.graph, context.node).products();
  const std::size_t worthwhile = threads_for(context, products * kProductUs);
  if (worthwhile > 1 && num_parts() < 4 * worthwhile) {
    row_parts = std::clamp<std::size_t>(4 * worthwhile / num_parts(), 1,
                                        std::max<std::size_t>(rows / kMinPartRows, 1));
  }
  shares = std::clamp<std::size_t>(num_parts(), 1, worthwhile);
}

/// The first of the parts [begin, end), together with its neighbours in the same rows.
ProductPart MatrixProducts::part_at(std::size_t begin, std::size_t end) const {
  const std::size_t block = begin / num_panels();
  const std::size_t panel = begin % num_panels();
  const std::size_t i = block % row_parts;
  const std::size_t first_row = rows * i / row_parts;
  return {block / row_parts,
          first_row,
          rows * (i + 1) / row_parts - first_row,
          {panel, std::min(num_panels(), panel + end - begin)}};
}

/// The columns of a right operand that some panels hold; they are rows if it is transposed.
MatrixView<const float> MatrixProducts::columns_of(const float* matrix,
                                                   kernels::BlockRange panels) const {
  const std::size_t first = panels.begin * FloatPanels::kOutputs;
  const std::size_t count = columns_in(panels);
  if (transpose_b) return {matrix + first * inner, count, inner, inner};
  return {matrix + first, inner, count, cols};
}

MatrixView<const float> MatrixProducts::left_rows(const ProductBuffers& buffers,
                                                  const ProductPart& part) const {
  const float* x = buffers.a + a[part.product];
  if (!transpose_a) return {x + part.first_row * inner, part.rows, inner, inner};
  auto* turned = reinterpret_cast<std::uint32_t*>(buffers.scratch);
  kernels::transpose(
      {reinterpret_cast<const std::uint32_t*>(x) + part.first_row, inner, part.rows, rows},
      {turned, part.rows, inner, inner});
  return {reinterpret_cast<const float*>(turned), part.rows, inner, inner};
}

/// @param is_packed  whether the scratch memory already holds the panels of the right operand
void MatrixProducts::multiply(const ProductBuffers& buffers, const ProductPart& part,
                              bool is_packed) const {
  const MatrixView<const float> x = left_rows(buffers, part);
  float* y = buffers.y + (part.product * rows + part.first_row) * cols;
  const auto add = [&](const FloatPanels& panels, std::size_t first_panel) {
    const std::size_t first = first_panel * FloatPanels::kOutputs;
    const MatrixView<float> to(y + first, part.rows, panels.outputs, cols);
    for (std::size_t r = 0; r < to.rows(); ++r) std::ranges::fill(to.row(r), 0.0F);
    kernels::float_matmul(x, panels, {0, panels.count()}, to);
  };
  kernels::BlockRange panels = part.panels;
  if (!constants.empty()) {  // the matrix itself is gone
    const float* packed = constant.as<float>().data() + constants[part.product];
    return add({packed + panels.begin * panel_floats(), columns_in(panels), inner}, panels.begin);
  }
  const float* matrix = buffers.b + b[part.product];
  if (reads_b()) {  // whole panels where they are, then the last one like any other
    const kernels::BlockRange whole{
        panels.begin, std::clamp(cols / FloatPanels::kOutputs, panels.begin, panels.end)};
    add(FloatPanels::in_matrix(columns_of(matrix, whole)), whole.begin);
    panels.begin = whole.end;
    if (panels.begin == panels.end) return;
  }
  const std::size_t outputs = columns_in(panels);
  const std::span packed(reinterpret_cast<float*>(buffers.scratch + turned_bytes()),
                         FloatPanels::floats_for(outputs, inner));
  if (!is_packed) pack(columns_of(matrix, panels), packed);
  add({packed.data(), outputs, inner}, panels.begin);
}

void MatrixProducts::run(const ProductBuffers& buffers) const {
  const auto body = [&](std::size_t share) {
    ProductBuffers own = buffers;
    own.scratch += share * share_bytes();
    const std::size_t end = num_parts() * (share + 1) / shares;
    ProductPart before;  // of no panels
    for (std::size_t i = num_parts() * share / shares; i < end;) {
      const ProductPart part = part_at(i, end);
      multiply(own, part, has_same_columns(part, before));
      i += part.panels.end - part.panels.begin;
      before = part;
    }
  };
  if (shares == 1) return body(0);
  parallel_for(shares, std::ref(body));  // by reference: allocates nothing
}

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
  const std::size_t floats = products.num_panels() * products.panel_floats();
  products.constant = AlignedBuffer(count * floats * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    products.pack(products.columns_of(right.data() + i * matrix, {0, products.num_panels()}),
                  products.constant.as<float>().subspan(i * floats, floats));
  }
  for (const std::size_t offset : products.b)
    products.constants.push_back(offset / matrix * floats);
}

Verdict judge_matmul_fixed(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
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
  products.divide(context);
  kernel.scratch_bytes = products.scratch_bytes();
  kernel.bind = [products = std::make_shared<const MatrixProducts>(std::move(products))](
                    const Buffers& buffers) -> Call {
    return [products, memory = ProductBuffers{
                          reinterpret_cast<const float*>(buffers.inputs[0]),
                          reinterpret_cast<const float*>(buffers.inputs[1]), buffers.scratch,
                          reinterpret_cast<float*>(buffers.output)}] { products->run(memory); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kMatMulFixed =
    Implementation::fixed_float(judge_matmul_fixed, create_matmul_fixed);

}  // namespace halftone::runtime
