// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "halftone/formats/onnx/activations.h"
#include "halftone/formats/onnx/axis_order.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/ops/axes.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::onnx {
namespace {

using ir::ActivationKind;
using ir::Node;
using ir::ValueId;
using onnx_pb::NodeProto;

/// The operator of a kind for operands of a type.
std::string binary_operator(Exporter& exporter, ir::BinaryKind kind, const ir::ValueType& type) {
  std::string name(to_string(kind));
  if (kind == ir::BinaryKind::kMod || kind == ir::BinaryKind::kFmod) return "Mod";
  if (kind == ir::BinaryKind::kShiftLeft || kind == ir::BinaryKind::kShiftRight) return "BitShift";
  const ir::BinaryTraits& traits = ir::traits_of(kind);
  const bool is_logical = traits.takes_booleans && traits.value == nullptr;
  if (!is_logical || type.is_dense(ir::ElementType::kBool)) return name;
  exporter.require_opset(18);
  return "Bitwise" + name;
}

void export_clip(Exporter& exporter, float low, float high, const std::string& input,
                 const std::string& output) {
  std::vector<std::string> inputs{input};
  const bool has_high = std::isfinite(high);
  if (std::isfinite(low)) {
    inputs.push_back(exporter.add_scalar("min", low));
  } else if (has_high) {
    inputs.emplace_back();
  }
  if (has_high) inputs.push_back(exporter.add_scalar("max", high));
  exporter.add_node("Clip", inputs, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Unary& op) {
  if (op.activation.kind == ActivationKind::kNot) {
    const bool is_bool = exporter.type(node.inputs[0]).is_dense(ir::ElementType::kBool);
    if (!is_bool) exporter.require_opset(18);
    exporter.add_node(is_bool ? "Not" : "BitwiseNot", {exporter.read(node.inputs[0])},
                      exporter.name(node.output));
    return;
  }
  export_activation(exporter, op.activation, exporter.read(node.inputs[0]),
                    exporter.name(node.output));
}

void export_operator(Exporter& exporter, const Node& node, const ir::Binary& op) {
  if (op.kind == ir::BinaryKind::kPRelu &&
      exporter.type(node.output).shape != exporter.type(node.inputs[0]).shape) {
    unsupported("a slope of more extents than the input");
  }
  const bool fused = op.activation != ir::Activation{};
  const std::string& output = exporter.name(node.output);
  const std::string result = fused ? exporter.fresh(output + "/linear") : output;
  NodeProto& proto =
      exporter.add_node(binary_operator(exporter, op.kind, exporter.type(node.inputs[0])),
                        {exporter.read(node.inputs[0]), exporter.read(node.inputs[1])}, result);
  const bool left = op.kind == ir::BinaryKind::kShiftLeft;
  if (op.kind == ir::BinaryKind::kFmod) set_attribute(proto, "fmod", std::int64_t{1});
  if (left || op.kind == ir::BinaryKind::kShiftRight) {
    set_attribute(proto, "direction", std::string_view(left ? "LEFT" : "RIGHT"));
  }
  if (fused) export_activation(exporter, op.activation, result, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Cast& op) {
  NodeProto& proto =
      exporter.add_node("Cast", {exporter.read(node.inputs[0])}, exporter.name(node.output));
  set_attribute(proto, "to", std::int64_t{data_type_of(op.element)});
}

void export_operator(Exporter& exporter, const Node& node, const ir::Reshape& op) {
  const ir::Shape& input = exporter.type(node.inputs[0]).shape;
  if (input == op.shape) {  // the copy of another output, of an input or of a constant
    exporter.add_node("Identity", {exporter.read(node.inputs[0])}, exporter.name(node.output));
    return;
  }
  std::vector<std::int64_t> request;
  bool has_zero = false;
  for (std::size_t i = 0; i < op.shape.rank(); ++i) {
    const bool copies = i < input.rank() && input[i] == op.shape[i];
    // The batch is copied from the same axis (0), or inferred from the other extents (-1).
    request.push_back(!ir::is_open(op.shape[i]) ? op.shape[i] : copies ? 0 : -1);
    has_zero = has_zero || op.shape[i] == 0;
  }
  // Divided by extents, the batch would not read back as the same multiple.
  const bool is_open = ir::has_expressions(op.shape);
  const auto inferred = std::ranges::count(request, -1);
  if ((inferred > 1 && !is_open) || (has_zero && !op.shape.is_static())) {
    unsupported("a reshape of " + input.to_string() + " to " + op.shape.to_string());
  }
  const std::string shape = is_open && inferred > 0
                                ? add_shape(exporter, exporter.name(node.output), op.shape)
                                : exporter.add_integers("shape", request);
  NodeProto& proto = exporter.add_node("Reshape", {exporter.read(node.inputs[0]), shape},
                                       exporter.name(node.output));
  if (has_zero) set_attribute(proto, "allowzero", std::int64_t{1});
}

void export_operator(Exporter& exporter, const Node& node, const ir::Transpose& op) {
  const bool is_output = std::ranges::count(exporter.graph().outputs(), node.output) > 0;
  if (op.permutation.size() > 2 && op.permutation == channels_last(op.permutation.size()) &&
      !is_output && exporter.graph().constant(node.inputs[0]) == nullptr) {
    return exporter.set_image(node.output, exporter.read(node.inputs[0]));
  }
  if (op.permutation.size() > 2 && op.permutation == channels_first(op.permutation.size()) &&
      exporter.has_image(node.inputs[0])) {
    return exporter.set_name(node.output, exporter.read_image(node.inputs[0]));
  }
  NodeProto& proto =
      exporter.add_node("Transpose", {exporter.read(node.inputs[0])}, exporter.name(node.output));
  set_attribute(proto, "perm",
                std::vector<std::int64_t>(op.permutation.begin(), op.permutation.end()));
}

void export_operator(Exporter& exporter, const Node& node, const ir::Concat& op) {
  std::vector<std::string> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(exporter.read(id));
  NodeProto& proto = exporter.add_node("Concat", inputs, exporter.name(node.output));
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
}

/// A slice whose ends are computed: counted from the end of the axis if it goes backward, where -1
/// would be the last element.
void export_open_slice(Exporter& exporter, const Node& node, const ir::Slice& op) {
  ir::Extent begin = ir::extent_of(static_cast<ir::Dim>(op.begin));
  const ir::Extent count = ir::extent_of(static_cast<ir::Dim>(op.count));
  if (op.step < 0) begin = begin - ir::extent_of(exporter.type(node.inputs[0]).shape[op.axis]);
  std::vector<std::string> inputs{exporter.read(node.inputs[0])};
  inputs.push_back(add_extent(exporter, begin));
  inputs.push_back(add_extent(exporter, begin + count * op.step));
  inputs.push_back(exporter.add_integers("axis", {static_cast<std::int64_t>(op.axis)}));
  inputs.push_back(exporter.add_integers("step", {op.step}));
  exporter.add_node("Slice", inputs, exporter.name(node.output));
}

void export_operator(Exporter& exporter, const Node& node, const ir::Slice& op) {
  if (ir::is_expression(static_cast<ir::Dim>(op.begin)) ||
      ir::is_expression(static_cast<ir::Dim>(op.count))) {
    return export_open_slice(exporter, node, op);
  }
  const auto begin = static_cast<std::int64_t>(op.begin);
  std::int64_t end = begin + static_cast<std::int64_t>(op.count) * op.step;
  // An end before the first element; -1 would count from the back.
  if (end < 0) end = std::numeric_limits<std::int64_t>::min();
  const std::string& output = exporter.name(node.output);
  std::vector<std::string> inputs{exporter.read(node.inputs[0])};
  inputs.push_back(exporter.add_integers("begin", {begin}));
  inputs.push_back(exporter.add_integers("end", {end}));
  inputs.push_back(exporter.add_integers("axis", {static_cast<std::int64_t>(op.axis)}));
  inputs.push_back(exporter.add_integers("step", {op.step}));
  exporter.add_node("Slice", inputs, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Softmax& op) {
  std::string input = exporter.read(node.inputs[0]);
  const std::string& output = exporter.name(node.output);
  if (op.beta != 1) {
    const std::string scaled = exporter.fresh(output + "/scaled");
    exporter.add_node("Mul", {input, exporter.add_scalar("beta", op.beta)}, scaled);
    input = scaled;
  }
  NodeProto& proto = exporter.add_node(op.log ? "LogSoftmax" : "Softmax", {input}, output);
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
}

/// Codes of a basis are not values in ONNX: the layers that read them store the basis.
/// Halftone's own layers encode their input themselves.
void export_operator(Exporter& exporter, const Node& node, const ir::Encode& op) {
  if (exporter.is_standard()) export_rounding(exporter, node, op);
}

/// A QuantizeLinear or DequantizeLinear between two names. Scale and zero point are initializers;
/// scalars if there is only one.
void export_affine(Exporter& exporter, const ir::Operator& op, const std::string& input,
                   const std::string& output, ir::ElementType element) {
  const auto* quantize = std::get_if<ir::QuantizeLinear>(&op);
  const ir::AffineParameters& parameters =
      quantize != nullptr ? quantize->parameters : std::get<ir::DequantizeLinear>(op).parameters;
  const auto count = static_cast<ir::Dim>(parameters.scales.size());
  const ir::Shape shape = count == 1 ? ir::Shape{} : ir::Shape{count};
  const ir::Tensor zeros = ir::Tensor::from<std::int32_t>(shape, std::span(parameters.zero_points));
  const ir::Tensor narrow = zeros.cast(element);
  if (!std::ranges::equal(narrow.cast(ir::ElementType::kInt32).as<std::int32_t>(),
                          zeros.as<std::int32_t>())) {
    unsupported("zero points out of the range of " + std::string(to_string(element)));
  }
  const ir::Tensor scales = ir::Tensor::from<float>(shape, std::span(parameters.scales));
  std::vector<std::string> inputs{input};
  inputs.push_back(exporter.add_parameter("scale", encode_tensor(scales)));
  // Codes of 32 bits have no zero point in ONNX.
  if (element != ir::ElementType::kInt32) {
    inputs.push_back(exporter.add_parameter("zero", encode_tensor(narrow)));
  } else if (std::ranges::any_of(parameters.zero_points, [](auto zero) { return zero != 0; })) {
    unsupported("a zero point of int32 codes");
  }
  NodeProto& proto = exporter.add_node(name_of(op), inputs, output);
  if (count > 1) set_attribute(proto, "axis", static_cast<std::int64_t>(parameters.axis));
}

void export_operator(Exporter& exporter, const Node& node, const ir::QuantizeLinear& op) {
  if (op.element == ir::ElementType::kInt32) unsupported("codes of int32");
  export_affine(exporter, op, exporter.read(node.inputs[0]), exporter.name(node.output),
                op.element);
}

void export_operator(Exporter& exporter, const Node& node, const ir::DequantizeLinear& op) {
  if (is_stored_filter(exporter.graph(), node.output)) return;
  export_affine(exporter, op, exporter.read(node.inputs[0]), exporter.name(node.output),
                exporter.type(node.inputs[0]).encoding.element);
}

constexpr WriterEntry kElementaryWriters[] = {
    node_writer_entry<Exporter, ir::Unary, export_operator>(),
    node_writer_entry<Exporter, ir::Binary, export_operator>(),
    node_writer_entry<Exporter, ir::Cast, export_operator>(),
    node_writer_entry<Exporter, ir::Reshape, export_operator>(),
    node_writer_entry<Exporter, ir::Transpose, export_operator>(),
    node_writer_entry<Exporter, ir::Concat, export_operator>(),
    node_writer_entry<Exporter, ir::Slice, export_operator>(),
    node_writer_entry<Exporter, ir::Softmax, export_operator>(),
    node_writer_entry<Exporter, ir::Encode, export_operator>(),
    node_writer_entry<Exporter, ir::FakeQuantize, export_fake_quantize>(),
    node_writer_entry<Exporter, ir::QuantizeLinear, export_operator>(),
    node_writer_entry<Exporter, ir::DequantizeLinear, export_operator>(),
};

/// Whether codes have a scale for each index of an axis.
bool has_scales_along_axis(const ir::Operator& op) {
  const auto* quantize = std::get_if<ir::QuantizeLinear>(&op);
  const auto* dequantize = std::get_if<ir::DequantizeLinear>(&op);
  return (quantize != nullptr && quantize->parameters.scales.size() > 1) ||
         (dequantize != nullptr && dequantize->parameters.scales.size() > 1);
}

/// What computes with codes of 8 bits, but for comparing them, stands between conversions in ONNX.
bool computes_with_codes(const Exporter& exporter, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == ir::kAbsent) return false;
  return ir::computes_sums(node.op) && !ir::traits_of(node.op).selects &&
         ir::are_codes(exporter.type(node.inputs[0]));
}

void export_silu(Exporter& exporter, const std::string& input, const std::string& output) {
  const std::string sigmoid = exporter.fresh(output + "/sigmoid");
  exporter.add_node("Sigmoid", {input}, sigmoid);
  exporter.add_node("Mul", {input, sigmoid}, output);
}

void export_gelu(Exporter& exporter, ActivationKind kind, const std::string& input,
                 const std::string& output) {
  exporter.require_opset(20);
  const std::string_view approximation = kind == ActivationKind::kGeluTanh ? "tanh" : "none";
  set_attribute(exporter.add_node("Gelu", {input}, output), "approximate", approximation);
}

void export_is_inf(Exporter& exporter, const ir::Activation& activation, const std::string& input,
                   const std::string& output) {
  NodeProto& proto = exporter.add_node("IsInf", {input}, output);
  set_attribute(proto, "detect_positive", std::int64_t{activation.alpha != 0 ? 1 : 0});
  set_attribute(proto, "detect_negative", std::int64_t{activation.beta != 0 ? 1 : 0});
}

/// Relu6 and the like as a Clip.
void export_limits(Exporter& exporter, const ir::Activation& activation, const std::string& input,
                   const std::string& output) {
  constexpr float kUnlimited = std::numeric_limits<float>::infinity();
  auto limits = ir::limits_of(activation);
  // A Clip is min(max(x, low), high) for crossed limits too.
  if (activation.kind == ActivationKind::kClip) limits = {activation.alpha, activation.beta};
  if (!limits || limits->low == kUnlimited || limits->high == -kUnlimited) {
    unsupported("activation " + to_string(activation));
  }
  export_clip(exporter, limits->low, limits->high, input, output);
}

}  // namespace

void export_dequantize(Exporter& exporter, const ir::DequantizeLinear& op, const NamedCodes& codes,
                       const std::string& output) {
  export_affine(exporter, op, codes.name, output, exporter.type(codes.value).encoding.element);
}

void export_activation(Exporter& exporter, const ir::Activation& activation,
                       const std::string& input, const std::string& output) {
  if (const ActivationEntry* entry = find_activation(activation.kind)) {
    NodeProto& proto = exporter.add_node(entry->op_type, {input}, output);
    if (entry->alpha != nullptr) set_attribute(proto, entry->alpha, activation.alpha);
    if (entry->beta != nullptr) set_attribute(proto, entry->beta, activation.beta);
    return;
  }
  const ActivationKind kind = activation.kind;
  if (kind == ActivationKind::kSquare) {
    exporter.add_node("Mul", {input, input}, output);
  } else if (kind == ActivationKind::kSilu) {
    export_silu(exporter, input, output);
  } else if (kind == ActivationKind::kGelu || kind == ActivationKind::kGeluTanh) {
    export_gelu(exporter, kind, input, output);
  } else if (kind == ActivationKind::kIsInf) {
    export_is_inf(exporter, activation, input, output);
  } else {
    export_limits(exporter, activation, input, output);
  }
}

Writer find_writer(const ir::Operator& op) {
  static const ir::OperatorTable<Writer> table = {
      kElementaryWriters, convolution_writers(), linear_writers(),
      loop_writers(),     moving_writers(),      recurrent_writers(),
      reduce_writers(),   resample_writers(),    selection_writers()};
  return table[op];
}

namespace {

/// A node that does with images what this one does, if the file holds those of its inputs.
std::optional<Node> image_form(const Exporter& exporter, const Node& node) {
  const std::size_t rank = exporter.type(node.output).shape.rank();
  if (rank <= 2 || node.inputs.empty()) return std::nullopt;
  const std::vector<std::size_t> order = channels_last(rank);
  auto moved = ir::before_transpose(node.op, order);
  if (!moved || moved->after != order || has_scales_along_axis(node.op)) return std::nullopt;
  const bool is_binary = std::holds_alternative<ir::Binary>(node.op);
  bool has_images = false;
  for (const ValueId input : node.inputs) {
    const ir::Constant* constant =
        input == ir::kAbsent ? nullptr : exporter.graph().constant(input);
    const auto* dense = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    const bool is_scalar = dense != nullptr && dense->shape().rank() == 0;
    const bool fits = input == ir::kAbsent || is_scalar || (is_binary && dense != nullptr) ||
                      (exporter.has_image(input) && exporter.type(input).shape.rank() == rank);
    if (!fits) return std::nullopt;
    has_images = has_images || exporter.has_image(input);
  }
  if (!has_images) return std::nullopt;
  return Node{node.name, std::move(moved->op), node.inputs, node.output};
}

}  // namespace

void export_node(Exporter& exporter, const Node& node) {
  if (computes_with_codes(exporter, node)) unsupported("arithmetic on integers of 8 bits");
  if (ir::is_layer(node.op) && node.inputs.size() > 3) unsupported("a layer that adds its result");
  exporter.set_node_name(node.name);
  const Writer write = find_writer(node.op);
  if (write == nullptr) unsupported("operator " + std::string(name_of(node.op)));
  const std::optional<Node> image = image_form(exporter, node);
  if (!image) return write(exporter, node);
  exporter.add_image(node.output);
  const Exporter::ImageScope scope(exporter, exporter.type(node.output).shape.rank());
  write(exporter, *image);
}

}  // namespace halftone::formats::onnx
