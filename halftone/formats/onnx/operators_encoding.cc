// SPDX-License-Identifier: Apache-2.0
// Integers with scales, and the fully connected layer in a basis.
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/fully_connected.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::ElementType;
using ir::ValueId;
using numerics::Basis;
using numerics::BasisEncoding;

ir::AffineParameters affine_parameters(NodeBuilder& node) {
  if (node.int_attribute("block_size", 0) != 0) NodeBuilder::unsupported("scales of blocks");
  const std::size_t rank = node.input_type(0).shape.rank();
  ir::AffineParameters parameters;
  parameters.scales = node.float_input(1);
  if (node.input_type(1).shape.rank() > 1) NodeBuilder::unsupported("scales of several axes");
  parameters.zero_points.resize(parameters.scales.size(), 0);
  if (parameters.scales.size() > 1) {
    parameters.axis = ir::normalized_axis(node.int_attribute("axis", 1), rank);
  }
  if (node.has_input(2)) {
    const ir::Tensor zeros = node.constant_input(2).cast(ElementType::kInt32);
    parameters.zero_points.assign(zeros.as<std::int32_t>().begin(), zeros.as<std::int32_t>().end());
  }
  return parameters;
}

// The custom operator; the README says what its inputs and attributes are.

/// @throws Error kFormat unless the attribute is from low to high
std::size_t count_attribute(NodeBuilder& node, const char* name, std::int64_t low,
                            std::int64_t high) {
  const std::int64_t value = node.int_attribute(name, 0);
  if (value < low || value > high) {
    fail(ErrorKind::kFormat, std::string(name) + ": expected " + std::to_string(low) + " to " +
                                 std::to_string(high) + ", found " + std::to_string(value));
  }
  return static_cast<std::size_t>(value);
}

void require_shape(const ir::Shape& found, const ir::Shape& expected, const char* what) {
  if (found != expected) {
    fail(ErrorKind::kShape,
         std::string(what) + ": expected " + expected.to_string() + ", found " + found.to_string());
  }
}

/// The bases in a tensor [count, bits or bits + 1], an offset last.
std::vector<Basis> decode_bases(NodeBuilder& node, std::size_t input, std::size_t bits,
                                bool has_offset) {
  const std::vector<float> numbers = node.float_input(input);
  const std::size_t width = bits + (has_offset ? 1 : 0);
  if (numbers.empty() || numbers.size() % width != 0) {
    fail(ErrorKind::kShape, "input " + std::to_string(input) + ": expected rows of " +
                                std::to_string(width) + ", found " +
                                node.input_type(input).shape.to_string());
  }
  std::vector<Basis> bases;
  for (std::size_t at = 0; at < numbers.size(); at += width) {
    const std::span<const float> row(numbers.data() + at, width);
    for (const float number : row) {
      if (!std::isfinite(number)) {
        fail(ErrorKind::kFormat, "input " + std::to_string(input) +
                                     ": expected finite bases, found " + std::to_string(number));
      }
    }
    bases.push_back(numerics::make_basis(row.first(bits), has_offset ? row[bits] : 0.0F));
  }
  return bases;
}

BasisEncoding weight_encoding(NodeBuilder& node, std::size_t bits) {
  BasisEncoding encoding;
  encoding.bits = static_cast<int>(bits);
  encoding.has_offset = node.int_attribute("weight_offset", 0) != 0;
  const std::string granularity = node.string_attribute("granularity", "tensor");
  if (granularity == "tensor") {
    encoding.granularity = numerics::Granularity::kTensor;
  } else if (granularity == "channel") {
    encoding.granularity = numerics::Granularity::kChannel;
  } else if (granularity == "group") {
    encoding.granularity = numerics::Granularity::kGroup;
    encoding.group_size =
        count_attribute(node, "group_size", 1, std::numeric_limits<std::int32_t>::max());
  } else {
    fail(ErrorKind::kFormat,
         "granularity: expected tensor, channel or group, found '" + granularity + "'");
  }
  encoding.bases = decode_bases(node, 2, bits, encoding.has_offset);
  return encoding;
}

ValueId encoded_weight(NodeBuilder& node, std::size_t bits, std::size_t cols) {
  const ir::Tensor& planes = node.constant_input(3);
  if (planes.element() != ElementType::kUint8 || planes.shape().rank() != 3) {
    fail(ErrorKind::kFormat,
         "input 3: expected uint8 [outputs, bits, bytes], found " + planes.type().to_string());
  }
  const auto row_bytes = (cols + 7) / 8;
  require_shape(planes.shape(),
                {planes.shape()[0], static_cast<ir::Dim>(bits), static_cast<ir::Dim>(row_bytes)},
                "weight planes");
  const auto rows = static_cast<std::size_t>(planes.shape()[0]);
  const BasisEncoding encoding = weight_encoding(node, bits);
  encoding.check(rows, cols);
  numerics::BitPlanes codes(rows, cols, static_cast<int>(bits));
  codes.planes = bits_from_bytes(planes.as<std::uint8_t>(), rows * bits, cols, row_bytes);
  ir::EncodedTensor weight{{planes.shape()[0], static_cast<ir::Dim>(cols)},
                           std::make_shared<const BasisEncoding>(encoding),
                           std::move(codes)};
  const std::string name = node.state().graph.value(node.input(3)).name;
  return node.state().graph.add_constant(name, std::move(weight));
}

ValueId encoded_input(NodeBuilder& node, std::size_t bits) {
  const ValueId x = node.input(0);
  if (bits == 0) return x;
  const bool has_offset = node.int_attribute("activation_offset", 0) != 0;
  const auto bases = decode_bases(node, 1, bits, has_offset);
  if (bases.size() != 1) fail(ErrorKind::kShape, "input 1: expected one basis");
  BasisEncoding encoding = numerics::tensor_encoding(bases[0]);
  encoding.has_offset = has_offset;
  return node.emit(ir::Encode{std::make_shared<const BasisEncoding>(encoding)}, {x}, "encode");
}

}  // namespace

void build_quantize_linear(NodeBuilder& node) {
  ir::QuantizeLinear op{affine_parameters(node), ElementType::kUint8};
  if (node.has_input(2)) {
    op.element = node.input_type(2).encoding.element;
    if (node.state().widened.contains(node.input(2))) {
      NodeBuilder::unsupported("codes that are neither int8 nor uint8");
    }
  } else if (const std::int64_t type = node.int_attribute("output_dtype", 0); type != 0) {
    const bool is_signed = type == onnx_pb::TensorProto::INT8;
    if (!is_signed && type != onnx_pb::TensorProto::UINT8) {
      NodeBuilder::unsupported("codes that are neither int8 nor uint8");
    }
    op.element = is_signed ? ElementType::kInt8 : ElementType::kUint8;
  }
  if (op.element != ElementType::kInt8 && op.element != ElementType::kUint8) {
    NodeBuilder::unsupported("codes that are neither int8 nor uint8");
  }
  node.set_output(0, node.emit(std::move(op), {node.input(0)}));
}

void build_dequantize_linear(NodeBuilder& node) {
  node.set_output(0, node.emit(ir::DequantizeLinear{affine_parameters(node)}, {node.input(0)}));
}

void build_fully_connected(NodeBuilder& node) {
  if (const std::int64_t version = node.int_attribute("version", 1); version != 1) {
    NodeBuilder::unsupported("version " + std::to_string(version) + " of the operator");
  }
  const std::size_t cols =
      count_attribute(node, "inputs", 0, std::numeric_limits<std::int32_t>::max());
  const std::size_t weight_bits = count_attribute(node, "weight_bits", 0, numerics::kMaxBits);
  const std::size_t input_bits = count_attribute(node, "activation_bits", 0, numerics::kMaxBits);
  const ir::FullyConnected op{{activation_of_code(node.int_attribute("activation", 0))}};
  const ValueId x = encoded_input(node, input_bits);
  const ValueId weight = weight_bits == 0 ? node.input(3) : encoded_weight(node, weight_bits, cols);
  std::vector<ValueId> inputs{x, weight};
  if (node.has_input(4)) inputs.push_back(node.input(4));
  node.set_output(0, node.emit(op, std::move(inputs)));
}

}  // namespace halftone::formats::onnx
