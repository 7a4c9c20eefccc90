// SPDX-License-Identifier: Apache-2.0
// Binary operators and conversions.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/ir/element.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ValueId;

struct BinaryEntry {
  std::string_view op_type;
  BinaryKind kind;
};

constexpr BinaryEntry kBinary[] = {
    {"Add", BinaryKind::kAdd},         {"Sum", BinaryKind::kAdd},
    {"Sub", BinaryKind::kSub},         {"Mul", BinaryKind::kMul},
    {"Div", BinaryKind::kDiv},         {"Pow", BinaryKind::kPow},
    {"Max", BinaryKind::kMax},         {"Min", BinaryKind::kMin},
    {"Mod", BinaryKind::kMod},         {"And", BinaryKind::kAnd},
    {"Or", BinaryKind::kOr},           {"Xor", BinaryKind::kXor},
    {"BitwiseAnd", BinaryKind::kAnd},  {"BitwiseOr", BinaryKind::kOr},
    {"BitwiseXor", BinaryKind::kXor},  {"Equal", BinaryKind::kEqual},
    {"Less", BinaryKind::kLess},       {"LessOrEqual", BinaryKind::kLessOrEqual},
    {"Greater", BinaryKind::kGreater}, {"GreaterOrEqual", BinaryKind::kGreaterOrEqual},
};

BinaryKind binary_kind(const NodeBuilder& node) {
  if (node.op_type() == "BitShift") {
    const std::string direction = node.choice_attribute("direction", "", {"LEFT", "RIGHT"});
    return direction == "LEFT" ? BinaryKind::kShiftLeft : BinaryKind::kShiftRight;
  }
  const auto* entry = std::ranges::find(kBinary, node.op_type(), &BinaryEntry::op_type);
  if (entry == std::end(kBinary)) fail(ErrorKind::kInternal, "no pairs for " + node.op_type());
  const bool truncates = entry->kind == BinaryKind::kMod && node.int_attribute("fmod", 0) != 0;
  return truncates ? BinaryKind::kFmod : entry->kind;
}

/// Operator sets below 7 align the second operand with the first from `axis` on, NumPy at their
/// ends. Appended extents of 1 make both the same.
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

void build_binary(NodeBuilder& node) {
  const BinaryKind kind = binary_kind(node);
  const ValueId a = node.input(0);
  const ValueId b = lined_up(node, a, node.input(1));
  const bool mixes = node.type(a).encoding.element != node.type(b).encoding.element;
  if (kind != BinaryKind::kPow || !mixes) {
    node.set_output(0, emit_binary(node, kind, a, b));
    return;
  }
  // Base and exponent of different types: the base's type if both are integers, else float32.
  const ir::ElementType element = node.type(a).encoding.element;
  const bool whole = ir::is_integer(element) && ir::is_integer(node.type(b).encoding.element);
  const ir::ElementType common = whole ? element : ir::ElementType::kFloat32;
  const ValueId power =
      emit_binary(node, kind, emit_cast(node, common, a), emit_cast(node, common, b));
  node.set_output(0, emit_cast(node, element, power));
}

void build_where(NodeBuilder& node) {
  node.set_output(0, emit_where(node, node.input(0), node.input(1), node.input(2)));
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
  node.set_output(0, emit_binary(node, BinaryKind::kPRelu, x, slope));
}

void build_variadic(NodeBuilder& node) {
  const std::vector<ValueId> inputs = node.inputs();
  if (inputs.empty()) fail(ErrorKind::kFormat, "expected at least one input, found none");
  ValueId result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    result = emit_binary(node, binary_kind(node), result, inputs[i]);
  }
  node.set_output(0, result);
}

void build_mean(NodeBuilder& node) {
  const std::vector<ValueId> inputs = node.inputs();
  if (inputs.empty()) fail(ErrorKind::kFormat, "expected at least one input, found none");
  ValueId sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    sum = emit_binary(node, BinaryKind::kAdd, sum, inputs[i]);
  }
  if (inputs.size() > 1) {
    sum = emit_binary(node, BinaryKind::kDiv, sum,
                      node.add_scalar(static_cast<float>(inputs.size())));
  }
  node.set_output(0, sum);
}

/// Passes a weight of few bits on as it is. @return false, with nothing added, for other values
bool pass_weight_on(NodeBuilder& node) {
  using Weight = std::shared_ptr<const QuantizedWeight>;
  const auto* weight = node.input_as<Weight>(0);
  if (weight != nullptr) node.bind_output(0, Weight(*weight));
  return weight != nullptr;
}

void build_cast(NodeBuilder& node) {
  const std::int32_t target = cast_target(node);
  const auto element = element_of(target);
  if (element == ir::ElementType::kFloat32 && pass_weight_on(node)) return;
  // Integers of other widths overflow at other values than the wider type that represents them.
  const bool exact =
      element && (*element == ir::ElementType::kFloat32 || data_type_of(*element) == target);
  if (!exact) NodeBuilder::unsupported("conversion to " + data_type_name(target));
  set_cast(node, *element);
}

void build_cast_like(NodeBuilder& node) {
  if (node.state().widened.contains(node.input(1))) {
    NodeBuilder::unsupported("conversion to four-bit integers");
  }
  set_cast(node, node.input_type(1).encoding.element);
}

void build_identity(NodeBuilder& node) {
  if (!pass_weight_on(node)) node.set_output(0, node.input(0));
}

constexpr ReaderEntry kElementwiseReaders[] = {
    {"", "Add", build_binary},        {"", "Sub", build_binary},
    {"", "Mul", build_binary},        {"", "Div", build_binary},
    {"", "Pow", build_binary},        {"", "Mod", build_binary},
    {"", "BitShift", build_binary},   {"", "And", build_binary},
    {"", "Or", build_binary},         {"", "Xor", build_binary},
    {"", "BitwiseAnd", build_binary}, {"", "BitwiseOr", build_binary},
    {"", "BitwiseXor", build_binary}, {"", "Equal", build_binary},
    {"", "Less", build_binary},       {"", "LessOrEqual", build_binary},
    {"", "Greater", build_binary},    {"", "GreaterOrEqual", build_binary},
    {"", "Where", build_where},       {"", "PRelu", build_prelu},
    {"", "Max", build_variadic},      {"", "Min", build_variadic},
    {"", "Sum", build_variadic},      {"", "Mean", build_mean},
    {"", "Cast", build_cast},         {"", "CastLike", build_cast_like},
    {"", "Identity", build_identity},
};

}  // namespace

std::span<const ReaderEntry> elementwise_readers() { return kElementwiseReaders; }

}  // namespace halftone::formats::onnx
