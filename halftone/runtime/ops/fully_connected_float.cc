// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/runtime/activation.h"
#include "halftone/runtime/onednn_primitive.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/linear_cost.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// What judge_decoded() and judge_dense() both need.
std::optional<Verdict> refuse_inner_product(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (context.input(0).shape.element_count() == 0 || context.output().shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  return std::nullopt;
}

/// A layer whose weights are decoded and packed.
struct FloatLayer {
  dnnl::inner_product_forward primitive;
  dnnl::inner_product_forward::primitive_desc desc;
  onednn::PackedMatrix weights;
  onednn::PackedMatrix bias;  ///< without a buffer where there is no bias
  ir::ValueType input;
  std::size_t num_outputs = 0;    ///< in all rows together
  std::size_t decoded_bytes = 0;  ///< of the input at the begin of scratch; 0 if it is dense
  ir::Activation after;           ///< what oneDNN does not do; Identity otherwise
};

Call bind_layer(const std::shared_ptr<const FloatLayer>& layer, const Buffers& buffers) {
  const std::byte* x = buffers.inputs[0];
  std::byte* decoded = layer->decoded_bytes != 0 ? buffers.scratch : nullptr;
  std::vector<onednn::Argument> arguments = {
      {DNNL_ARG_SRC, layer->desc.src_desc(), onednn::mutable_data(decoded ? decoded : x)},
      {DNNL_ARG_WEIGHTS, layer->weights.desc, layer->weights.buffer->data()},
      {DNNL_ARG_DST, layer->desc.dst_desc(), buffers.output},
      {DNNL_ARG_SCRATCHPAD, layer->desc.scratchpad_desc(), buffers.scratch + layer->decoded_bytes}};
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

std::shared_ptr<FloatLayer> make_layer(const NodeContext& context) {
  using Tag = dnnl::memory::format_tag;
  auto layer = std::make_shared<FloatLayer>();
  layer->input = context.input(0);
  layer->num_outputs = context.output().shape.element_count();
  const ir::MatrixExtent x = row_extent(layer->input.shape);
  const auto m = static_cast<dnnl::memory::dim>(x.rows);
  const auto n = static_cast<dnnl::memory::dim>(x.cols);
  const auto o = static_cast<dnnl::memory::dim>(context.output().shape.back());
  const ir::Activation& activation = context.op<ir::FullyConnected>().activation;
  const auto fused = onednn::eltwise(activation);
  if (!fused) layer->after = activation;
  const bool has_bias = context.has_input(2);
  const auto bias_desc = has_bias ? onednn::floats({o}, Tag::a) : dnnl::memory::desc();
  layer->desc = {{dnnl::prop_kind::forward_inference, onednn::floats({m, n}, Tag::ab),
                  onednn::floats({o, n}, Tag::ab), bias_desc, onednn::floats({m, o}, Tag::ab)},
                 onednn::attributes(fused),
                 onednn::engine()};
  layer->primitive = dnnl::inner_product_forward(layer->desc);
  const ir::Tensor decoded = ir::to_float(*context.constant(1));
  layer->weights = onednn::pack(onednn::floats({o, n}, Tag::ab), decoded.as<float>().data(),
                                layer->desc.weights_desc());
  if (has_bias) {
    const auto& bias = std::get<ir::Tensor>(*context.constant(2));
    layer->bias = onednn::pack(bias_desc, bias.as<float>().data(), bias_desc);
  }
  if (!layer->input.encoding.is_dense()) {
    constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
    const std::size_t bytes = x.rows * x.cols * sizeof(float);
    layer->decoded_bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return layer;
}

}  // namespace

Verdict judge_decoded(const NodeContext& context) {
  const bool x = !context.input(0).encoding.is_dense();
  const bool w = !context.input(1).encoding.is_dense();
  if (!x && !w) return refuse("neither input nor weights are encoded");
  if (x && context.input_layout(0) == CodeLayout::kInt8) return refuse("the input is integers");
  if (const auto refusal = refuse_inner_product(context)) return *refusal;
  const double us = cost_us(Product::kFloat, layer_extent(context.graph, context.node));
  return accept(x && w ? "input and weights are decoded"
                : x    ? "the input is decoded"
                       : "the weights are decoded",
                us);
}

Verdict judge_dense(const NodeContext& context) {
  if (!context.input(0).encoding.is_dense()) return refuse("the input is encoded");
  if (!context.input(1).encoding.is_dense()) return refuse("the weights are encoded");
  if (const auto refusal = refuse_inner_product(context)) return *refusal;
  return accept("dense input, constant weights");
}

Kernel create_inner_product(const NodeContext& context) {
  const auto layer = onednn::translated([&] { return make_layer(context); });
  Kernel kernel;
  kernel.packed_bytes = layer->weights.buffer->size_bytes() +
                        (layer->bias.buffer ? layer->bias.buffer->size_bytes() : 0);
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->decoded_bytes + layer->desc.scratchpad_desc().get_size();
  kernel.bind = [layer](const Buffers& buffers) {
    return onednn::translated([&] { return bind_layer(layer, buffers); });
  };
  return kernel;
}

}  // namespace halftone::runtime
