// SPDX-License-Identifier: Apache-2.0
// Layers in a basis: operators of our own.
#include <memory>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/conv_layer.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/fields.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/window.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

ValueId encoded_weight(NodeBuilder& node, const LowBitFields& fields) {
  const ir::Tensor& planes = node.constant_input(3);
  check_planes(fields, planes.type());
  auto encoding = read_weight_scales(fields, node.constant_input(2));
  const std::string name = node.state().graph.value(node.input(3)).name;
  ir::EncodedTensor weights = read_planes(fields, std::move(encoding), planes);
  if (const auto kernel = node.ints_attribute("kernel_shape")) {
    weights.shape = conv_weight_shape(*kernel, fields.inputs, weights.shape[0]);
  }
  return node.state().graph.add_constant(name, std::move(weights));
}

ValueId encoded_input(NodeBuilder& node, const LowBitFields& fields) {
  return node.emit(ir::Encode{read_activation_scales(fields, node.constant_input(1))},
                   {node.input(0)}, "encode");
}

LowBitFields read_fields(NodeBuilder& node) {
  check_low_bit_version(node.int_attribute("version", kLowBitVersion));
  LowBitFields fields;
  for_each_field(fields, FieldReader(node));
  fields.check();
  return fields;
}

/// Input, weights and bias in the form of the graph's operators.
std::vector<ValueId> layer_inputs(NodeBuilder& node, const LowBitFields& fields) {
  const ValueId x = fields.activation_bits == 0 ? node.input(0) : encoded_input(node, fields);
  const ValueId weight = fields.weight_bits == 0 ? node.input(3) : encoded_weight(node, fields);
  std::vector<ValueId> inputs{x, weight};
  if (node.has_input(4)) inputs.push_back(node.input(4));
  return inputs;
}

/// Adds a layer with the arithmetic of the fields.
template <typename Op>
void emit_layer(NodeBuilder& node, Op op, const LowBitFields& fields) {
  op.arithmetic = fields.arithmetic;
  node.set_output(0, node.emit(std::move(op), layer_inputs(node, fields)));
}

void build_fully_connected(NodeBuilder& node) {
  const LowBitFields fields = read_fields(node);
  emit_layer(node, ir::FullyConnected{activation_of_code(fields.activation)}, fields);
}

/// The window of a layer, whose padding may follow open extents.
ir::Window layer_window(NodeBuilder& node) {
  const auto kernel = node.ints_attribute("kernel_shape");
  if (!kernel || !node.has_attribute("auto_pad")) return stated_window(node);
  return window_of(node, ir::spatial_extents(node.input_type(0).shape), *kernel);
}

void build_conv_in_basis(NodeBuilder& node) {
  const LowBitFields fields = read_fields(node);
  emit_layer(node,
             ir::Conv{layer_window(node), node.int_attribute("group", 1),
                      activation_of_code(fields.activation)},
             fields);
}

void build_conv_transpose_in_basis(NodeBuilder& node) {
  const LowBitFields fields = read_fields(node);
  const ir::Window window = layer_window(node);
  const std::vector<ir::Dim> none(window.rank(), 0);
  emit_layer(
      node,
      ir::ConvTranspose{window, node.ints_attribute("output_padding").value_or(none),
                        node.int_attribute("group", 1), activation_of_code(fields.activation)},
      fields);
}

void build_gather_in_basis(NodeBuilder& node) {
  const LowBitFields fields = read_fields(node);
  fields.check_table();
  node.set_output(0, node.emit(ir::Gather{0}, {encoded_weight(node, fields), node.input(0)}));
}

void build_fake_quantize(NodeBuilder& node) {
  check_low_bit_version(node.int_attribute("version", kLowBitVersion));
  FakeQuantizeFields fields;
  for_each_fake_quantize_field(fields, FieldReader(node));
  node.set_output(0, node.emit(fake_quantize_of(fields), {node.input(0)}));
}

constexpr ReaderEntry kEncodingReaders[] = {
    {kHalftoneDomain, "FullyConnected", build_fully_connected},
    {kHalftoneDomain, "Conv", build_conv_in_basis},
    {kHalftoneDomain, "ConvTranspose", build_conv_transpose_in_basis},
    {kHalftoneDomain, "Gather", build_gather_in_basis},
    {kHalftoneDomain, "FakeQuantize", build_fake_quantize},
};

}  // namespace

std::span<const ReaderEntry> encoding_readers() { return kEncodingReaders; }

}  // namespace halftone::formats::onnx
