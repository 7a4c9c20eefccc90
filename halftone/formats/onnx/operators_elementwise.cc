// SPDX-License-Identifier: Apache-2.0
// Arithmetic on pairs, and conversions.
#include <algorithm>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ValueId;

BinaryKind binary_kind(std::string_view op_type) {
  if (op_type == "Sub") return BinaryKind::kSub;
  if (op_type == "Mul") return BinaryKind::kMul;
  if (op_type == "Div") return BinaryKind::kDiv;
  if (op_type == "Pow") return BinaryKind::kPow;
  if (op_type == "Max") return BinaryKind::kMax;
  if (op_type == "Min") return BinaryKind::kMin;
  return BinaryKind::kAdd;
}

ValueId pair(NodeBuilder& node, BinaryKind kind, ValueId a, ValueId b) {
  return node.emit(ir::Binary{kind, {}}, {a, b});
}

/// Operator sets below 7 line the second operand up with the first from `axis` on, and NumPy's rule
/// with their ends: ones behind bring them together.
ValueId lined_up(NodeBuilder& node, ValueId a, ValueId b) {
  const ir::Shape& lhs = node.type(a).shape;
  const ir::Shape& rhs = node.type(b).shape;
  if (node.opset() >= 7 || !node.has_attribute("axis") || rhs.rank() > lhs.rank()) return b;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 0), lhs.rank());
  if (axis + rhs.rank() > lhs.rank()) {
    fail(ErrorKind::kShape, "shape " + rhs.to_string() + " does not fit " + lhs.to_string() +
                                " from axis " + std::to_string(axis) + " on");
  }
  std::vector<ir::Dim> dims(rhs.dims().begin(), rhs.dims().end());
  dims.resize(lhs.rank() - axis, 1);
  return node.reshape(b, ir::Shape(std::move(dims)));
}

void set_cast(NodeBuilder& node, ir::ElementType element) {
  const ValueId x = node.input(0);
  const bool same = node.input_type(0).is_dense(element);
  node.set_output(0, same ? x : node.emit(ir::Cast{element}, {x}));
}

std::int32_t cast_target(NodeBuilder& node) {
  if (node.opset() >= 6) {
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(node.int_attribute("to", 0), -1, 1000));
  }
  const std::string name = node.string_attribute("to", "");
  for (std::int32_t type = 0; type <= onnx_pb::TensorProto::DataType_MAX; ++type) {
    if (onnx_pb::TensorProto::DataType_IsValid(type) &&
        onnx_pb::TensorProto::DataType_Name(static_cast<onnx_pb::TensorProto::DataType>(type)) ==
            name) {
      return type;
    }
  }
  return -1;
}

}  // namespace

void build_binary(NodeBuilder& node) {
  const BinaryKind kind = binary_kind(node.op_type());
  const ValueId a = node.input(0);
  ValueId b = lined_up(node, a, node.input(1));
  if (kind == BinaryKind::kPow) b = node.as_float(b);
  node.set_output(0, pair(node, kind, a, b));
}

void build_prelu(NodeBuilder& node) {
  const ValueId x = node.input(0);
  ValueId slope = node.input(1);
  const std::size_t rank = node.type(x).shape.rank();
  // Operator sets below 7 have one slope per channel, which is axis 1.
  if (node.opset() < 7 && node.type(slope).shape.rank() == 1 && rank > 2) {
    std::vector<ir::Dim> dims(rank - 1, 1);
    dims[0] = node.type(slope).shape[0];
    slope = node.reshape(slope, ir::Shape(std::move(dims)));
  }
  node.set_output(0, pair(node, BinaryKind::kPRelu, x, slope));
}

void build_variadic(NodeBuilder& node) {
  const std::vector<ValueId> inputs = node.inputs();
  if (inputs.empty()) fail(ErrorKind::kFormat, "expected at least one input, found none");
  ValueId result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    result = pair(node, binary_kind(node.op_type()), result, inputs[i]);
  }
  node.set_output(0, result);
}

void build_mean(NodeBuilder& node) {
  const std::vector<ValueId> inputs = node.inputs();
  if (inputs.empty()) fail(ErrorKind::kFormat, "expected at least one input, found none");
  ValueId sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    sum = pair(node, BinaryKind::kAdd, sum, inputs[i]);
  }
  if (inputs.size() > 1) {
    sum = pair(node, BinaryKind::kDiv, sum, node.add_scalar(static_cast<float>(inputs.size())));
  }
  node.set_output(0, sum);
}

void build_cast(NodeBuilder& node) {
  const std::int32_t target = cast_target(node);
  const auto element = element_of(target);
  // Integers of other widths would wrap around elsewhere than the wider type that holds them.
  const bool exact =
      element && (*element == ir::ElementType::kFloat32 || data_type_of(*element) == target);
  if (!exact) NodeBuilder::unsupported("conversion to " + data_type_name(target));
  set_cast(node, *element);
}

void build_cast_like(NodeBuilder& node) {
  if (node.state().widened.contains(node.input(1))) {
    NodeBuilder::unsupported("conversion to integers of other widths than 8, 32 and 64 bits");
  }
  set_cast(node, node.input_type(1).encoding.element);
}

void build_identity(NodeBuilder& node) { node.set_output(0, node.input(0)); }

void build_expand(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const auto request = node.integers(1);
  if (!request) NodeBuilder::unsupported("input 1: expected integers known during the import");
  std::vector<ir::Dim> dims;
  for (const Extent extent : request->values) {
    if (extent.value < 0) {
      fail(ErrorKind::kShape, "expected extents >= 0, found " + std::to_string(extent.value));
    }
    dims.push_back(extent.is_batch ? ir::kBatch : extent.value);
  }
  ir::Shape target(std::move(dims));
  const ir::Shape result = ir::broadcast(node.type(x).shape, target);
  if (result == node.type(x).shape) {
    node.set_output(0, x);
    return;
  }
  // The batch cannot be in a constant; it need not be where the input has it.
  for (std::size_t i = 0; i < target.rank(); ++i)
    target[i] = target[i] == ir::kBatch ? 1 : target[i];
  if (ir::broadcast(node.type(x).shape, target) != result) {
    NodeBuilder::unsupported("expands along the batch");
  }
  ir::Tensor ones = node.allocate(ir::ElementType::kFloat32, target);
  std::ranges::fill(ones.as<float>(), 1.0F);
  node.set_output(0, pair(node, BinaryKind::kMul, x, node.add_constant(std::move(ones))));
}

}  // namespace halftone::formats::onnx
