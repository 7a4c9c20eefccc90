// SPDX-License-Identifier: Apache-2.0
// Binary operators.
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
};

}  // namespace

std::span<const ReaderEntry> elementwise_readers() { return kElementwiseReaders; }

}  // namespace halftone::formats::onnx
