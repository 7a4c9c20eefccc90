// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/basis_rows.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/exporter.h"

namespace halftone::formats::circle {
namespace {

using numerics::BasisEncoding;
using numerics::Granularity;

/// A FullyConnected taken apart.
struct Layer {
  const BasisEncoding* activations = nullptr;  ///< null: x stays float
  const ir::EncodedTensor* weights = nullptr;  ///< null: float weights
  ir::ValueId x = ir::kAbsent;                 ///< before it is encoded
  ir::ValueId float_weights = ir::kAbsent;
  std::string weights_name;
  ir::ValueId bias = ir::kAbsent;
  ir::Activation activation;
  std::size_t inputs = 0;  ///< n
};

Layer take_apart(const ir::Graph& graph, const ir::Node& node) {
  Layer layer;
  layer.x = node.inputs[0];
  const ir::Value& weights = graph.value(node.inputs[1]);
  layer.weights_name = weights.name;
  layer.inputs = static_cast<std::size_t>(weights.type.shape[1]);
  if (node.inputs.size() > 2) layer.bias = node.inputs[2];
  layer.activation = std::get<ir::FullyConnected>(node.op).activation;
  if (weights.constant) layer.weights = std::get_if<ir::EncodedTensor>(weights.constant.get());
  if (layer.weights == nullptr) layer.float_weights = node.inputs[1];
  const auto producer = graph.producer(layer.x);
  if (producer) {
    const ir::Node& before = graph.node(*producer);
    if (const auto* encode = std::get_if<ir::Encode>(&before.op)) {
      layer.activations = encode->encoding.get();
      layer.x = before.inputs[0];
    }
  }
  return layer;
}

bool fits_lq(const Exporter& exporter, const Layer& layer) {
  return exporter.flavor() == CircleFlavor::kCircle && layer.weights != nullptr &&
         layer.activations != nullptr && !layer.activations->has_offset &&
         !layer.weights->encoding->has_offset &&
         layer.weights->encoding->granularity != Granularity::kGroup &&
         exporter.graph().value(layer.x).type.shape.rank() == 2;
}

std::vector<std::byte> plane_bytes(const Layer& layer, std::size_t row_bytes) {
  const std::vector<std::uint8_t> bytes = to_bytes(layer.weights->codes.planes, row_bytes);
  const auto raw = std::as_bytes(std::span(bytes));
  return {raw.begin(), raw.end()};
}

void export_lq(Exporter& exporter, const ir::Node& node, const Layer& layer) {
  const ir::Dim outputs = layer.weights->shape[0];
  const ir::Dim bits = layer.weights->encoding->bits;
  const std::size_t words = (layer.inputs + 31) / 32;
  std::vector<float> scales = to_rows(*layer.weights->encoding);
  if (layer.weights->encoding->granularity == Granularity::kTensor) {
    // The operator has one basis per neuron.
    const std::vector<float> row = scales;
    for (ir::Dim o = 1; o < outputs; ++o) scales.insert(scales.end(), row.begin(), row.end());
  }
  const std::vector<float> x_scales = to_rows(*layer.activations);
  const auto floats = [&](const char* name, const ir::Shape& shape, std::span<const float> data) {
    return exporter.constant(name, schema::TensorType::FLOAT32, shape, std::as_bytes(data));
  };
  const TensorIndex x = exporter.tensor(layer.x);
  const TensorIndex x_basis =
      floats("input_scales", {static_cast<ir::Dim>(x_scales.size())}, x_scales);
  const TensorIndex w_bases = floats("weights_scales", {outputs, bits}, scales);
  const TensorIndex planes = exporter.constant(layer.weights_name, schema::TensorType::INT32,
                                               {outputs, bits, static_cast<ir::Dim>(words)},
                                               plane_bytes(layer, words * sizeof(std::int32_t)));
  schema::LQFullyConnectedOptionsT options;
  options.weights_hidden_size = static_cast<std::int32_t>(layer.inputs);
  options.fused_activation_function = activation_type(layer.activation);
  schema::BuiltinOptionsUnion united;
  united.Set(options);
  exporter.add(OperatorCode::kLqFullyConnected,
               {x, x_basis, w_bases, planes, exporter.tensor(layer.bias)}, node.output,
               std::move(united));
}

/// The tensor of an encoding's bases: [num_bases, row], or [row] for activations.
TensorIndex bases_tensor(Exporter& exporter, const char* name, const BasisEncoding& encoding,
                         bool is_matrix) {
  const std::vector<float> rows = to_rows(encoding);
  const auto count = static_cast<ir::Dim>(encoding.bases.size());
  const ir::Dim width = encoding.bits + (encoding.has_offset ? 1 : 0);
  const FloatBytes floats = narrowest_floats(rows);
  return exporter.constant(name, floats.type,
                           is_matrix ? ir::Shape{count, width} : ir::Shape{width}, floats.bytes);
}

void export_custom(Exporter& exporter, const ir::Node& node, const Layer& layer) {
  CustomOptions options;
  options.inputs = layer.inputs;
  options.activation = static_cast<int>(activation_type(layer.activation));
  std::vector<TensorIndex> inputs = {exporter.tensor(layer.x), kNoTensor, kNoTensor, kNoTensor,
                                     exporter.tensor(layer.bias)};
  if (layer.activations != nullptr) {
    options.activation_bits = layer.activations->bits;
    options.activation_offset = layer.activations->has_offset;
    inputs[1] = bases_tensor(exporter, "input_basis", *layer.activations, false);
  }
  if (layer.weights != nullptr) {
    const BasisEncoding& encoding = *layer.weights->encoding;
    options.weight_bits = encoding.bits;
    options.weight_offset = encoding.has_offset;
    options.granularity = encoding.granularity;
    options.group_size = encoding.group_size;
    const std::size_t row_bytes = (layer.inputs + 7) / 8;
    inputs[2] = bases_tensor(exporter, "weight_bases", encoding, true);
    inputs[3] =
        exporter.constant(layer.weights_name, schema::TensorType::UINT8,
                          {layer.weights->shape[0], encoding.bits, static_cast<ir::Dim>(row_bytes)},
                          plane_bytes(layer, row_bytes));
  } else {
    inputs[3] = exporter.tensor(layer.float_weights);
  }
  exporter.add_custom(std::string(kCustomName), std::move(inputs), node.output,
                      write_custom_options(options));
}

}  // namespace

void export_lowbit(Exporter& exporter, const ir::Node& node) {
  const Layer layer = take_apart(exporter.graph(), node);
  if (fits_lq(exporter, layer)) return export_lq(exporter, node, layer);
  export_custom(exporter, node, layer);
}

}  // namespace halftone::formats::circle
