// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <numeric>

#include "halftone/runtime/activation.h"
#include "halftone/runtime/onednn_primitive.h"
#include "halftone/runtime/ops/convolution.h"
#include "halftone/runtime/ops/convolution_cost.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using Dims = dnnl::memory::dims;

/// oneDNN's names for its axes in the order they have here: channels last.
dnnl::memory::format_tag channels_last(std::size_t spatial) {
  using Tag = dnnl::memory::format_tag;
  return spatial == 1 ? Tag::nwc : spatial == 2 ? Tag::nhwc : Tag::ndhwc;
}

/// [N, spatial..., C] as oneDNN counts its axes, [N, C, spatial...].
Dims channels_first(const ir::Shape& image) {
  Dims dims(image.dims().begin(), image.dims().end());
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  return dims;
}

dnnl::memory::desc image_desc(const ir::Shape& image) {
  return onednn::floats(channels_first(image), channels_last(image.rank() - 2));
}

/// Weights [O, kernel..., C / groups] as oneDNN counts their axes: [O, C / groups, kernel...], with
/// the groups, where there are any, before.
dnnl::memory::desc weights_desc(const ir::Shape& weights, ir::Dim groups) {
  Dims dims = channels_first(weights);
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

/// oneDNN counts the taps that a dilation leaves out.
Dims left_out(const std::vector<ir::Dim>& dilations) {
  Dims result(dilations.begin(), dilations.end());
  for (auto& dilation : result) --dilation;
  return result;
}

/// A layer whose weights are decoded and packed.
struct FloatConv {
  dnnl::primitive primitive;
  dnnl::memory::desc x;
  dnnl::memory::desc y;
  dnnl::memory::desc scratch;
  onednn::PackedMatrix weights;
  onednn::PackedMatrix bias;  ///< without a buffer where there is no bias
  ir::ValueType input;
  std::size_t num_outputs = 0;
  std::size_t decoded_bytes = 0;  ///< of the input at the begin of scratch; 0 if it is dense
  ir::Activation after;           ///< what oneDNN does not do; Identity otherwise
};

Call bind_conv(const std::shared_ptr<const FloatConv>& layer, const Buffers& buffers) {
  const std::byte* x = buffers.inputs[0];
  std::byte* decoded = layer->decoded_bytes != 0 ? buffers.scratch : nullptr;
  std::vector<onednn::Argument> arguments = {
      {DNNL_ARG_SRC, layer->x, onednn::mutable_data(decoded ? decoded : x)},
      {DNNL_ARG_WEIGHTS, layer->weights.desc, layer->weights.buffer->data()},
      {DNNL_ARG_DST, layer->y, buffers.output},
      {DNNL_ARG_SCRATCHPAD, layer->scratch, buffers.scratch + layer->decoded_bytes}};
  if (layer->bias.buffer) {
    arguments.push_back({DNNL_ARG_BIAS, layer->bias.desc, layer->bias.buffer->data()});
  }
  auto* y = reinterpret_cast<float*>(buffers.output);
  return [layer, x, decoded, y, product = onednn::bind(layer->primitive, arguments)] {
    if (decoded != nullptr) {
      decode_value({layer->input, {x, value_bytes(layer->input)}},
                   reinterpret_cast<float*>(decoded));
    }
    product();
    if (layer->after.kind != ir::ActivationKind::kIdentity) {
      const std::span values(y, layer->num_outputs);
      apply_activation(layer->after, values, values);
    }
  };
}

template <typename Primitive, typename Op>
std::shared_ptr<FloatConv> make_conv(const NodeContext& context, dnnl::algorithm algorithm) {
  const auto& op = context.op<Op>();
  auto layer = std::make_shared<FloatConv>();
  layer->input = context.input(0);
  layer->num_outputs = context.output().shape.element_count();
  layer->x = image_desc(context.input(0).shape);
  layer->y = image_desc(context.output().shape);
  const auto fused = onednn::eltwise(op.activation);
  if (!fused) layer->after = op.activation;
  const ir::Shape& shape = context.input(1).shape;
  const auto stored = weights_desc(shape, op.groups);
  const auto bias_desc = context.has_input(2)
                             ? onednn::floats({shape[0]}, dnnl::memory::format_tag::a)
                             : dnnl::memory::desc();
  // A ConvTranspose's padding is what is cut off its full output; extents that no tap reaches are
  // cut less.
  Dims after = op.window.pads_after;
  if constexpr (std::is_same_v<Op, ir::ConvTranspose>) {
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= op.output_padding[i];
  }
  const typename Primitive::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, algorithm, layer->x, any_layout(stored), bias_desc,
       layer->y, op.window.strides, left_out(op.window.dilations), op.window.pads_before, after},
      onednn::attributes(fused), onednn::engine());
  layer->primitive = Primitive(desc);
  layer->scratch = desc.scratchpad_desc();
  const ir::Tensor decoded = ir::to_float(*context.constant(1));
  layer->weights = onednn::pack(stored, decoded.as<float>().data(), desc.weights_desc());
  if (context.has_input(2)) {
    const auto& bias = std::get<ir::Tensor>(*context.constant(2));
    layer->bias = onednn::pack(bias_desc, bias.as<float>().data(), bias_desc);
  }
  if (!layer->input.encoding.is_dense()) {
    constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
    const std::size_t bytes = context.input(0).shape.element_count() * sizeof(float);
    layer->decoded_bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return layer;
}

Verdict judge(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (context.input(0).shape.rank() > 5) return refuse("oneDNN has up to three spatial axes");
  if (context.input_layout(0) == CodeLayout::kInt8) return refuse("the input is integers");
  if (context.input(0).shape.element_count() == 0 || context.output().shape.element_count() == 0 ||
      context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  const bool x = !context.input(0).encoding.is_dense();
  const bool w = !context.input(1).encoding.is_dense();
  return accept(x && w ? "input and weights are decoded"
                : x    ? "the input is decoded"
                : w    ? "the weights are decoded"
                       : "dense input, constant weights");
}

Kernel kernel_of(const std::shared_ptr<const FloatConv>& layer) {
  Kernel kernel;
  kernel.packed_bytes = layer->weights.buffer->size_bytes() +
                        (layer->bias.buffer ? layer->bias.buffer->size_bytes() : 0);
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->decoded_bytes + layer->scratch.get_size();
  kernel.bind = [layer](const Buffers& buffers) {
    return onednn::translated([&] { return bind_conv(layer, buffers); });
  };
  return kernel;
}

}  // namespace

Verdict judge_conv_float(const NodeContext& context) {
  Verdict verdict = judge(context);
  if (verdict.accepted) {
    verdict.cost_us = conv_cost_us(ConvProduct::kFloat, conv_extent(context.graph, context.node));
  }
  return verdict;
}

Kernel create_conv_float(const NodeContext& context) {
  return onednn::translated([&] {
    return kernel_of(make_conv<dnnl::convolution_forward, ir::Conv>(
        context, dnnl::algorithm::convolution_direct));
  });
}

Verdict judge_conv_transpose_float(const NodeContext& context) {
  const auto& op = context.op<ir::ConvTranspose>();
  for (std::size_t i = 0; i < op.output_padding.size(); ++i) {
    if (op.output_padding[i] >= op.window.strides[i] &&
        op.output_padding[i] >= op.window.dilations[i]) {
      return refuse("oneDNN pads outputs by less than a stride");
    }
  }
  return judge(context);
}

Kernel create_conv_transpose_float(const NodeContext& context) {
  return onednn::translated([&] {
    return kernel_of(make_conv<dnnl::deconvolution_forward, ir::ConvTranspose>(
        context, dnnl::algorithm::deconvolution_direct));
  });
}

}  // namespace halftone::runtime
