// SPDX-License-Identifier: Apache-2.0
// Conversions between element types, also to types of fewer bits than the graph has, whose values
// it holds in wider elements.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/ir/element.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::ValueId;
using onnx_pb::TensorProto;
using Weight = std::shared_ptr<const QuantizedWeight>;

std::int32_t cast_target(NodeBuilder& node) {
  if (node.opset() >= 6) {
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(node.int_attribute("to", 0), -1, 1000));
  }
  const std::string name = node.string_attribute("to", "");
  for (std::int32_t type = 0; type <= TensorProto::DataType_MAX; ++type) {
    if (TensorProto::DataType_IsValid(type) &&
        TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type)) == name) {
      return type;
    }
  }
  return -1;
}

bool is_signed(ElementType element) {
  return element == ElementType::kInt8 || element == ElementType::kInt16 ||
         element == ElementType::kInt32 || element == ElementType::kInt64;
}

/// The lowest bits of integers, as a number of that type: in two's complement if it is signed.
/// @param x  int32 or int64, wider than `bits`
ValueId lowest_bits(NodeBuilder& node, ValueId x, int bits, bool has_sign) {
  const ElementType wide = node.type(x).encoding.element;
  if (!has_sign) {
    const auto mask = static_cast<double>((std::uint64_t{1} << bits) - 1);
    return emit_binary(node, BinaryKind::kAnd, x, node.add_scalar(mask, wide));
  }
  const auto unused = static_cast<double>(8 * ir::size_bytes(wide)) - bits;
  const ValueId count = node.add_scalar(unused, wide);
  return emit_binary(node, BinaryKind::kShiftRight,
                     emit_binary(node, BinaryKind::kShiftLeft, x, count), count);
}

/// Integers of fewer than eight bits: floats are truncated, and higher bits dropped.
ValueId narrow_integers(NodeBuilder& node, ValueId x, std::int32_t target) {
  const ElementType element = *element_of(target);
  const ValueId whole = emit_cast(node, ElementType::kInt32, x);
  return emit_cast(node, element,
                   lowest_bits(node, whole, narrow_bits(target), is_signed(element)));
}

/// min(max(x, -limit), limit), where NaN stays.
ValueId limited(NodeBuilder& node, ValueId x, float limit) {
  for (const float bound : {limit, -limit}) {
    const ValueId end = node.add_scalar(bound);
    const auto kind = bound > 0 ? BinaryKind::kGreater : BinaryKind::kLess;
    x = emit_where(node, emit_binary(node, kind, x, end), end, x);
  }
  return x;
}

/// A float of up to eight bits. What overflows takes the largest number, unless `saturate` is 0.
/// FLOAT4E2M1 has no NaN: it becomes -0.
void round_to_float(NodeBuilder& node, std::int32_t target) {
  if (target == TensorProto::FLOAT8E8M0) {
    NodeBuilder::unsupported("conversion to " + data_type_name(target));
  }
  ValueId x = node.as_float(node.input(0));
  const bool has_nan = target != TensorProto::FLOAT4E2M1;
  if (!has_nan) {
    const ValueId is_nan = emit_unary(node, ir::ActivationKind::kIsNan, x);
    x = emit_where(node, is_nan, node.add_scalar(-0.0F), x);
  }
  // The system that keeps NaN; what would overflow in it is limited first.
  const std::string name =
      std::string(float_system(target)) + (has_nan ? std::string(numerics::kOverflowSuffix) : "");
  const float one = 1;
  auto encoding = std::make_shared<numerics::MatrixEncoding>();
  encoding->bits = narrow_bits(target);
  encoding->codebook = numerics::codebook_of(numerics::find_system(name), encoding->bits);
  if (has_nan && node.int_attribute("saturate", 1) != 0) {
    x = limited(node, x, encoding->codebook->sorted().back());
  }
  encoding->scales = numerics::StoredNumbers::of(std::span(&one, 1));
  node.bind_output(0, RoundedFloat{x, std::move(encoding), target});
}

/// Passes on what layers can read in few bits, as float32.
/// @return false, with nothing added, for other values
bool pass_numbers_on(NodeBuilder& node) {
  if (const auto* weight = node.input_as<Weight>(0)) {
    node.bind_output(0, Weight(*weight));
    return true;
  }
  const auto* rounded = node.input_as<RoundedFloat>(0);
  if (rounded == nullptr || (rounded->is_codes() && rounded->scale() != 1)) return false;
  node.bind_output(0, RoundedFloat{rounded->x, rounded->encoding, TensorProto::FLOAT});
  return true;
}

void convert(NodeBuilder& node, std::int32_t target) {
  const auto element = element_of(target);
  if (!element) NodeBuilder::unsupported("conversion to " + data_type_name(target));
  const bool keeps_type = narrow_bits(target) != 0 && node.data_type(0) == target;
  if (!keeps_type && !float_system(target).empty()) return round_to_float(node, target);
  if (*element == ElementType::kFloat32 && !keeps_type && pass_numbers_on(node)) return;
  const ValueId x = node.input(0);
  const int bits = narrow_bits(target);
  if (!keeps_type && bits != 0 && bits < 8) {
    return node.set_output(0, narrow_integers(node, x, target), target);
  }
  // A Cast between equal elements drops the type of fewer bits.
  const bool same = node.type(x).is_dense(*element) && !node.state().widened.contains(x);
  node.set_output(0, same || keeps_type ? x : node.emit(ir::Cast{*element}, {x}));
}

void build_cast(NodeBuilder& node) { convert(node, cast_target(node)); }

void build_cast_like(NodeBuilder& node) { convert(node, node.data_type(1)); }

/// Gives the output the binding of the input. @return false, with nothing done, for other forms
template <typename Form>
bool pass_on(NodeBuilder& node) {
  const Form* form = node.input_as<Form>(0);
  if (form != nullptr) node.bind_output(0, Form(*form));
  return form != nullptr;
}

void build_identity(NodeBuilder& node) {
  if (pass_on<Weight>(node) || pass_on<FloatCodes>(node) || pass_on<RoundedFloat>(node)) return;
  node.set_output(0, node.input(0));
}

/// Whether an input that may be absent is there: only tensors are read, so the file says.
void build_has_element(NodeBuilder& node) {
  node.set_output(0, node.add_scalar(node.has_input(0) ? 1 : 0, ElementType::kBool));
}

/// Bits of the elements of an ONNX type that the graph holds as they are.
int stored_bits(std::int32_t data_type) {
  if (data_type == TensorProto::DOUBLE) return 64;
  const auto element = element_of(data_type);
  const bool exact = element && data_type_of(*element) == data_type;
  return exact ? static_cast<int>(8 * ir::size_bytes(*element)) : 0;
}

/// A constant with its bits read as another type of the same width.
ir::Tensor reread(const ir::Tensor& x, std::int32_t target) {
  if (target == TensorProto::DOUBLE) {
    ir::Tensor result(ElementType::kFloat32, x.shape());
    for (std::size_t i = 0; i < x.size(); ++i) {
      double value = 0;
      std::memcpy(&value, x.bytes().data() + i * sizeof(double), sizeof(double));
      result.as<float>()[i] = static_cast<float>(value);
    }
    return result;
  }
  ir::Tensor result(*element_of(target), x.shape());
  std::ranges::copy(x.bytes(), result.bytes().begin());
  return result;
}

/// The bits of x as another type of the same width: integers at run time, others of constants.
void build_bit_cast(NodeBuilder& node) {
  const std::int32_t target = cast_target(node);
  const ValueId x = node.input(0);
  const std::int32_t source = node.data_type(0);
  const ElementType from = node.type(x).encoding.element;
  const int bits = stored_bits(target);
  if (bits == 0 || stored_bits(source) != bits) {
    NodeBuilder::unsupported("the bits of " + data_type_name(source) + " as " +
                             data_type_name(target));
  }
  if (source == target) return node.set_output(0, x);
  if (const ir::Tensor* constant = node.constant(x)) {
    node.state().charge(constant->bytes().size());
    return node.set_output(0, node.add_constant(reread(*constant, target)));
  }
  const ElementType element = *element_of(target);
  const bool are_integers = from != ElementType::kFloat32 && element != ElementType::kFloat32 &&
                            element != ElementType::kBool && bits < 64;
  if (!are_integers) {
    NodeBuilder::unsupported("the bits of " + data_type_name(source) + " as " +
                             data_type_name(target) + ": expected a constant");
  }
  const ValueId wide = emit_cast(node, bits < 32 ? ElementType::kInt32 : ElementType::kInt64, x);
  node.set_output(0, emit_cast(node, element, lowest_bits(node, wide, bits, is_signed(element))));
}

constexpr ReaderEntry kCastReaders[] = {
    {"", "Cast", build_cast},
    {"", "CastLike", build_cast_like},
    {"", "Identity", build_identity},
    {"", "BitCast", build_bit_cast},
    {"", "OptionalGetElement", build_identity},
    {"", "OptionalHasElement", build_has_element},
};

}  // namespace

std::span<const ReaderEntry> cast_readers() { return kCastReaders; }

}  // namespace halftone::formats::onnx
