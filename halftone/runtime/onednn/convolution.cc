// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/onednn/float_layer.h"
#include "halftone/runtime/onednn/primitive.h"

namespace halftone::runtime {
namespace {

using Dims = dnnl::memory::dims;

/// Weights [O, kernel..., C / groups] in oneDNN's axis order: [O, C / groups, kernel...], preceded
/// by the groups if there are any.
dnnl::memory::desc weights_desc(const ir::Shape& weights, ir::Dim groups) {
  Dims dims = onednn::channels_first(weights);
  Dims strides(dims.size(), 1);
  dnnl::memory::dim stride = dims[1];
  for (std::size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[0] = stride;
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
    strides.insert(strides.begin(), dims[1] * stride);
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc any_layout(const dnnl::memory::desc& desc) {
  return {desc.dims(), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

/// oneDNN's dilation is the number of skipped taps.
Dims left_out(const std::vector<ir::Dim>& dilations) {
  Dims result(dilations.begin(), dilations.end());
  for (auto& dilation : result) --dilation;
  return result;
}

template <typename Primitive, typename Op>
Kernel create(const NodeContext& context, dnnl::algorithm algorithm) {
  const auto& op = context.op<Op>();
  FloatLayerDescs descs = describe_float_layer(context, op.activation);
  descs.x = onednn::image(context.input(0).shape);
  descs.y = onednn::image(context.output().shape);
  descs.weights = weights_desc(context.input(1).shape, op.groups);
  // A ConvTranspose's padding is cut off its full output; output_padding reduces the cut.
  Dims after = op.window.pads_after;
  if constexpr (std::is_same_v<Op, ir::ConvTranspose>) {
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= op.output_padding[i];
  }
  const typename Primitive::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, algorithm, descs.x, any_layout(descs.weights),
       descs.bias, descs.y, op.window.strides, left_out(op.window.dilations), op.window.pads_before,
       after},
      descs.attributes, onednn::engine());
  return float_layer_kernel(context, descs, Primitive(desc), desc.weights_desc(),
                            desc.scratchpad_desc());
}

Verdict judge_float_conv(const NodeContext& context) {
  if (const auto refusal = refuse_float_layer(context)) return *refusal;
  if (context.has_input(3)) return refuse("a residual is added");
  if (!context.output().encoding.is_dense()) return refuse("the output is encoded");
  if (context.input(0).shape.rank() > 5) return refuse("oneDNN has up to three spatial axes");
  return accept("dense input, constant weights");
}

Kernel create_conv_float(const NodeContext& context) {
  return onednn::translated([&] {
    return create<dnnl::convolution_forward, ir::Conv>(context,
                                                       dnnl::algorithm::convolution_direct);
  });
}

Verdict judge_conv_transpose_float(const NodeContext& context) {
  const auto& op = context.op<ir::ConvTranspose>();
  for (std::size_t i = 0; i < op.output_padding.size(); ++i) {
    if (op.output_padding[i] >= op.window.strides[i] &&
        op.output_padding[i] >= op.window.dilations[i]) {
      return refuse("oneDNN needs output padding below the stride");
    }
  }
  return judge_float_conv(context);
}

Kernel create_conv_transpose_float(const NodeContext& context) {
  return onednn::translated([&] {
    return create<dnnl::deconvolution_forward, ir::ConvTranspose>(
        context, dnnl::algorithm::deconvolution_direct);
  });
}

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

constinit const Implementation kOneDnnConv =
    Implementation::onednn_float(judge_float_conv, create_conv_float);
constinit const Implementation kOneDnnConvTranspose =
    Implementation::onednn_float(judge_conv_transpose_float, create_conv_transpose_float);

constinit const Implementation kOneDnnPool = Implementation::onednn_float(judge_pool, create_pool);

}  // namespace halftone::runtime
