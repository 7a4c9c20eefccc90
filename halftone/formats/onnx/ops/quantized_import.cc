// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear, of ONNX and of ONNX Runtime.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::ValueId;
using onnx_pb::TensorProto;

ir::AffineParameters affine_parameters(NodeBuilder& node) {
  if (node.int_attribute("block_size", 0) != 0) {
    NodeBuilder::unsupported("blockwise scales are not supported");
  }
  const std::size_t rank = node.input_type(0).shape.rank();
  ir::AffineParameters parameters;
  parameters.scales = node.float_input(1);
  if (node.input_type(1).shape.rank() > 1) {
    NodeBuilder::unsupported("expected scales along at most one axis");
  }
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

/// The operator set of ONNX that introduced a type to QuantizeLinear and DequantizeLinear.
std::int64_t first_opset(std::int32_t data_type) {
  switch (data_type) {
    case TensorProto::INT2:
    case TensorProto::UINT2:
      return 25;
    case TensorProto::FLOAT8E8M0:
      return 24;
    case TensorProto::FLOAT4E2M1:
      return 23;
    case TensorProto::INT4:
    case TensorProto::UINT4:
      return 21;
    default:
      return float_system(data_type).empty() ? 1 : 19;
  }
}

void require_opset(NodeBuilder& node, std::int64_t first, const std::string& what) {
  if (!node.is_standard() || node.opset() >= first) return;
  fail(ErrorKind::kFormat, what + ": expected operator set " + std::to_string(first) +
                               " or later, found " + std::to_string(node.opset()));
}

void require_type(NodeBuilder& node, std::int32_t data_type) {
  require_opset(node, first_opset(data_type), "elements of type " + data_type_name(data_type));
}

/// The scales, float32. Those of MX are powers of two.
ir::Tensor scales_of(NodeBuilder& node, std::size_t i) {
  ir::Tensor scales;
  if (const auto* powers = node.input_as<FloatCodes>(i)) {
    require_type(node, powers->data_type);
    node.state().charge(powers->codes->size() * sizeof(float));
    scales = numbers_of_codes(*powers->codes, powers->data_type);
  } else {
    scales = node.constant_input(i).cast(ElementType::kFloat32);
  }
  check_scales(scales);
  return scales;
}

/// The neighbours along each axis of a tensor that share a scale.
std::vector<Dim> blocks_of(NodeBuilder& node, const ir::Shape& shape, const ir::Shape& scales) {
  const auto dims = shape.dims();
  std::vector<Dim> blocks(dims.begin(), dims.end());
  for (Dim& extent : blocks) extent = std::max<Dim>(extent, 1);
  const std::int64_t size = node.int_attribute("block_size", 0);
  if (size < 0) {
    fail(ErrorKind::kFormat,
         "block_size: expected a number of elements, found " + std::to_string(size));
  }
  if (size == 0 && scales.element_count() == 1 && scales.rank() < 2) return blocks;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 1), shape.rank());
  if (size == 0) {
    blocks[axis] = 1;
    if (scales.rank() > 1) NodeBuilder::unsupported("expected scales along at most one axis");
  } else {
    require_opset(node, 21, "block_size");
    std::ranges::fill(blocks, 1);
    blocks[axis] = size;
  }
  const ir::Shape counts = QuantizedWeight::block_counts(shape, blocks);
  const ir::Shape expected = size == 0 ? ir::Shape{shape[axis]} : counts;
  if (scales != expected) {
    fail(ErrorKind::kShape, "scales: expected " + expected.to_string() + " for " +
                                shape.to_string() + " and axis " + std::to_string(axis) +
                                (size == 0 ? "" : " in blocks of " + std::to_string(size)) +
                                ", found " + scales.to_string());
  }
  return blocks;
}

/// Input 2, as many as scales; zeros if it is absent.
ir::Tensor zero_points_of(NodeBuilder& node, const ir::Tensor& scales) {
  ir::Tensor zeros = node.allocate(ElementType::kFloat32, scales.shape());
  if (!node.has_input(2)) return zeros;
  const auto* codes = node.input_as<FloatCodes>(2);
  const ir::Tensor& found = codes != nullptr ? *codes->codes : node.constant_input(2);
  if (found.size() != scales.size()) {
    fail(ErrorKind::kShape, "zero points: expected as many as scales, " +
                                std::to_string(scales.size()) + ", found " +
                                std::to_string(found.size()));
  }
  const ir::Tensor wide = found.cast(ElementType::kFloat32);
  std::ranges::copy(wide.as<float>(), zeros.as<float>().begin());
  const bool are_zero = std::ranges::all_of(zeros.as<float>(), [](float x) { return x == 0; });
  if (codes != nullptr && !are_zero)
    NodeBuilder::unsupported("a zero point of floats other than 0");
  return zeros;
}

/// The codes of a constant, and their ONNX type: 0 if it is no constant of up to eight bits.
struct StoredCodes {
  std::int32_t data_type = 0;
  const ir::Tensor* tensor = nullptr;
  std::shared_ptr<const void> owner{};
};

StoredCodes stored_codes(NodeBuilder& node) {
  if (const auto* floats = node.input_as<FloatCodes>(0)) {
    return {floats->data_type, floats->codes.get(), floats->codes};
  }
  const auto* id = node.input_as<ValueId>(0);
  const ir::Tensor* tensor = id == nullptr ? nullptr : node.constant(*id);
  if (tensor == nullptr ||
      (tensor->element() != ElementType::kInt8 && tensor->element() != ElementType::kUint8)) {
    return {};
  }
  const auto found = node.state().widened.find(*id);
  return {found == node.state().widened.end() ? data_type_of(tensor->element()) : found->second,
          tensor, node.state().graph.value(*id).constant};
}

bool has_positive_scales(NodeBuilder& node) {
  const ir::Tensor* scales = node.has_input(1) ? node.constant(node.input(1)) : nullptr;
  if (scales == nullptr) return true;
  const ir::Tensor wide = scales->cast(ElementType::kFloat32);
  return std::ranges::all_of(wide.as<float>(), [](float scale) { return !(scale <= 0); });
}

/// Whether codes stay integers of the graph: biases and tables, and weights of 8 bits next to
/// values that are rounded to integers.
bool stay_integers(NodeBuilder& node, const StoredCodes& stored) {
  if (narrow_bits(stored.data_type) != 8 || !float_system(stored.data_type).empty()) return false;
  if (node.int_attribute("block_size", 0) != 0) return false;
  if (stored.tensor->shape().rank() < 2) return true;
  return node.state().rounds_values && has_positive_scales(node);
}

QuantizedWeight weight_of(NodeBuilder& node, const StoredCodes& stored) {
  require_type(node, stored.data_type);
  QuantizedWeight weight;
  const std::string_view system = float_system(stored.data_type);
  weight.bits = narrow_bits(stored.data_type);
  if (!system.empty()) {
    weight.floats = &numerics::find_system(system);
  } else if (stored.tensor->element() == ElementType::kInt8) {
    weight.lowest = -(1 << (weight.bits - 1));
  }
  weight.shape = stored.tensor->shape();
  weight.bytes = {reinterpret_cast<const std::uint8_t*>(stored.tensor->bytes().data()),
                  stored.tensor->size()};
  weight.first_byte = static_cast<std::uint8_t>(weight.lowest);
  weight.owner = stored.owner;
  const ir::Tensor scales = scales_of(node, 1);
  weight.blocks = blocks_of(node, weight.shape, scales.shape());
  const auto counts = QuantizedWeight::block_counts(weight.shape, weight.blocks);
  weight.zero_points = zero_points_of(node, scales).reshaped(counts);
  weight.scales = scales.reshaped(counts);
  return weight;
}

bool is_wide(ElementType element) {
  return element == ElementType::kInt16 || element == ElementType::kUint16;
}

/// Scales or zero points as float32 that broadcast against the value: one, one for each index of an
/// axis, or one for each block of neighbours along it.
ValueId broadcast(NodeBuilder& node, std::size_t input) {
  const ValueId numbers = node.as_float(node.input(input));
  const ir::Shape shape = node.type(numbers).shape;
  const ir::Shape x = node.input_type(0).shape;
  const std::int64_t size = node.int_attribute("block_size", 0);
  if (size == 0 && shape.is_static() && shape.element_count() == 1)
    return node.reshape(numbers, {});
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 1), x.rank());
  if (size == 0) {
    if (shape.rank() != 1 || shape[0] != x[axis]) {
      fail(ErrorKind::kShape, "input " + std::to_string(input) + ": expected one number for each " +
                                  "index of axis " + std::to_string(axis) + " of " + x.to_string() +
                                  ", found " + shape.to_string());
    }
    std::vector<Dim> dims(x.rank() - axis, 1);
    dims[0] = shape[0];
    return node.reshape(numbers, ir::Shape(std::move(dims)));
  }
  require_opset(node, 21, "block_size");
  const bool fits = size > 0 && shape.rank() == x.rank() && x[axis] >= 0 &&
                    shape[axis] == (x[axis] + size - 1) / size;
  if (!fits) {
    fail(ErrorKind::kShape, "input " + std::to_string(input) + ": expected numbers of blocks of " +
                                std::to_string(size) + " along axis " + std::to_string(axis) +
                                " of " + x.to_string() + ", found " + shape.to_string());
  }
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(x[axis]));
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::int64_t>(i) / size;
  const ValueId indices = node.add_constant(ir::Tensor::from<std::int64_t>({x[axis]}, blocks));
  return node.emit(ir::Gather{axis}, {numbers, indices}, "blocks");
}

/// Whether there are zero points other than the constant 0.
bool has_shift(NodeBuilder& node) {
  if (!node.has_input(2)) return false;
  const ir::Tensor* zeros = node.constant(node.input(2));
  if (zeros == nullptr) return true;
  const ir::Tensor wide = zeros->cast(ElementType::kFloat32);
  return std::ranges::any_of(wide.as<float>(), [](float zero) { return zero != 0; });
}

ValueId ratio_to_scales(NodeBuilder& node) {
  return node.emit(ir::Binary{ir::BinaryKind::kDiv, {}},
                   {node.as_float(node.input(0)), broadcast(node, 1)}, "ratio");
}

/// q = min(max(round(x / scale) + zero, low), high) of up to 16 bits, in float32, which is exact.
ValueId emit_codes(NodeBuilder& node, std::int32_t data_type) {
  const ElementType element = *element_of(data_type);
  const int bits = is_wide(element) ? 16 : narrow_bits(data_type);
  const bool is_signed = element == ElementType::kInt16 || element == ElementType::kInt8;
  const ValueId ratio = ratio_to_scales(node);
  ValueId codes = node.emit(ir::Unary{{ir::ActivationKind::kRound, 0, 0}}, {ratio}, "rounded");
  if (has_shift(node)) {
    codes = node.emit(ir::Binary{ir::BinaryKind::kAdd, {}}, {codes, broadcast(node, 2)}, "shifted");
  }
  const auto count = static_cast<float>(1 << bits);
  const float low = is_signed ? -count / 2 : 0;
  const ir::Activation clip{ir::ActivationKind::kClip, low, low + count - 1};
  return node.emit(ir::Cast{element}, {node.emit(ir::Unary{clip}, {codes}, "bounded")});
}

/// Whether a value is bounded as emit_codes() bounds it.
bool is_clipped(NodeBuilder& node, ValueId id) {
  const auto producer = node.state().graph.producer(id);
  if (!producer || !node.type(id).is_dense(ElementType::kFloat32)) return false;
  const auto* op = std::get_if<ir::Unary>(&node.state().graph.node(*producer).op);
  return op != nullptr && op->activation.kind == ir::ActivationKind::kClip;
}

/// x = (q - zero) scale
ValueId emit_numbers(NodeBuilder& node) {
  ValueId x = node.input(0);
  const auto producer = node.state().graph.producer(x);
  const bool is_cast =
      producer && std::holds_alternative<ir::Cast>(node.state().graph.node(*producer).op);
  // The integers of emit_codes() before they became those of the file.
  const ValueId whole = is_cast ? node.state().graph.node(*producer).inputs[0] : x;
  x = is_cast && is_clipped(node, whole) ? whole : node.as_float(x);
  if (has_shift(node)) {
    x = node.emit(ir::Binary{ir::BinaryKind::kSub, {}}, {x, broadcast(node, 2)}, "centered");
  }
  return node.emit(ir::Binary{ir::BinaryKind::kMul, {}}, {x, broadcast(node, 1)});
}

/// A value that was rounded to a float with the same scale before stays so.
/// @return false, with nothing added, for other values
bool pass_rounded_on(NodeBuilder& node) {
  const auto* rounded = node.input_as<RoundedFloat>(0);
  if (rounded == nullptr || !rounded->is_codes()) return false;
  const ir::Tensor* scale = node.constant(node.input(1));
  const bool is_same = scale != nullptr && scale->size() == 1 && !has_shift(node) &&
                       node.scalar_input(1) == rounded->scale();
  if (is_same) node.bind_output(0, RoundedFloat{rounded->x, rounded->encoding, TensorProto::FLOAT});
  return is_same;
}

/// Whether an input is absent, a constant, or codes of the file.
bool is_known_or_absent(NodeBuilder& node, std::size_t i) {
  if (!node.has_input(i) || node.input_as<FloatCodes>(i) != nullptr) return true;
  return node.constant(node.input(i)) != nullptr;
}

void build_dequantize_linear(NodeBuilder& node) {
  if (pass_rounded_on(node)) return;
  if (!is_known_or_absent(node, 1) || !is_known_or_absent(node, 2))
    return node.set_output(0, emit_numbers(node));
  const StoredCodes stored = stored_codes(node);
  if (stored.tensor == nullptr) {
    const ElementType element = node.input_type(0).encoding.element;
    const bool plain = !is_wide(element) && element != ElementType::kFloat32 &&
                       node.int_attribute("block_size", 0) == 0;
    if (!plain) return node.set_output(0, emit_numbers(node));
  }
  if (stored.tensor == nullptr || stay_integers(node, stored)) {
    node.set_output(0, node.emit(ir::DequantizeLinear{affine_parameters(node)}, {node.input(0)}));
    return;
  }
  QuantizedWeight weight = weight_of(node, stored);
  weight.name = node.output_name();
  node.bind_output(0, std::make_shared<const QuantizedWeight>(std::move(weight)));
}

/// The ONNX type of the codes of a QuantizeLinear.
std::int32_t code_type(NodeBuilder& node) {
  if (node.has_input(2)) return node.data_type(2);
  const auto stated = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(node.int_attribute("output_dtype", 0), 0, 100));
  return stated == 0 ? TensorProto::UINT8 : stated;
}

/// Rounds to a float, with one scale or, of x / scale, with none.
void build_round_to_float(NodeBuilder& node, std::int32_t data_type) {
  require_type(node, data_type);
  if (has_shift(node)) NodeBuilder::unsupported("a zero point of floats other than 0");
  const ir::Tensor* constant = node.constant(node.input(1));
  const bool has_one_scale =
      constant != nullptr && constant->size() == 1 && node.int_attribute("block_size", 0) == 0;
  const float scale = has_one_scale ? node.scalar_input(1) : 1;
  if (!(scale > 0) || !std::isfinite(scale)) {
    fail(ErrorKind::kFormat, "scale: expected a positive number, found " + number_text(scale));
  }
  const bool overflows = node.int_attribute("saturate", 1) == 0;
  const bool has_nan = data_type != TensorProto::FLOAT4E2M1;
  const std::string name = std::string(float_system(data_type)) +
                           (overflows && has_nan ? std::string(numerics::kOverflowSuffix) : "");
  auto encoding = std::make_shared<numerics::MatrixEncoding>();
  encoding->bits = narrow_bits(data_type);
  encoding->codebook = numerics::codebook_of(numerics::find_system(name), encoding->bits);
  encoding->scales = numerics::StoredNumbers::of(std::span(&scale, 1));
  const ValueId x = has_one_scale ? node.input(0) : ratio_to_scales(node);
  node.bind_output(0, RoundedFloat{x, std::move(encoding), data_type});
}

/// The input within what integers of fewer than eight bits can hold.
ValueId clipped(NodeBuilder& node, std::int32_t data_type, const ir::AffineParameters& parameters) {
  const bool is_signed = data_type == TensorProto::INT4 || data_type == TensorProto::INT2;
  const int count = 1 << narrow_bits(data_type);
  const int low = is_signed ? -count / 2 : 0;
  const auto bound = [&](int code) {
    return parameters.scales[0] * static_cast<float>(code - parameters.zero_points[0]);
  };
  const ir::Activation clip{ir::ActivationKind::kClip, bound(low), bound(low + count - 1)};
  return node.emit(ir::Unary{clip}, {node.input(0)}, "clip");
}

/// Whether QuantizeLinear of the graph has these codes and parameters: 8 bits, or one scale.
bool is_plain(NodeBuilder& node, int bits) {
  if (node.int_attribute("block_size", 0) != 0) return false;
  const ir::Tensor* scales = node.constant(node.input(1));
  const bool are_known =
      scales != nullptr && (!node.has_input(2) || node.constant(node.input(2)) != nullptr);
  return are_known && (bits == 8 || (bits != 0 && scales->size() == 1));
}

void build_quantize_linear(NodeBuilder& node) {
  const std::int32_t data_type = code_type(node);
  if (!float_system(data_type).empty()) return build_round_to_float(node, data_type);
  const auto element = element_of(data_type);
  const int bits = narrow_bits(data_type);
  if (!element || (bits == 0 && !is_wide(*element))) {
    NodeBuilder::unsupported("expected codes of up to sixteen bits");
  }
  require_type(node, data_type);
  if (!is_plain(node, bits)) return node.set_output(0, emit_codes(node, data_type), data_type);
  ir::QuantizeLinear op{affine_parameters(node), *element};
  const ValueId x = bits == 8 ? node.input(0) : clipped(node, data_type, op.parameters);
  node.set_output(0, node.emit(std::move(op), {x}), data_type);
}

constexpr ReaderEntry kQuantizedReaders[] = {
    {"", "QuantizeLinear", build_quantize_linear},
    {"", "DequantizeLinear", build_dequantize_linear},
    {kMicrosoftDomain, "QuantizeLinear", build_quantize_linear},
    {kMicrosoftDomain, "DequantizeLinear", build_dequantize_linear},
};

}  // namespace

std::span<const ReaderEntry> quantized_readers() { return kQuantizedReaders; }

}  // namespace halftone::formats::onnx
