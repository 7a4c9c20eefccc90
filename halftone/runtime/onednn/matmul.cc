// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/onednn/float_layer.h"
#include "halftone/runtime/onednn/primitive.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

Verdict judge_inner_product(const NodeContext& context) {
  if (const auto refusal = refuse_float_layer(context)) return *refusal;
  return accept("dense input, constant weights");
}

Kernel create_inner_product(const NodeContext& context) {
  using InnerProduct = dnnl::inner_product_forward;
  using Tag = dnnl::memory::format_tag;
  const ir::MatrixExtent x = row_extent(context.input(0).shape);
  const auto m = static_cast<dnnl::memory::dim>(x.rows);
  const auto n = static_cast<dnnl::memory::dim>(x.cols);
  const auto o = static_cast<dnnl::memory::dim>(context.output().shape.back());
  return onednn::translated([&] {
    FloatLayerDescs descs =
        describe_float_layer(context, context.op<ir::FullyConnected>().activation);
    descs.x = onednn::floats({m, n}, Tag::ab);
    descs.y = onednn::floats({m, o}, Tag::ab);
    descs.weights = onednn::floats({o, n}, Tag::ab);
    const InnerProduct::primitive_desc desc(
        {dnnl::prop_kind::forward_inference, descs.x, descs.weights, descs.bias, descs.y},
        descs.attributes, onednn::engine());
    return float_layer_kernel(context, descs, InnerProduct(desc), desc.weights_desc(),
                              desc.scratchpad_desc());
  });
}

using Dims = dnnl::memory::dims;

/// oneDNN's limit is 12 axes; more than a few do not occur in practice.
constexpr std::size_t kMaxMatMulAxes = 6;

/// An operand in the form of oneDNN's matmul: as many axes as the result, rows before columns.
struct Operand {
  Dims dims;
  Dims strides;
  [[nodiscard]] dnnl::memory::desc desc() const {
    return {dims, dnnl::memory::data_type::f32, strides};
  }
};

/// @param as_row  whether a vector is a row (left operand) or a column (right operand)
Operand make_operand(const ir::Shape& shape, bool transposed, bool as_row, std::size_t axes) {
  Operand operand;
  operand.dims.assign(shape.dims().begin(), shape.dims().end());
  if (shape.rank() == 1) {
    operand.dims.insert(as_row ? operand.dims.begin() : operand.dims.end(), 1);
  }
  operand.dims.insert(operand.dims.begin(), axes - operand.dims.size(), 1);
  operand.strides.assign(axes, 1);
  for (std::size_t i = axes - 1; i-- > 0;) {
    operand.strides[i] = operand.strides[i + 1] * operand.dims[i + 1];
  }
  if (transposed) {
    std::swap(operand.dims[axes - 2], operand.dims[axes - 1]);
    std::swap(operand.strides[axes - 2], operand.strides[axes - 1]);
  }
  return operand;
}

struct MatMulProduct {
  onednn::SharedPrimitive primitive;
  dnnl::matmul::primitive_desc desc;
  onednn::PackedMatrix packed;  ///< the right operand if it is constant; otherwise without a buffer
};

std::size_t num_axes(const NodeContext& context) {
  return std::max({context.input(0).shape.rank(), context.input(1).shape.rank(), std::size_t{2}});
}

std::shared_ptr<MatMulProduct> make_product(const NodeContext& context) {
  const auto& op = context.op<ir::MatMul>();
  const std::size_t axes = num_axes(context);
  const Operand a = make_operand(context.input(0).shape, op.transpose_a, true, axes);
  const Operand b = make_operand(context.input(1).shape, op.transpose_b, false, axes);
  Operand y;
  for (std::size_t i = 0; i < axes; ++i) y.dims.push_back(std::max(a.dims[i], b.dims[i]));
  y.dims[axes - 2] = a.dims[axes - 2];
  y.dims[axes - 1] = b.dims[axes - 1];
  y.strides = make_operand(ir::Shape(std::vector<ir::Dim>(y.dims)), false, true, axes).strides;
  const ir::Constant* constant = context.constant(1);
  const auto weights =
      constant == nullptr ? b.desc() : onednn::floats(b.dims, dnnl::memory::format_tag::any);
  auto product = std::make_shared<MatMulProduct>();
  product->desc = {{a.desc(), weights, y.desc()}, onednn::attributes(), onednn::engine()};
  product->primitive = dnnl::matmul(product->desc);
  if (constant != nullptr) {
    product->packed = onednn::pack(b.desc(), std::get<ir::Tensor>(*constant).as<float>().data(),
                                   product->desc.weights_desc());
  }
  return product;
}

Call bind_product(const MatMulProduct& product, const Buffers& buffers) {
  void* weights = product.packed.buffer ? product.packed.buffer->data()
                                        : onednn::mutable_data(buffers.inputs[1]);
  const onednn::PrimitiveArgument arguments[] = {
      {DNNL_ARG_SRC, product.desc.src_desc(), onednn::mutable_data(buffers.inputs[0])},
      {DNNL_ARG_WEIGHTS, product.desc.weights_desc(), weights},
      {DNNL_ARG_DST, product.desc.dst_desc(), buffers.output},
      {DNNL_ARG_SCRATCHPAD, product.desc.scratchpad_desc(), buffers.scratch}};
  return onednn::bind(product.primitive, arguments);
}

Verdict judge_matmul(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
  if (context.input(0).shape.element_count() == 0 || context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  if (num_axes(context) > kMaxMatMulAxes) {
    return refuse("more than " + std::to_string(kMaxMatMulAxes) + " axes");
  }
  return accept(context.constant(1) != nullptr ? "the right operand is packed"
                                               : "both operands are computed");
}

Kernel create_matmul(const NodeContext& context) {
  const auto product = onednn::translated([&] { return make_product(context); });
  Kernel kernel;
  if (product->packed.buffer) {
    kernel.packed_bytes = product->packed.buffer->size_bytes();
    kernel.packed_inputs = {1};
  }
  kernel.scratch_bytes = product->desc.scratchpad_desc().get_size();
  kernel.bind = [product](const Buffers& buffers) {
    return onednn::translated([&] { return bind_product(*product, buffers); });
  };
  return kernel;
}

}  // namespace

constinit const Implementation kOneDnnFullyConnected =
    Implementation::onednn_float(judge_inner_product, create_inner_product);

constinit const Implementation kOneDnnMatMul =
    Implementation::onednn_float(judge_matmul, create_matmul);

}  // namespace halftone::runtime
