// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

bool is_matrix(const ir::Operator& op) { return std::holds_alternative<ir::FullyConnected>(op); }

/// Whether LQ_FULLY_CONNECTED can represent a layer. It has no field for the arithmetic, so the
/// rule must say what the layer's attribute says.
bool fits_lq(const Exporter& exporter, const ir::Node& node, const LowBitLayer& layer) {
  return exporter.flavor() == CircleFlavor::kCircle && layer.weights != nullptr &&
         layer.activations != nullptr && !layer.activations->has_offset &&
         layer.activations->codebook == nullptr && !layer.weights->encoding->has_offset &&
         layer.weights->encoding->codebook == nullptr &&
         layer.weights->encoding->granularity != numerics::Granularity::kGroup &&
         exporter.graph().value(layer.x).type.shape.rank() == 2 &&
         ir::arithmetic_of(exporter.graph(), node) ==
             ir::arithmetic_by_rule(exporter.graph(), node);
}

void export_lq(Exporter& exporter, const ir::Node& node, const LowBitLayer& layer) {
  const ir::Shape& extents = layer.weights->shape;
  const ir::Dim bits = layer.weights->encoding->bits;
  const auto words = static_cast<std::size_t>(extents[1] + 31) / 32;
  const ir::Tensor bases = weight_scales(*layer.weights->encoding);
  std::vector<float> scales;
  // The operator has one basis per output.
  while (scales.size() < static_cast<std::size_t>(extents[0] * bits)) {
    scales.insert(scales.end(), bases.as<float>().begin(), bases.as<float>().end());
  }
  const ir::Tensor x_scales = activation_scales(*layer.activations);
  const ir::Tensor planes = weight_planes(layer.weights->codes, words * sizeof(std::int32_t));
  const auto floats = [&](const char* name, const ir::Shape& shape, std::span<const float> data) {
    return exporter.constant(name, schema::TensorType::FLOAT32, shape, std::as_bytes(data));
  };
  const TensorIndex x = exporter.tensor(layer.x);
  const TensorIndex x_basis = floats("input_scales", x_scales.shape(), x_scales.as<float>());
  const TensorIndex w_bases = floats("weights_scales", {extents[0], bits}, scales);
  const TensorIndex w_planes =
      exporter.constant(exporter.graph().value(layer.weights_id).name, schema::TensorType::INT32,
                        {extents[0], bits, static_cast<ir::Dim>(words)}, planes.bytes());
  schema::LQFullyConnectedOptionsT options;
  options.weights_hidden_size = static_cast<std::int32_t>(extents[1]);
  options.fused_activation_function =
      activation_type(std::get<ir::FullyConnected>(node.op).activation);
  schema::BuiltinOptionsUnion united;
  united.Set(options);
  exporter.add(OperatorCode::kLqFullyConnected,
               {x, x_basis, w_bases, w_planes, exporter.tensor(layer.bias)}, node.output,
               std::move(united));
}

void export_custom(Exporter& exporter, const ir::Node& node, const LowBitLayer& layer) {
  std::vector<TensorIndex> inputs = {exporter.tensor(layer.x), kNoTensor, kNoTensor, kNoTensor,
                                     exporter.tensor(layer.bias)};
  if (layer.activations != nullptr) {
    inputs[1] = scales_tensor(exporter, "input_scales", activation_scales(*layer.activations));
  }
  if (layer.weights != nullptr) {
    const ir::Tensor planes = weight_codes(*layer.weights);
    inputs[2] = scales_tensor(exporter, "weight_scales", weight_scales(*layer.weights->encoding));
    inputs[3] = exporter.constant(exporter.graph().value(layer.weights_id).name,
                                  schema::TensorType::UINT8, planes.shape(), planes.bytes());
  } else {
    inputs[3] = exporter.tensor(layer.weights_id);
  }
  const bool is_table = ir::is_table(node.op);
  if (is_table || is_matrix(node.op)) {
    exporter.add_custom(std::string(is_table ? kCustomGatherName : kCustomName), std::move(inputs),
                        node.output, write_custom_options(fields_of(exporter.graph(), node)));
  } else {
    exporter.add_custom(std::string(kCustomConvName), std::move(inputs), node.output,
                        write_conv_options(conv_fields_of(exporter.graph(), node)));
  }
}

}  // namespace

TensorIndex scales_tensor(Exporter& exporter, const char* name, const ir::Tensor& scales) {
  if (scales.element() != ir::ElementType::kFloat32) {
    return exporter.constant(name, tensor_type(scales.element()), scales.shape(), scales.bytes());
  }
  const FloatBytes floats = narrowest_floats(scales.as<float>());
  return exporter.constant(name, floats.type, scales.shape(), floats.bytes);
}

void export_lowbit(Exporter& exporter, const ir::Node& node) {
  const LowBitLayer layer = take_apart(exporter.graph(), node);
  if (is_matrix(node.op) && fits_lq(exporter, node, layer)) return export_lq(exporter, node, layer);
  export_custom(exporter, node, layer);
}

void export_fake_quantize(Exporter& exporter, const ir::Node& node) {
  exporter.add_custom(
      std::string(kCustomFakeQuantizeName), {exporter.tensor(node.inputs[0])}, node.output,
      write_fake_quantize_options(formats::fields_of(std::get<ir::FakeQuantize>(node.op))));
}

}  // namespace halftone::formats::circle
