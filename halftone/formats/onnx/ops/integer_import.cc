// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers. If a zero point is not constant, the product is computed in float32,
// which is exact while a sum is below 2^24.
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/window.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// Input indices of the operands of a product.
struct Operands {
  std::size_t x;
  std::size_t x_zero;
  std::size_t w;
  std::size_t w_zero;
};
constexpr Operands kInteger = {0, 2, 1, 3};
constexpr Operands kLinear = {0, 2, 3, 5};

bool is_known(NodeBuilder& node, std::size_t i) {
  return !node.has_input(i) || node.constant(node.input(i)) != nullptr;
}

/// The constant zero points of an input; empty for none.
std::vector<std::int32_t> zeros_of(NodeBuilder& node, std::size_t i) {
  if (!node.has_input(i)) return {};
  const ir::Tensor wide = node.constant_input(i).cast(ElementType::kInt32);
  if (wide.shape().rank() > 1) {
    NodeBuilder::unsupported("expected zero points along at most one axis");
  }
  return {wide.as<std::int32_t>().begin(), wide.as<std::int32_t>().end()};
}

std::int32_t zero_of(NodeBuilder& node, std::size_t i) {
  const auto zeros = zeros_of(node, i);
  if (zeros.size() > 1) NodeBuilder::unsupported("zero points per input row are not supported");
  return zeros.empty() ? 0 : zeros[0];
}

ir::ZeroPoints zero_points_of(NodeBuilder& node, const Operands& at) {
  return {zero_of(node, at.x_zero), zeros_of(node, at.w_zero)};
}

void check_operands(NodeBuilder& node, const Operands& at) {
  if (ir::are_integers(node.input_type(at.x), node.input_type(at.w))) return;
  fail(ErrorKind::kShape, "expected int8 or uint8, found " + node.input_type(at.x).to_string() +
                              " and " + node.input_type(at.w).to_string());
}

/// The product of x and w with these zero points, w being [n, outputs].
ValueId emit_matmul(NodeBuilder& node, ValueId x, ValueId w, const ir::ZeroPoints& zero_points) {
  const bool is_weight = node.constant(w) != nullptr && node.type(w).shape.rank() == 2 &&
                         node.type(x).shape.rank() > 0;
  if (!is_weight) return node.emit(ir::MatMul{false, false, zero_points}, {x, w}, "sums");
  const ValueId turned = node.emit(ir::Transpose{{1, 0}}, {w}, "weights");
  return node.emit(ir::FullyConnected{{}, zero_points}, {x, turned}, "sums");
}

/// The shape of the zero points of an operand: one, or of weights one for each output.
ir::Shape shape_of_zeros(NodeBuilder& node, std::size_t i, std::size_t zero) {
  const ir::Shape& found = node.input_type(zero).shape;
  if (found.element_count() == 1) return {};
  const ir::Shape& shape = node.input_type(i).shape;
  const bool is_conv = node.op_type() == "ConvInteger";
  const Dim outputs = shape.rank() == 0 ? 1 : is_conv ? shape[0] : shape.back();
  if (i != kInteger.w || found != ir::Shape{outputs}) {
    NodeBuilder::unsupported("expected one zero point, or of weights one for each output");
  }
  std::vector<Dim> dims{outputs};
  if (is_conv) dims.resize(shape.rank(), 1);
  return ir::Shape(std::move(dims));
}

/// An operand without its zero point, as float32.
ValueId as_difference(NodeBuilder& node, std::size_t i, std::size_t zero) {
  const ValueId x = node.as_float(node.input(i));
  if (!node.has_input(zero)) return x;
  const ir::Shape shape = shape_of_zeros(node, i, zero);
  const ValueId number = node.as_float(node.reshape(node.input(zero), shape));
  return node.emit(ir::Binary{ir::BinaryKind::kSub, {}}, {x, number}, "difference");
}

ValueId to_sums(NodeBuilder& node, ValueId product) {
  return node.emit(ir::Cast{ElementType::kInt32}, {product}, "sums");
}

/// The kernel, image and window of a convolution, channels last.
struct ConvParts {
  ValueId x;
  ValueId w;
  ir::Conv op;
};

ConvParts conv_parts(NodeBuilder& node, ValueId x, ValueId w) {
  ConvParts parts{
      to_channels_last(node, x, "channels_last"), to_channels_last(node, w, "weights"), {}};
  const ir::Shape image = node.type(parts.x).shape;
  const ir::Shape kernel = node.type(parts.w).shape;
  if (image.rank() != kernel.rank()) {
    fail(ErrorKind::kShape,
         "image " + image.to_string() + " does not fit weights " + kernel.to_string());
  }
  check_kernel_shape(node, ir::kernel_extents(kernel));
  parts.op.window = window_of(node, ir::spatial_extents(image), ir::kernel_extents(kernel));
  parts.op.groups = node.int_attribute("group", 1);
  return parts;
}

/// The inputs that convert the sums of a QLinear operator to codes.
struct LinearInputs {
  std::size_t x_scale;
  std::size_t w_scale;
  std::size_t y_scale;
  std::size_t y_zero;
  double factor = 1;  ///< of the sums
};
constexpr LinearInputs kLinearInputs = {1, 4, 6, 7};

ValueId emit_requantize(NodeBuilder& node, ValueId sums, const LinearInputs& at = kLinearInputs) {
  const auto x_scale = static_cast<double>(node.scalar_input(at.x_scale));
  const auto y_scale = static_cast<double>(node.scalar_input(at.y_scale));
  ir::Requantize op;
  for (const float w_scale : node.float_input(at.w_scale)) {
    op.multipliers.push_back(at.factor * x_scale * static_cast<double>(w_scale) / y_scale);
  }
  op.zero_point = zero_of(node, at.y_zero);
  op.element = node.input_type(at.y_zero).encoding.element;
  const auto [low, high] = ir::code_range(op.element);
  op.low = low;
  op.high = high;
  return node.emit(std::move(op), {sums});
}

void build_matmul_integer(NodeBuilder& node) {
  check_operands(node, kInteger);
  if (is_known(node, kInteger.x_zero) && is_known(node, kInteger.w_zero)) {
    node.set_output(0, emit_matmul(node, node.input(kInteger.x), node.input(kInteger.w),
                                   zero_points_of(node, kInteger)));
    return;
  }
  const ValueId product =
      node.emit(ir::MatMul{}, {as_difference(node, 0, 2), as_difference(node, 1, 3)}, "product");
  node.set_output(0, to_sums(node, product));
}

void build_conv_integer(NodeBuilder& node) {
  check_operands(node, kInteger);
  const bool known = is_known(node, kInteger.x_zero) && is_known(node, kInteger.w_zero);
  ConvParts parts = known ? conv_parts(node, node.input(0), node.input(1))
                          : conv_parts(node, as_difference(node, 0, 2), as_difference(node, 1, 3));
  if (known) parts.op.zero_points = zero_points_of(node, kInteger);
  const ValueId product = node.emit(std::move(parts.op), {parts.x, parts.w}, "product");
  set_image(node, known ? product : to_sums(node, product));
}

/// uint8 codes for the range of all values and 0:
///     scale = (high - low) / 255, zero = clip(round(-low / scale)),
///     q = clip(round(x / scale) + zero)
/// Differs: if all values are 0, the scale is the smallest positive float32, not 0.
void build_dynamic_quantize_linear(NodeBuilder& node) {
  using ir::BinaryKind;
  const ValueId x = node.input(0);
  std::vector<std::size_t> axes(node.type(x).shape.rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b) {
    return node.emit(ir::Binary{kind, {}}, {a, b}, "range");
  };
  const ValueId zero = node.add_scalar(0);
  const auto extreme = [&](ir::ReduceKind reduce, BinaryKind kind) {
    return binary(kind, node.emit(ir::Reduce{reduce, axes, false}, {x}, "extreme"), zero);
  };
  const ValueId low = extreme(ir::ReduceKind::kMin, BinaryKind::kMin);
  const ValueId high = extreme(ir::ReduceKind::kMax, BinaryKind::kMax);
  const ValueId step =
      binary(BinaryKind::kDiv, binary(BinaryKind::kSub, high, low), node.add_scalar(255));
  const ValueId scale =
      binary(BinaryKind::kMax, step, node.add_scalar(std::numeric_limits<float>::min()));
  const auto codes = [&](ValueId numbers, ValueId offset) {
    const ValueId divided = binary(BinaryKind::kDiv, numbers, scale);
    const ValueId rounded =
        node.emit(ir::Unary{{ir::ActivationKind::kRound, 0, 0}}, {divided}, "rounded");
    const ValueId sum = binary(BinaryKind::kAdd, rounded, offset);
    return node.emit(ir::Unary{{ir::ActivationKind::kClip, 0, 255}}, {sum}, "bounded");
  };
  const ValueId zero_point = codes(binary(BinaryKind::kSub, zero, low), zero);
  const ValueId q = codes(x, zero_point);
  node.set_output(0, node.emit(ir::Cast{ElementType::kUint8}, {q}, "codes"));
  node.set_output(1, scale);
  node.set_output(2, node.emit(ir::Cast{ElementType::kUint8}, {zero_point}, "zero_point"));
}

void build_qlinear_matmul(NodeBuilder& node) {
  check_operands(node, kLinear);
  const ValueId sums = emit_matmul(node, node.input(kLinear.x), node.input(kLinear.w),
                                   zero_points_of(node, kLinear));
  node.set_output(0, emit_requantize(node, sums));
}

void build_qlinear_conv(NodeBuilder& node) {
  constexpr std::size_t kBias = 8;
  check_operands(node, kLinear);
  ConvParts parts = conv_parts(node, node.input(kLinear.x), node.input(kLinear.w));
  parts.op.zero_points = zero_points_of(node, kLinear);
  std::vector<ValueId> inputs = {parts.x, parts.w};
  if (node.has_input(kBias)) inputs.push_back(node.input(kBias));
  const ValueId sums = node.emit(std::move(parts.op), std::move(inputs), "sums");
  set_image(node, emit_requantize(node, sums));
}

/// Sums as floats: times the scales of x and w, one or one for each output.
ValueId emit_scaled(NodeBuilder& node, ValueId sums, const LinearInputs& at) {
  std::vector<float> scales = node.float_input(at.w_scale);
  const auto x_scale = static_cast<double>(node.scalar_input(at.x_scale));
  for (float& scale : scales) {
    scale = static_cast<float>(at.factor * x_scale * static_cast<double>(scale));
  }
  const ValueId numbers = node.as_float(sums);
  const ir::Shape shape = scales.size() == 1 ? ir::Shape{} : ir::Shape{std::ssize(scales)};
  const ValueId factors = node.add_constant(ir::Tensor::from<float>(shape, scales));
  return node.emit(ir::Binary{ir::BinaryKind::kMul, {}}, {numbers, factors});
}

/// y = alpha (x - x_zero) (w - w_zero) x_scale w_scale + bias, whose scale is that of the product;
/// floats without a scale of the output.
/// Source: ONNX Runtime's com.microsoft.QGemm.
void build_qgemm(NodeBuilder& node) {
  constexpr std::size_t kBias = 6;
  constexpr std::size_t kScale = 7;
  check_operands(node, kLinear);
  const LinearInputs at{1, 4, kScale, 8, static_cast<double>(node.float_attribute("alpha", 1))};
  ValueId x = node.input(kLinear.x);
  ValueId w = node.input(kLinear.w);
  if (node.type(x).shape.rank() != 2 || node.type(w).shape.rank() != 2) {
    fail(ErrorKind::kShape, "expected matrices, found " + node.type(x).shape.to_string() + " and " +
                                node.type(w).shape.to_string());
  }
  if (node.int_attribute("transA", 0) != 0) x = node.emit(ir::Transpose{{1, 0}}, {x}, "rows");
  if (node.int_attribute("transB", 0) == 0) w = node.emit(ir::Transpose{{1, 0}}, {w}, "weights");
  std::vector<ValueId> inputs = {x, w};
  const Dim outputs = node.type(w).shape[0];
  if (node.has_input(kBias)) {
    const ir::Shape& shape = node.input_type(kBias).shape;
    if (shape.element_count() != static_cast<std::size_t>(outputs)) {
      NodeBuilder::unsupported("expected a bias for each output, found " + shape.to_string());
    }
    inputs.push_back(node.reshape(node.input(kBias), {outputs}));
  }
  const ValueId sums =
      node.emit(ir::FullyConnected{{}, zero_points_of(node, kLinear)}, std::move(inputs), "sums");
  node.set_output(
      0, node.has_input(kScale) ? emit_requantize(node, sums, at) : emit_scaled(node, sums, at));
}

constexpr ReaderEntry kIntegerReaders[] = {
    {"", "ConvInteger", build_conv_integer},
    {"", "DynamicQuantizeLinear", build_dynamic_quantize_linear},
    {"", "MatMulInteger", build_matmul_integer},
    {"", "QLinearConv", build_qlinear_conv},
    {"", "QLinearMatMul", build_qlinear_matmul},
    {kMicrosoftDomain, "QGemm", build_qgemm},
};

}  // namespace

std::span<const ReaderEntry> integer_readers() { return kIntegerReaders; }

}  // namespace halftone::formats::onnx
