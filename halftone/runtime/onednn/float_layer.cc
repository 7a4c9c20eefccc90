// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/onednn/float_layer.h"

#include <utility>
#include <vector>

#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// A layer whose weights are packed.
struct FloatLayer {
  onednn::SharedPrimitive primitive;
  FloatLayerDescs descs;
  dnnl::memory::desc scratch;
  onednn::PackedMatrix weights;
  onednn::PackedMatrix bias;    ///< without a buffer if there is no bias
  std::size_t num_outputs = 0;  ///< over all rows
  std::size_t shares = 1;       ///< of the threads that apply the activation
};

Call bind_layer(const std::shared_ptr<const FloatLayer>& layer, const Buffers& buffers) {
  std::vector<onednn::PrimitiveArgument> arguments = {
      {DNNL_ARG_SRC, layer->descs.x, onednn::mutable_data(buffers.inputs[0])},
      {DNNL_ARG_WEIGHTS, layer->weights.desc, layer->weights.buffer->data()},
      {DNNL_ARG_DST, layer->descs.y, buffers.output},
      {DNNL_ARG_SCRATCHPAD, layer->scratch, buffers.scratch}};
  if (layer->bias.buffer) {
    arguments.push_back({DNNL_ARG_BIAS, layer->bias.desc, layer->bias.buffer->data()});
  }
  auto* y = reinterpret_cast<float*>(buffers.output);
  return [layer, y, product = onednn::bind(layer->primitive, arguments)] {
    product();
    if (layer->descs.after.kind != ir::ActivationKind::kIdentity) {
      const std::span values(y, layer->num_outputs);
      apply_activation(layer->descs.after, values, values, layer->shares);
    }
  };
}

}  // namespace

FloatLayerDescs describe_float_layer(const NodeContext& context, const ir::Activation& activation) {
  FloatLayerDescs descs;
  const auto fused = onednn::eltwise(activation);
  descs.attributes = onednn::attributes(fused);
  if (!fused) descs.after = activation;
  if (context.has_input(2)) {
    const auto outputs = static_cast<dnnl::memory::dim>(context.input(2).shape[0]);
    descs.bias = onednn::floats({outputs}, dnnl::memory::format_tag::a);
  }
  return descs;
}

Kernel float_layer_kernel(const NodeContext& context, FloatLayerDescs descs,
                          dnnl::primitive primitive, const dnnl::memory::desc& packed,
                          const dnnl::memory::desc& scratch) {
  auto layer = std::make_shared<FloatLayer>();
  layer->primitive = std::move(primitive);
  layer->scratch = scratch;
  layer->num_outputs = context.output().shape.element_count();
  if (layer->num_outputs >= kParallelNumbers) {
    layer->shares = static_cast<std::size_t>(context.threads);
  }
  const ir::Tensor weights = ir::to_float(*context.constant(1));
  layer->weights = onednn::pack(descs.weights, weights.as<float>().data(), packed);
  if (context.has_input(2)) {
    const auto& bias = std::get<ir::Tensor>(*context.constant(2));
    layer->bias = onednn::pack(descs.bias, bias.as<float>().data(), descs.bias);
  }
  layer->descs = std::move(descs);
  Kernel kernel;
  kernel.packed_bytes = layer->weights.buffer->size_bytes() +
                        (layer->bias.buffer ? layer->bias.buffer->size_bytes() : 0);
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = scratch.get_size();
  kernel.bind = [layer =
                     std::shared_ptr<const FloatLayer>(std::move(layer))](const Buffers& buffers) {
    return onednn::translated([&] { return bind_layer(layer, buffers); });
  };
  return kernel;
}

}  // namespace halftone::runtime
