// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "halftone/formats/conv_layer.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/fields.h"
#include "halftone/formats/onnx/quantized_weight.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::Node;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;

/// The ONNX type of floats of this name, with or without kOverflowSuffix.
/// @pre a system of standard_floats()
std::int32_t float_type(std::string_view system) {
  if (system.ends_with(numerics::kOverflowSuffix)) {
    system.remove_suffix(numerics::kOverflowSuffix.size());
  }
  for (const std::int32_t type : {TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT8E4M3FNUZ,
                                  TensorProto::FLOAT8E5M2, TensorProto::FLOAT8E5M2FNUZ}) {
    if (system == float_system(type)) return type;
  }
  return TensorProto::FLOAT4E2M1;
}

std::int32_t written_type(const QuantizedWeight& weight) {
  if (weight.floats != nullptr) return float_type(weight.floats->name);
  const bool is_signed = weight.lowest != 0;
  if (weight.bits == 4) return is_signed ? TensorProto::INT4 : TensorProto::UINT4;
  return is_signed ? TensorProto::INT8 : TensorProto::UINT8;
}

/// The operator set that has blocks, or elements of this type, in DequantizeLinear.
std::int64_t opset_of(std::int32_t type, bool has_blocks) {
  if (type == TensorProto::FLOAT4E2M1) return 23;
  if (has_blocks || narrow_bits(type) == 4) return 21;
  return narrow_bits(type) == 8 && float_system(type).empty() ? 13 : 19;
}

/// Codes as ONNX stores them: integers with a sign in two's complement.
TensorProto written_codes(const QuantizedWeight& weight, std::int32_t type) {
  ir::Tensor codes = codes_of(weight);
  for (std::uint8_t& code : codes.as<std::uint8_t>()) {
    code = static_cast<std::uint8_t>(code + weight.lowest);
  }
  return encode_codes(codes, type);
}

/// Zero points, in the type of unsigned codes.
TensorProto written_zeros(const ir::Tensor& zeros, std::int32_t type) {
  ir::Tensor codes(ir::ElementType::kUint8, zeros.shape());
  std::ranges::transform(zeros.as<float>(), codes.as<std::uint8_t>().begin(),
                         [](float x) { return static_cast<std::uint8_t>(std::lround(x)); });
  return encode_codes(codes, type);
}

/// Where the scales are: one, slices along an axis, or blocks along an axis.
struct Layout {
  std::size_t axis = 0;
  Dim block_size = 0;  ///< 0: slices, or one scale
  ir::Shape scales;
};

Layout layout_of(const QuantizedWeight& weight) {
  if (weight.scales.size() == 1) return {};
  const auto dims = weight.shape.dims();
  const auto counts = weight.scales.shape().dims();
  std::vector<std::size_t> split;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (counts[axis] > 1) split.push_back(axis);
  }
  if (split.size() == 1 && weight.blocks[split[0]] == 1) {
    return {split[0], 0, ir::Shape{dims[split[0]]}};
  }
  Layout layout{0, 1, weight.scales.shape()};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (weight.blocks[axis] == 1 || dims[axis] == 1) continue;
    layout.axis = axis;
    layout.block_size = weight.blocks[axis];
  }
  return layout;
}

/// Whether zero points are codes.
bool are_codes(const ir::Tensor& zeros, int bits) {
  return std::ranges::all_of(zeros.as<float>(), [bits](float x) {
    return x >= 0 && x < static_cast<float>(1 << bits) && x == std::round(x);
  });
}

/// Codes of rows as bytes, the first of a row in the lowest bits.
ir::Tensor packed(const ir::Tensor& codes, int bits) {
  const auto [rows, cols] = ir::matrix_extent(codes.shape());
  const auto width = static_cast<std::size_t>(bits);
  const std::size_t row_bytes = (cols * width + 7) / 8;
  ir::Tensor result(ir::ElementType::kUint8, {static_cast<Dim>(rows), static_cast<Dim>(row_bytes)});
  const auto bytes = result.as<std::uint8_t>();
  const auto numbers = codes.as<std::uint8_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t bit = i % cols * width;
    std::uint8_t& byte = bytes[i / cols * row_bytes + bit / 8];
    byte = static_cast<std::uint8_t>(byte | numbers[i] << bit % 8);
  }
  return result;
}

/// [N, blocks, bytes of a block]; the last block is filled up with the code of zero.
ir::Tensor written_nbits(const QuantizedWeight& weight, Dim block_size) {
  const auto [rows, cols] = ir::matrix_extent(weight.shape);
  const Dim blocks = weight.scales.shape()[1];
  const auto padded = static_cast<std::size_t>(blocks * block_size);
  ir::Tensor codes(ir::ElementType::kUint8, {static_cast<Dim>(rows), static_cast<Dim>(padded)});
  const auto to = codes.as<std::uint8_t>();
  std::ranges::fill(to, static_cast<std::uint8_t>(1 << (weight.bits - 1)));
  const ir::Tensor unpadded = codes_of(weight);
  const auto from = unpadded.as<std::uint8_t>();
  for (std::size_t row = 0; row < rows; ++row) {
    std::ranges::copy(from.subspan(row * cols, cols), to.subspan(row * padded).begin());
  }
  return packed(codes, weight.bits)
      .reshaped({static_cast<Dim>(rows), blocks, block_size * weight.bits / 8});
}

ir::Tensor flat(const ir::Tensor& tensor) {
  return tensor.reshaped({static_cast<Dim>(tensor.size())});
}

/// Input 3 of MatMulNBits: absent for `int`.
std::string nbits_zeros(Exporter& exporter, const QuantizedWeight& weight,
                        const std::string& name) {
  if (weight.lowest != 0) return "";
  if (!are_codes(weight.zero_points, weight.bits)) {
    return exporter.add_initializer(name + "/zero", encode_tensor(flat(weight.zero_points)));
  }
  ir::Tensor codes(ir::ElementType::kUint8, weight.zero_points.shape());
  std::ranges::transform(weight.zero_points.as<float>(), codes.as<std::uint8_t>().begin(),
                         [](float x) { return static_cast<std::uint8_t>(x); });
  return exporter.add_initializer(name + "/zero", encode_tensor(flat(packed(codes, weight.bits))));
}

using ir::Node;
using onnx_pb::NodeProto;

}  // namespace

std::string Exporter::read_numbers(ir::ValueId id, const std::vector<std::size_t>& permutation) {
  const auto [known, is_new] = numbers_.try_emplace({id, permutation});
  if (!is_new) return known->second;
  const QuantizedWeight weight = permuted(quantized_weight(*codes(id)), permutation);
  const std::int32_t type = written_type(weight);
  const Layout layout = layout_of(weight);
  require_opset(opset_of(type, layout.block_size != 0));
  const std::string& name = names_.at(id);
  std::vector<std::string> inputs{
      add_initializer(name + "/codes", written_codes(weight, type)),
      add_initializer(name + "/scale", encode_tensor(weight.scales.reshaped(layout.scales)))};
  if (weight.floats == nullptr && weight.lowest == 0) {
    inputs.push_back(add_initializer(
        name + "/zero", written_zeros(weight.zero_points.reshaped(layout.scales), type)));
  }
  known->second = fresh(name + "/numbers");
  NodeProto& proto = add_node("DequantizeLinear", inputs, known->second);
  if (layout.scales.rank() != 0) {
    set_attribute(proto, "axis", static_cast<std::int64_t>(layout.axis));
  }
  if (layout.block_size != 0) set_attribute(proto, "block_size", layout.block_size);
  return known->second;
}

/// Without zero points, as ONNX Runtime 1.32 drops a Relu before a zero point of 0 also for floats.
/// Their type is then an attribute, since operator set 21.
void export_rounding(Exporter& exporter, const Node& node, const ir::Encode& op) {
  const std::string& system = op.encoding->codebook->name();
  const std::int32_t type = float_type(system);
  exporter.require_opset(std::max<std::int64_t>(21, opset_of(type, false)));
  const std::string& output = exporter.name(node.output);
  const std::string scale = exporter.add_scalar("scale", op.encoding->scales[0]);
  const std::string rounded = exporter.fresh(output + "/codes");
  NodeProto& proto =
      exporter.add_node("QuantizeLinear", {exporter.read(node.inputs[0]), scale}, rounded);
  set_attribute(proto, "output_dtype", std::int64_t{type});
  if (system.ends_with(numerics::kOverflowSuffix)) {
    set_attribute(proto, "saturate", std::int64_t{0});
  }
  exporter.add_node("DequantizeLinear", {rounded, scale}, output);
}

bool becomes_matmul_nbits(const Exporter& exporter, const Node& node) {
  const ir::EncodedTensor* weights = exporter.codes(node.inputs[1]);
  return exporter.options().matmul_nbits && weights != nullptr &&
         has_nbits_groups(*weights->encoding) && quantized_weight(*weights).floats == nullptr;
}

void export_matmul_nbits(Exporter& exporter, const Node& node, const std::string& output) {
  const ir::ValueId id = node.inputs[1];
  const QuantizedWeight weight = quantized_weight(*exporter.codes(id));
  const Dim block_size = weight.blocks[1];
  const std::string& name = exporter.name(id);
  std::vector<std::string> inputs{
      exporter.read(node.inputs[0]),
      exporter.add_initializer(name + "/codes", encode_tensor(written_nbits(weight, block_size))),
      exporter.add_initializer(name + "/scale", encode_tensor(flat(weight.scales))),
      nbits_zeros(exporter, weight, name)};
  if (node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent) {
    inputs.insert(inputs.end(), {"", exporter.read(node.inputs[2])});
  } else if (inputs.back().empty()) {
    inputs.pop_back();
  }
  NodeProto& proto = exporter.add_node("MatMulNBits", inputs, output);
  proto.set_domain(std::string(kMicrosoftDomain));
  exporter.require_microsoft_domain();
  set_attribute(proto, "N", weight.shape[0]);
  set_attribute(proto, "K", weight.shape[1]);
  set_attribute(proto, "bits", std::int64_t{weight.bits});
  set_attribute(proto, "block_size", block_size);
}

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
