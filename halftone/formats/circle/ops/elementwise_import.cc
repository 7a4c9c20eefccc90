// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/circle/activations.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;

void import_unary(OperatorImport& op, ir::Activation activation) {
  const bool takes_integers = ir::traits_of(activation.kind).takes_integers;
  op.emit(ir::Unary{activation}, {takes_integers ? op.numeric(0) : op.number(0)});
}

/// A newer operator: a Clip is written as Max and Min, which every runtime has.
void import_relu_0_to_1(OperatorImport& op) { import_unary(op, {ActivationKind::kClip, 0, 1}); }

void import_leaky_relu(OperatorImport& op) {
  const auto* options = op.options<schema::LeakyReluOptions>();
  import_unary(op, {ActivationKind::kLeakyRelu,
                    options ? OperatorImport::finite(options->alpha(), "alpha") : 0, 0});
}

void import_gelu(OperatorImport& op) {
  const auto* options = op.options<schema::GeluOptions>();
  const bool approximate = options != nullptr && options->approximate();
  import_unary(op, {approximate ? ActivationKind::kGeluTanh : ActivationKind::kGelu, 0, 0});
}

void import_rsqrt(OperatorImport& op) {
  const ir::ValueId root =
      op.step(ir::Unary{{ActivationKind::kSqrt, 0, 0}}, {op.number(0)}, "sqrt");
  op.emit(ir::Unary{{ActivationKind::kReciprocal, 0, 0}}, {root});
}

void import_pair(OperatorImport& op, BinaryKind kind, ir::Activation activation = {}) {
  op.emit(ir::Binary{kind, activation}, {op.numeric(0), op.numeric(1)});
}

template <BinaryKind kind>
void import_binary(OperatorImport& op) {
  import_pair(op, kind);
}

/// ADD, SUB, MUL and DIV, which can fuse an activation.
template <BinaryKind kind, typename Options>
void import_arithmetic(OperatorImport& op) {
  const auto* options = op.options<Options>();
  import_pair(op, kind,
              options ? fused_activation(options->fused_activation_function()) : ir::Activation{});
}

void import_squared_difference(OperatorImport& op) {
  const ir::ValueId difference =
      op.step(ir::Binary{BinaryKind::kSub, {}}, {op.number(0), op.number(1)}, "difference");
  op.emit(ir::Unary{{ActivationKind::kSquare, 0, 0}}, {difference});
}

void import_not_equal(OperatorImport& op) {
  const ir::ValueId equal =
      op.step(ir::Binary{BinaryKind::kEqual, {}}, {op.numeric(0), op.numeric(1)}, "equal");
  op.emit(ir::Unary{{ActivationKind::kNot, 0, 0}}, {equal});
}

void import_not(OperatorImport& op) {
  op.emit(ir::Unary{{ActivationKind::kNot, 0, 0}}, {op.raw(0)});
}

/// floor(a / b); of integers (a - a mod b) / b, where the remainder has the sign of b.
void import_floor_div(OperatorImport& op) {
  const ir::ValueId a = op.numeric(0);
  const ir::ValueId b = op.numeric(1);
  const ir::Binary divide{BinaryKind::kDiv, {}};
  if (op.graph().value(a).type.is_dense(ir::ElementType::kFloat32)) {
    const ir::ValueId quotient = op.step(divide, {a, b}, "quotient");
    return op.emit(ir::Unary{{ActivationKind::kFloor, 0, 0}}, {quotient});
  }
  const ir::ValueId rest = op.step(ir::Binary{BinaryKind::kMod, {}}, {a, b}, "rest");
  op.emit(divide, {op.step(ir::Binary{BinaryKind::kSub, {}}, {a, rest}, "multiple"), b});
}

void import_add_n(OperatorImport& op) {
  ir::ValueId sum = op.numeric(0);
  if (op.num_inputs() == 1) return op.alias(sum);
  const ir::Binary add{BinaryKind::kAdd, {}};
  for (std::size_t i = 1; i + 1 < op.num_inputs(); ++i) {
    sum = op.step(add, {sum, op.numeric(i)}, "sum" + std::to_string(i));
  }
  op.emit(add, {sum, op.numeric(op.num_inputs() - 1)});
}

void import_cast(OperatorImport& op) {
  const schema::TensorType type = op.importer().file().tensor(op.output_tensor(0)).type();
  const auto element = element_type(type);
  if (!element) {
    fail(ErrorKind::kUnsupported, std::string("a cast to ") + schema::EnumNameTensorType(type));
  }
  const ir::ValueId wide = op.importer().widened(op.input_tensor(0));
  if (wide != ir::kAbsent && *element == ir::ElementType::kFloat32) return op.alias(wide);
  op.emit(ir::Cast{*element}, {wide == ir::kAbsent ? op.raw(0) : wide});
}

/// Float to integers, or integers to another scale, as the output's quantization defines.
void import_quantize(OperatorImport& op) { op.alias(op.number(0)); }

void import_dequantize(OperatorImport& op) {
  const std::size_t input = op.input_tensor(0);
  if (const ir::ValueId wide = op.importer().widened(input); wide != ir::kAbsent) {
    return op.alias(wide);
  }
  const ir::ValueId value = op.raw(0);
  auto parameters = op.importer().file().quantization(input);
  if (parameters && !op.graph().value(value).type.is_dense(ir::ElementType::kFloat32)) {
    op.importer().charge(parameters->scales.size() * sizeof(float));
    return op.emit(ir::DequantizeLinear{std::move(*parameters)}, {value});
  }
  op.alias(op.number(0));
}

/// The constant behind it is dense already; see read_sparse().
void import_densify(OperatorImport& op) { op.alias(op.raw(0)); }

void import_activation(OperatorImport& op) { import_unary(op, *activation_of(op.code())); }

/// Those that plain_activations() does not have.
constexpr ImportEntry kElementwiseImports[] = {
    {OperatorCode::kRelu0To1, import_relu_0_to_1},
    {OperatorCode::kLeakyRelu, import_leaky_relu},
    {OperatorCode::kGelu, import_gelu},
    {OperatorCode::kRsqrt, import_rsqrt},
    {OperatorCode::kAdd, import_arithmetic<BinaryKind::kAdd, schema::AddOptions>},
    {OperatorCode::kSub, import_arithmetic<BinaryKind::kSub, schema::SubOptions>},
    {OperatorCode::kMul, import_arithmetic<BinaryKind::kMul, schema::MulOptions>},
    {OperatorCode::kDiv, import_arithmetic<BinaryKind::kDiv, schema::DivOptions>},
    {OperatorCode::kMaximum, import_binary<BinaryKind::kMax>},
    {OperatorCode::kMinimum, import_binary<BinaryKind::kMin>},
    {OperatorCode::kPow, import_binary<BinaryKind::kPow>},
    {OperatorCode::kPrelu, import_binary<BinaryKind::kPRelu>},
    {OperatorCode::kFloorMod, import_binary<BinaryKind::kMod>},
    {OperatorCode::kFloorDiv, import_floor_div},
    {OperatorCode::kAddN, import_add_n},
    {OperatorCode::kEqual, import_binary<BinaryKind::kEqual>},
    {OperatorCode::kNotEqual, import_not_equal},
    {OperatorCode::kLess, import_binary<BinaryKind::kLess>},
    {OperatorCode::kLessEqual, import_binary<BinaryKind::kLessOrEqual>},
    {OperatorCode::kGreater, import_binary<BinaryKind::kGreater>},
    {OperatorCode::kGreaterEqual, import_binary<BinaryKind::kGreaterOrEqual>},
    {OperatorCode::kLogicalAnd, import_binary<BinaryKind::kAnd>},
    {OperatorCode::kLogicalOr, import_binary<BinaryKind::kOr>},
    {OperatorCode::kLogicalNot, import_not},
    {OperatorCode::kSquaredDifference, import_squared_difference},
    {OperatorCode::kCast, import_cast},
    {OperatorCode::kQuantize, import_quantize},
    {OperatorCode::kDequantize, import_dequantize},
    {OperatorCode::kDensify, import_densify},
};

}  // namespace

std::span<const ImportEntry> elementwise_imports() {
  static const std::vector<ImportEntry> imports = [] {
    std::vector<ImportEntry> all(std::begin(kElementwiseImports), std::end(kElementwiseImports));
    for (const OperatorCode code : plain_activations()) all.push_back({code, import_activation});
    return all;
  }();
  return imports;
}

}  // namespace halftone::formats::circle
