// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/runtime/onednn_primitive.h"
#include "halftone/runtime/ops/convolution.h"

namespace halftone::runtime {
namespace {

using Dims = dnnl::memory::dims;

dnnl::memory::desc image_desc(const ir::Shape& image) {
  using Tag = dnnl::memory::format_tag;
  Dims dims(image.dims().begin(), image.dims().end());
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  const Tag tag = dims.size() == 3 ? Tag::nwc : dims.size() == 4 ? Tag::nhwc : Tag::ndhwc;
  return onednn::floats(dims, tag);
}

dnnl::algorithm algorithm_of(const ir::Pool& op) {
  if (op.kind == ir::PoolKind::kMax) return dnnl::algorithm::pooling_max;
  return op.count_padding ? dnnl::algorithm::pooling_avg_include_padding
                          : dnnl::algorithm::pooling_avg_exclude_padding;
}

}  // namespace

Verdict judge_pool(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
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
    const auto desc = std::make_shared<const Pooling::primitive_desc>(
        Pooling::desc{dnnl::prop_kind::forward_inference, algorithm_of(op),
                      image_desc(context.input(0).shape), image_desc(context.output().shape),
                      op.window.strides, op.kernel, op.window.pads_before, op.window.pads_after},
        onednn::attributes(), onednn::engine());
    Kernel kernel;
    kernel.scratch_bytes = desc->scratchpad_desc().get_size();
    kernel.bind = [desc, primitive = Pooling(*desc)](const Buffers& buffers) {
      const onednn::Argument arguments[] = {
          {DNNL_ARG_SRC, desc->src_desc(), onednn::mutable_data(buffers.inputs[0])},
          {DNNL_ARG_DST, desc->dst_desc(), buffers.output},
          {DNNL_ARG_SCRATCHPAD, desc->scratchpad_desc(), buffers.scratch}};
      return onednn::translated([&] { return onednn::bind(primitive, arguments); });
    };
    return kernel;
  });
}

}  // namespace halftone::runtime
