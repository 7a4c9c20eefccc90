// SPDX-License-Identifier: Apache-2.0
// Softmax, and the operators that only do something in training.
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

/// Operator sets below 13 take all axes from `axis` on for one.
void build_flattened_softmax(NodeBuilder& node, bool log) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 1), shape.rank());
  std::vector<ir::Dim> dims(shape.dims().begin(),
                            shape.dims().begin() + static_cast<std::ptrdiff_t>(axis));
  dims.push_back(product_of(shape.dims().subspan(axis)));
  const ValueId merged = node.reshape(x, ir::Shape(std::move(dims)));
  const ValueId y = node.emit(ir::Softmax{axis, 1, log}, {merged});
  node.set_output(0, node.reshape(y, shape));
}

void require_vector(NodeBuilder& node, std::size_t i, ir::Dim channels) {
  const ir::Shape& shape = node.input_type(i).shape;
  if (shape != ir::Shape{channels}) {
    fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected [" +
                                std::to_string(channels) + "], found " + shape.to_string());
  }
}

}  // namespace

void build_softmax(NodeBuilder& node) {
  const bool log = node.op_type() == "LogSoftmax";
  if (node.opset() < 13) {
    build_flattened_softmax(node, log);
    return;
  }
  const std::size_t rank = node.input_type(0).shape.rank();
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", -1), rank);
  node.set_output(0, node.emit(ir::Softmax{axis, 1, log}, {node.input(0)}));
}

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias = x a + b, with one a and b a channel.
void build_batch_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  if (shape.rank() < 2) {
    fail(ErrorKind::kShape, "input 0: expected channels as axis 1, found " + shape.to_string());
  }
  if (node.int_attribute("training_mode", 0) != 0) NodeBuilder::unsupported("training mode");
  if (node.int_attribute("spatial", 1) == 0) NodeBuilder::unsupported("spatial=0");
  for (std::size_t i = 1; i < 5; ++i) require_vector(node, i, shape[1]);
  const auto scale = node.float_input(1);
  const auto bias = node.float_input(2);
  const auto mean = node.float_input(3);
  const auto variance = node.float_input(4);
  const auto epsilon = static_cast<double>(node.float_attribute("epsilon", 1e-5F));
  std::vector<ir::Dim> dims(shape.rank() - 1, 1);
  dims[0] = shape[1];
  ir::Tensor a = node.allocate(ir::ElementType::kFloat32, ir::Shape(dims));
  ir::Tensor b = node.allocate(ir::ElementType::kFloat32, ir::Shape(dims));
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor =
        static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    a.as<float>()[c] = static_cast<float>(factor);
    b.as<float>()[c] =
        static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor);
  }
  const ValueId scaled =
      node.emit(ir::Binary{ir::BinaryKind::kMul, {}}, {x, node.add_constant(std::move(a))});
  node.set_output(0, node.emit(ir::Binary{ir::BinaryKind::kAdd, {}},
                               {scaled, node.add_constant(std::move(b))}));
}

void build_dropout(NodeBuilder& node) {
  const bool trains = node.opset() >= 12 && node.has_input(2) && node.scalar_input(2) != 0;
  const bool drops = trains && (!node.has_input(1) || node.scalar_input(1) != 0);
  if (drops) NodeBuilder::unsupported("training mode");
  node.set_output(0, node.input(0));
}

}  // namespace halftone::formats::onnx
