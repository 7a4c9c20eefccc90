// SPDX-License-Identifier: Apache-2.0
// A layer in a basis: an operator of our own.
#include "halftone/formats/fake_quantize.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/fields.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using onnx_pb::NodeProto;

}  // namespace

NodeProto& export_in_basis(Exporter& exporter, const Node& node, std::string_view op_type,
                           const std::string& output) {
  const LowBitLayer layer = take_apart(exporter.graph(), node);
  std::vector<std::string> inputs(4);
  inputs[0] = exporter.read(layer.x);
  if (layer.activations != nullptr) {
    inputs[1] = exporter.add_initializer(output + "/x",
                                         encode_compact(activation_scales(*layer.activations)));
  }
  if (layer.weights != nullptr) {
    inputs[2] = exporter.read_bases(
        layer.weights_id, [&] { return encode_compact(weight_scales(*layer.weights->encoding)); });
    inputs[3] = exporter.read_as(layer.weights_id,
                                 [&] { return encode_tensor(weight_codes(*layer.weights)); });
  } else {
    inputs[3] = exporter.read(layer.weights_id);
  }
  if (layer.bias != ir::kAbsent) inputs.push_back(exporter.read(layer.bias));
  NodeProto& proto = exporter.add_node(op_type, inputs, output);
  proto.set_domain(std::string(kHalftoneDomain));
  exporter.require_halftone_domain();
  set_attribute(proto, "version", kLowBitVersion);
  const LowBitFields fields = fields_of(exporter.graph(), node);
  for_each_field(fields, FieldWriter(proto));
  return proto;
}

void export_fake_quantize(Exporter& exporter, const Node& node, const ir::FakeQuantize& op) {
  NodeProto& proto = exporter.add_node("FakeQuantize", {exporter.read(node.inputs[0])},
                                       exporter.name(node.output));
  proto.set_domain(std::string(kHalftoneDomain));
  exporter.require_halftone_domain();
  set_attribute(proto, "version", kLowBitVersion);
  const FakeQuantizeFields fields = formats::fields_of(op);
  for_each_fake_quantize_field(fields, FieldWriter(proto));
}

}  // namespace halftone::formats::onnx
