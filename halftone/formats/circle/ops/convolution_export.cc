// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling, after with_file_layers() and lower_windows().
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/file_layers.h"
#include "halftone/formats/circle/lower.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;

std::int32_t narrow(Dim number) {
  if (number > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorKind::kUnsupported,
         "expected an integer of 32 bits, found " + std::to_string(number));
  }
  return static_cast<std::int32_t>(number);
}

bool is_plane(const ir::Graph& graph, const ir::Node& node) {
  const auto is_dense = [&](ir::ValueId id) {
    return id == ir::kAbsent || graph.value(id).type.encoding.is_dense();
  };
  return graph.value(node.inputs[0]).type.shape.rank() == 4 &&
         std::ranges::all_of(node.inputs, is_dense);
}

/// @throws Error kUnsupported for padding that is neither SAME nor VALID
schema::Padding padding_of(const ir::Window& window, const ir::Shape& image,
                           std::span<const Dim> kernel) {
  const auto pads_at = [](Dim pad) { return pad != 0; };
  const bool pads = std::ranges::any_of(window.pads_before, pads_at) ||
                    std::ranges::any_of(window.pads_after, pads_at);
  if (!pads) return schema::Padding::VALID;
  if (has_same_padding(window, image, kernel)) return schema::Padding::SAME;
  fail(ErrorKind::kUnsupported, "expected SAME or VALID padding, found another");
}

template <typename Options>
void set_pace(Options& options, const ir::Window& window, const ir::Shape& image,
              std::span<const Dim> kernel) {
  options.padding = padding_of(window, image, kernel);
  options.stride_h = narrow(window.strides[0]);
  options.stride_w = narrow(window.strides[1]);
  if constexpr (requires { options.dilation_h_factor; }) {
    options.dilation_h_factor = narrow(window.dilations[0]);
    options.dilation_w_factor = narrow(window.dilations[1]);
  }
}

const ir::AffineParameters& parameters_of(const ir::Graph& graph, ir::ValueId dequantized) {
  return std::get<ir::DequantizeLinear>(graph.node(*graph.producer(dequantized)).op).parameters;
}

/// Writes depthwise weights [C m, h, w, 1] in the file's order, [1, h, w, C m]; nullopt unless they
/// are dense constants.
std::optional<TensorIndex> depthwise_weights(Exporter& exporter, const ir::Node& node) {
  const ir::Graph& graph = exporter.graph();
  const ir::ValueId id = exporter.stored(node.inputs[1]);
  const ir::Constant* constant = graph.constant(id);
  const auto* weights = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  if (weights == nullptr || weights->shape().back() != 1) return std::nullopt;
  const ir::Tensor turned = ir::evaluate_operator(ir::Transpose{{3, 1, 2, 0}}, {&weights, 1});
  const std::string& name = graph.value(id).name;
  if (!exporter.in_codes()) {
    return exporter.constant(name, schema::TensorType::FLOAT32, turned.shape(), turned.bytes());
  }
  ir::AffineParameters parameters = parameters_of(graph, node.inputs[1]);
  parameters.axis = 3;
  return exporter.constant(name, turned, parameters);
}

/// A bias of zeros, which TFLite requires.
TensorIndex no_bias(Exporter& exporter, const ir::Node& node, Dim outputs) {
  const std::string name = node.name + "/bias";
  if (!exporter.in_codes()) {
    const std::vector<float> zeros(static_cast<std::size_t>(outputs), 0.0F);
    return exporter.constant(name, schema::TensorType::FLOAT32, {outputs},
                             std::as_bytes(std::span(zeros)));
  }
  ir::AffineParameters sums = parameters_of(exporter.graph(), node.inputs[1]);
  const float scale = parameters_of(exporter.graph(), node.inputs[0]).scales[0];
  for (float& each : sums.scales) each *= scale;
  sums.zero_points.assign(sums.scales.size(), 0);
  sums.axis = 0;
  const bool is_wide = exporter.graph()
                           .value(exporter.stored(node.inputs[0]))
                           .type.is_dense(ir::ElementType::kInt16);
  const auto element = is_wide ? ir::ElementType::kInt64 : ir::ElementType::kInt32;
  return exporter.constant(name, ir::Tensor(element, {outputs}), sums);
}

}  // namespace

namespace {

/// Weights [O, taps..., I] of float32 in the order that operators of volumes read.
TensorIndex turned_weights(Exporter& exporter, ir::ValueId id,
                           const std::vector<std::size_t>& order) {
  const ir::Constant* constant = exporter.graph().constant(id);
  const auto* weights = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  if (weights == nullptr || weights->element() != ir::ElementType::kFloat32) {
    fail(ErrorKind::kUnsupported, "expected constant weights of float32");
  }
  const ir::Tensor turned = ir::evaluate_operator(ir::Transpose{order}, {&weights, 1});
  return exporter.constant(exporter.graph().value(id).name, schema::TensorType::FLOAT32,
                           turned.shape(), turned.bytes());
}

schema::Conv3DOptionsT volume_options(const ir::Window& window, schema::Padding padding) {
  schema::Conv3DOptionsT options;
  options.padding = padding;
  options.stride_d = narrow(window.strides[0]);
  options.stride_h = narrow(window.strides[1]);
  options.stride_w = narrow(window.strides[2]);
  options.dilation_d_factor = narrow(window.dilations[0]);
  options.dilation_h_factor = narrow(window.dilations[1]);
  options.dilation_w_factor = narrow(window.dilations[2]);
  return options;
}

void export_volume(Exporter& exporter, const ir::Node& node) {
  const auto& op = std::get<ir::Conv>(node.op);
  const ir::Shape image = exporter.graph().value(node.inputs[0]).type.shape;
  const ir::Shape weights = exporter.graph().value(node.inputs[1]).type.shape;
  schema::Conv3DOptionsT options =
      volume_options(op.window, padding_of(op.window, image, ir::kernel_extents(weights)));
  options.fused_activation_function = activation_type(op.activation);
  std::vector<TensorIndex> inputs = {exporter.tensor(node.inputs[0]),
                                     turned_weights(exporter, node.inputs[1], {1, 2, 3, 4, 0})};
  if (node.inputs.size() > 2) inputs.push_back(exporter.tensor(node.inputs[2]));
  exporter.add(OperatorCode::kConv3d, std::move(inputs), node.output, united(options));
}

}  // namespace

void export_transposed(Exporter& exporter, const ir::Node& node) {
  const auto& op = std::get<ir::ConvTranspose>(node.op);
  const ir::Shape image = exporter.graph().value(node.inputs[0]).type.shape;
  const ir::Shape weights = exporter.graph().value(node.inputs[1]).type.shape;
  const auto form = transposed_padding(op, image, ir::kernel_extents(weights));
  const bool is_volume = op.window.rank() == 3;
  if (form == TransposedPadding::kOther || op.groups != 1 || op.window.rank() > 3) {
    fail(ErrorKind::kUnsupported,
         "expected a transposed convolution of two or three spatial axes and one group");
  }
  const auto padding =
      form == TransposedPadding::kValid ? schema::Padding::VALID : schema::Padding::SAME;
  const ir::Shape& target = exporter.graph().value(node.output).type.shape;
  std::vector<TensorIndex> inputs = {exporter.extents(target),
                                     is_volume
                                         ? turned_weights(exporter, node.inputs[1], {1, 2, 3, 0, 4})
                                         : exporter.tensor(node.inputs[1]),
                                     exporter.tensor(node.inputs[0])};
  if (node.inputs.size() > 2) inputs.push_back(exporter.tensor(node.inputs[2]));
  if (is_volume) {
    return exporter.add(OperatorCode::kConv3dTranspose, std::move(inputs), node.output,
                        united(volume_options(op.window, padding)));
  }
  schema::TransposeConvOptionsT options;
  options.padding = padding;
  options.stride_h = narrow(op.window.strides[0]);
  options.stride_w = narrow(op.window.strides[1]);
  exporter.add(OperatorCode::kTransposeConv, std::move(inputs), node.output, united(options));
}

void export_convolution(Exporter& exporter, const ir::Node& node) {
  const auto& op = std::get<ir::Conv>(node.op);
  if (exporter.graph().value(node.inputs[0]).type.shape.rank() == 5) {
    return export_volume(exporter, node);
  }
  if (!is_plane(exporter.graph(), node)) {
    fail(ErrorKind::kUnsupported,
         "expected a convolution of dense images with one to three spatial axes");
  }
  const ir::Shape image = exporter.graph().value(node.inputs[0]).type.shape;
  const ir::Shape weights_shape = exporter.graph().value(node.inputs[1]).type.shape;
  const auto kernel = ir::kernel_extents(weights_shape);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent;
  std::vector<TensorIndex> inputs = {
      exporter.tensor(node.inputs[0]), kNoTensor,
      has_bias ? exporter.tensor(node.inputs[2]) : no_bias(exporter, node, weights_shape[0])};
  const bool depthwise = op.groups == image.back() && op.groups > 1;
  if (const auto weights = depthwise ? depthwise_weights(exporter, node) : std::nullopt) {
    inputs[1] = *weights;
    schema::DepthwiseConv2DOptionsT options;
    set_pace(options, op.window, image, kernel);
    options.depth_multiplier =
        narrow(exporter.graph().value(node.output).type.shape.back() / image.back());
    options.fused_activation_function = activation_type(op.activation);
    exporter.add(OperatorCode::kDepthwiseConv2d, std::move(inputs), node.output, united(options));
    return;
  }
  inputs[1] = exporter.tensor(node.inputs[1]);
  schema::Conv2DOptionsT options;
  set_pace(options, op.window, image, kernel);
  options.fused_activation_function = activation_type(op.activation);
  exporter.add(OperatorCode::kConv2d, std::move(inputs), node.output, united(options));
}

void export_pool(Exporter& exporter, const ir::Node& node) {
  const auto& op = std::get<ir::Pool>(node.op);
  const auto is_one = [](Dim number) { return number == 1; };
  if (!is_plane(exporter.graph(), node) || op.count_padding || op.round_up ||
      !std::ranges::all_of(op.window.dilations, is_one)) {
    fail(ErrorKind::kUnsupported,
         "expected pooling of dense images with two spatial axes, without dilations, counted "
         "padding or rounding up");
  }
  schema::Pool2DOptionsT options;
  set_pace(options, op.window, exporter.graph().value(node.inputs[0]).type.shape, op.kernel);
  options.filter_height = narrow(op.kernel[0]);
  options.filter_width = narrow(op.kernel[1]);
  exporter.add(
      op.kind == ir::PoolKind::kMax ? OperatorCode::kMaxPool2d : OperatorCode::kAveragePool2d,
      {exporter.tensor(node.inputs[0])}, node.output, united(options));
}

}  // namespace halftone::formats::circle
