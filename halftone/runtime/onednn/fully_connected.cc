// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/onednn/float_layer.h"
#include "halftone/runtime/onednn/implementations.h"
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

}  // namespace

constinit const Implementation kOneDnnFullyConnected{.name = "onednn_f32",
                                                     .judge = judge_inner_product,
                                                     .create = create_inner_product,
                                                     .arithmetic = KernelArithmetic::kFastestFloat};

}  // namespace halftone::runtime
