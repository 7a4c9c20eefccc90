// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/onednn/implementations.h"
#include "halftone/runtime/onednn/primitive.h"

namespace halftone::runtime {
namespace {

dnnl::algorithm algorithm_of(const ir::Pool& op) {
  return op.count_padding ? dnnl::algorithm::pooling_avg_include_padding
                          : dnnl::algorithm::pooling_avg_exclude_padding;
}

Verdict judge_pool(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  if (!context.input(0).is_dense(ir::ElementType::kFloat32))
    return refuse("the input is not float32");
  if (op.kind == ir::PoolKind::kMax) return refuse("oneDNN's maximum loses NaN");
  if (context.input(0).shape.rank() > 5) return refuse("oneDNN has up to three spatial axes");
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  const auto extents = ir::spatial_extents(context.input(0).shape);
  if (ir::window_counts(op.window, extents, op.kernel) !=
      ir::window_counts(op.window, extents, op.kernel, op.round_up)) {
    return refuse("the last window is cut off");
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (op.window.dilations[i] != 1) return refuse("the window is dilated");
    if (op.window.pads_before[i] >= op.kernel[i] || op.window.pads_after[i] >= op.kernel[i]) {
      return refuse("a window may lie in the padding");
    }
  }
  return accept("dense windows");
}

Kernel create_pool(const NodeContext& context) {
  using Pooling = dnnl::pooling_forward;
  const auto& op = context.op<ir::Pool>();
  return onednn::translated([&] {
    return onednn::unary_kernel<Pooling>(
        {{dnnl::prop_kind::forward_inference, algorithm_of(op),
          onednn::image(context.input(0).shape), onednn::image(context.output().shape),
          op.window.strides, op.kernel, op.window.pads_before, op.window.pads_after},
         onednn::attributes(),
         onednn::engine()});
  });
}

}  // namespace

constinit const Implementation kOneDnnPool{.name = "onednn_f32",
                                           .judge = judge_pool,
                                           .create = create_pool,
                                           .arithmetic = KernelArithmetic::kFastestFloat};

}  // namespace halftone::runtime
