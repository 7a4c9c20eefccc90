// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

/// Strides and dilations along the height and the width.
struct Steps {
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  std::int32_t dilation_h = 1;
  std::int32_t dilation_w = 1;
};

template <typename Options>
Steps steps_of(const Options& options) {
  Steps steps{options.stride_h(), options.stride_w()};
  if constexpr (requires { options.dilation_h_factor(); }) {
    steps.dilation_h = options.dilation_h_factor();
    steps.dilation_w = options.dilation_w_factor();
  }
  return steps;
}

/// @throws Error kFormat unless this is an image [N, h, w, C] with known extents
void check_image(const ir::Shape& shape) {
  check(shape.rank() == 4 && shape[1] >= 0 && shape[2] >= 0,
        "expected an image [N, h, w, C], found " + shape.to_string());
}

ir::Window window_of(const Steps& steps) {
  check(steps.stride_h > 0 && steps.stride_w > 0 && steps.dilation_h > 0 && steps.dilation_w > 0,
        "expected positive strides and dilations");
  return {{steps.stride_h, steps.stride_w}, {steps.dilation_h, steps.dilation_w}, {0, 0}, {0, 0}};
}

/// Splits the `missing` extent of an axis into padding: the larger half after the image.
void pad(ir::Window& window, std::size_t axis, Dim missing) {
  const Dim total = std::max<Dim>(missing, 0);
  window.pads_before[axis] = total / 2;
  window.pads_after[axis] = total - total / 2;
}

void check_padding(schema::Padding padding) {
  check(padding == schema::Padding::SAME || padding == schema::Padding::VALID, "unknown padding");
}

/// SAME pads for ceil(extent / stride) outputs; VALID does not pad.
void pad_image(ir::Window& window, schema::Padding padding, const ir::Shape& image,
               std::span<const Dim> kernel) {
  check_padding(padding);
  if (padding == schema::Padding::VALID) return;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Dim extent = image[i + 1];
    const Dim stride = window.strides[i];
    const Dim count = extent / stride + (extent % stride != 0 ? 1 : 0);
    pad(window, i, (count - 1) * stride + ir::covered(kernel[i], window.dilations[i]) - extent);
  }
}

void check_filter(const ir::Shape& filter) {
  check(filter.rank() == 4 && filter.is_static() && filter[1] > 0 && filter[2] > 0,
        "expected weights of four axes, found " + filter.to_string());
}

/// A layer and its inputs.
struct Layer {
  ir::Conv conv;
  std::vector<ValueId> inputs;
};

/// @param x  the input, which may differ from that in the file
Layer conv_layer(OperatorImport& op, ValueId x) {
  const auto* options = op.options<schema::Conv2DOptions>();
  check(options != nullptr, "has no options");
  std::vector<ValueId> inputs = {x, op.number(1)};
  const ir::Shape image = op.shape(inputs[0]);
  const ir::Shape filter = op.shape(inputs[1]);
  check_image(image);
  check_filter(filter);
  check(filter[3] > 0 && image[3] % filter[3] == 0,
        "weights " + filter.to_string() + " do not fit " + image.to_string());
  ir::Conv conv{window_of(steps_of(*options)), image[3] / filter[3],
                fused_activation(options->fused_activation_function())};
  pad_image(conv.window, options->padding(), image, filter.dims().subspan(1, 2));
  if (op.has_input(2)) inputs.push_back(op.number(2));
  return {std::move(conv), std::move(inputs)};
}

/// Depthwise filters: [1, h, w, O] in the file; output c m + i reads channel c.
Layer depthwise_layer(OperatorImport& op, ValueId x) {
  const auto* options = op.options<schema::DepthwiseConv2DOptions>();
  check(options != nullptr, "has no options");
  const ir::Shape image = op.shape(x);
  check_image(image);
  std::vector<ValueId> inputs = {x, op.transposed_number(1, {3, 1, 2, 0})};
  const ir::Shape filter = op.shape(inputs[1]);
  check_filter(filter);
  check(filter[3] == 1 && image[3] > 0 && filter[0] % image[3] == 0,
        "weights for " + std::to_string(filter[0]) + " outputs do not fit " + image.to_string());
  ir::Conv conv{window_of(steps_of(*options)), image[3],
                fused_activation(options->fused_activation_function())};
  pad_image(conv.window, options->padding(), image, filter.dims().subspan(1, 2));
  if (op.has_input(2)) inputs.push_back(op.number(2));
  return {std::move(conv), std::move(inputs)};
}

template <Layer (*layer_of)(OperatorImport&, ValueId)>
void import_conv(OperatorImport& op) {
  Layer layer = layer_of(op, op.number(0));
  op.emit(std::move(layer.conv), std::move(layer.inputs));
}

/// The layer [N, extents..., O] that scatters an image with weights. SAME takes half of what is
/// reached beyond ceil(extent / stride) strides off the front, VALID nothing.
ir::ConvTranspose transposed_layer(ir::Window window, schema::Padding padding,
                                   const ir::Shape& image, std::span<const Dim> kernel,
                                   std::span<const std::int64_t> target) {
  check_padding(padding);
  ir::ConvTranspose conv{std::move(window), std::vector<Dim>(kernel.size(), 0)};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    constexpr std::int64_t kFar = std::int64_t{1} << 31;
    const Dim extent = target[i + 1];
    check(extent >= 0 && extent < kFar, "an extent of the output is out of range");
    const Dim stride = conv.window.strides[i];
    const Dim taps = ir::covered(kernel[i], conv.window.dilations[i]);
    const Dim reached = (image[i + 1] - 1) * stride + taps;
    const Dim count = extent / stride + (extent % stride != 0 ? 1 : 0);
    const bool is_same = padding == schema::Padding::SAME;
    const Dim before = is_same ? std::max<Dim>((count - 1) * stride + taps - extent, 0) / 2 : 0;
    conv.window.pads_before[i] = before;
    conv.window.pads_after[i] = std::max<Dim>(reached - before - extent, 0);
    conv.output_padding[i] = std::max<Dim>(extent - (reached - before), 0);
  }
  return conv;
}

/// The shape of the output, whose batch the file may compute.
std::vector<Dim> output_shape(OperatorImport& op) {
  const auto extents = op.importer().known_extents(op.raw(0));
  if (!extents) return op.integers(0);
  std::vector<Dim> dims;
  for (const ir::Extent& extent : *extents) dims.push_back(ir::dim_of(extent));
  return dims;
}

void import_transpose_conv(OperatorImport& op) {
  const auto* options = op.options<schema::TransposeConvOptions>();
  check(options != nullptr, "has no options");
  const std::vector<Dim> target = output_shape(op);
  std::vector<ValueId> inputs = {op.number(2), op.number(1)};
  const ir::Shape image = op.shape(inputs[0]);
  const ir::Shape filter = op.shape(inputs[1]);
  check_image(image);
  check_filter(filter);
  check(target.size() == 4, "expected an output of four axes");
  ir::ConvTranspose conv = transposed_layer(window_of(steps_of(*options)), options->padding(),
                                            image, filter.dims().subspan(1, 2), target);
  conv.activation = fused_activation(options->fused_activation_function());
  if (op.has_input(3)) inputs.push_back(op.number(3));
  op.emit(std::move(conv), std::move(inputs));
}

}  // namespace

/// Inputs: image, weights [O, h, w, I], bias. Options: padding (1 SAME, 2 VALID) and the strides
/// along the width and the height, as int32.
/// Source: mediapipe/util/tflite/operations/transpose_conv_bias.cc
void import_media_pipe_transpose_conv(OperatorImport& op) {
  constexpr std::int32_t kSame = 1;
  std::array<std::int32_t, 3> options = {};
  const auto bytes = std::as_bytes(elements(op.table().custom_options()));
  check(bytes.size() >= sizeof(options), "has no options");
  std::memcpy(options.data(), bytes.data(), sizeof(options));
  const std::vector<ValueId> inputs = {op.number(0), op.number(1), op.number(2)};
  const ir::Shape image = op.shape(inputs[0]);
  const ir::Shape filter = op.shape(inputs[1]);
  check_image(image);
  check_filter(filter);
  ir::ConvTranspose conv{window_of({options[2], options[1]}), {0, 0}};
  for (std::size_t i = 0; i < 2 && options[0] == kSame; ++i) {
    pad(conv.window, i, filter[i + 1] - (image[i + 1] - 1) % conv.window.strides[i] - 1);
  }
  op.emit(std::move(conv), inputs);
}

namespace {

ir::Window volume_window(const schema::Conv3DOptions& options) {
  const std::vector<Dim> strides = {options.stride_d(), options.stride_h(), options.stride_w()};
  const std::vector<Dim> dilations = {options.dilation_d_factor(), options.dilation_h_factor(),
                                      options.dilation_w_factor()};
  const auto is_positive = [](Dim number) { return number > 0; };
  check(std::ranges::all_of(strides, is_positive) && std::ranges::all_of(dilations, is_positive),
        "expected positive strides and dilations");
  return {strides, dilations, {0, 0, 0}, {0, 0, 0}};
}

/// @throws Error kFormat unless these are a volume [N, d, h, w, C] and weights for it
void check_volume(const ir::Shape& image, const ir::Shape& filter) {
  const auto is_known = [](Dim dim) { return dim > 0; };
  check(image.rank() == 5 && std::ranges::all_of(image.dims().subspan(1), is_known),
        "expected a volume [N, d, h, w, C], found " + image.to_string());
  check(filter.rank() == 5 && std::ranges::all_of(filter.dims(), is_known) &&
            image[4] % filter[4] == 0,
        "weights of " + filter.to_string() + " do not fit " + image.to_string());
}

/// Weights [d, h, w, I, O] in the file.
void import_conv_3d(OperatorImport& op) {
  const auto* options = op.options<schema::Conv3DOptions>();
  check(options != nullptr, "has no options");
  const ValueId x = op.number(0);
  std::vector<ValueId> inputs = {x, op.transposed_number(1, {4, 0, 1, 2, 3})};
  const ir::Shape image = op.shape(x);
  const ir::Shape filter = op.shape(inputs[1]);
  check_volume(image, filter);
  ir::Conv conv{volume_window(*options), image[4] / filter[4],
                fused_activation(options->fused_activation_function())};
  pad_image(conv.window, options->padding(), image, filter.dims().subspan(1, 3));
  if (op.has_input(2)) inputs.push_back(op.number(2));
  op.emit(std::move(conv), std::move(inputs));
}

/// Weights [d, h, w, O, I] in the file.
void import_conv_3d_transpose(OperatorImport& op) {
  const auto* options = op.options<schema::Conv3DOptions>();
  check(options != nullptr, "has no options");
  const std::vector<Dim> target = output_shape(op);
  const ValueId x = op.number(2);
  std::vector<ValueId> inputs = {x, op.transposed_number(1, {3, 0, 1, 2, 4})};
  const ir::Shape image = op.shape(x);
  const ir::Shape filter = op.shape(inputs[1]);
  check_volume(image, filter);
  check(target.size() == 5, "expected an output of five axes");
  ir::ConvTranspose conv = transposed_layer(volume_window(*options), options->padding(), image,
                                            filter.dims().subspan(1, 3), target);
  conv.activation = fused_activation(options->fused_activation_function());
  if (op.has_input(3)) inputs.push_back(op.number(3));
  op.emit(std::move(conv), std::move(inputs));
}

/// Emits the pooling of an image, and its fused activation as a separate node.
void emit_pool(OperatorImport& op, ir::PoolKind kind, ValueId x,
               const schema::Pool2DOptions& options, ir::Activation last) {
  const ir::Shape image = op.shape(x);
  check_image(image);
  const std::vector<Dim> kernel = {options.filter_height(), options.filter_width()};
  check(kernel[0] > 0 && kernel[1] > 0, "expected a window of positive extents");
  ir::Pool pool{kind, kernel, window_of(steps_of(options))};
  pad_image(pool.window, options.padding(), image, kernel);
  if (last == ir::Activation{}) return op.emit(std::move(pool), {x});
  op.emit(ir::Unary{last}, {op.step(std::move(pool), {x}, "pool")});
}

template <ir::PoolKind kind>
void import_pool(OperatorImport& op) {
  const auto* options = op.options<schema::Pool2DOptions>();
  check(options != nullptr, "has no options");
  emit_pool(op, kind, op.number(0), *options,
            fused_activation(options->fused_activation_function()));
}

/// The root mean square of each window.
void import_l2_pool(OperatorImport& op) {
  const auto* options = op.options<schema::Pool2DOptions>();
  check(options != nullptr, "has no options");
  if (fused_activation(options->fused_activation_function()) != ir::Activation{}) {
    fail(ErrorKind::kUnsupported, "fused activations of L2 pooling are not supported");
  }
  const ValueId squares =
      op.step(ir::Unary{{ir::ActivationKind::kSquare, 0, 0}}, {op.number(0)}, "squares");
  emit_pool(op, ir::PoolKind::kAverage, squares, *options, {ir::ActivationKind::kSqrt, 0, 0});
}

constexpr ImportEntry kConvolutionImports[] = {
    {OperatorCode::kConv2d, import_conv<conv_layer>},
    {OperatorCode::kDepthwiseConv2d, import_conv<depthwise_layer>},
    {OperatorCode::kTransposeConv, import_transpose_conv},
    {OperatorCode::kConv3d, import_conv_3d},
    {OperatorCode::kConv3dTranspose, import_conv_3d_transpose},
    {OperatorCode::kAveragePool2d, import_pool<ir::PoolKind::kAverage>},
    {OperatorCode::kMaxPool2d, import_pool<ir::PoolKind::kMax>},
    {OperatorCode::kL2Pool2d, import_l2_pool},
};

}  // namespace

std::span<const ImportEntry> convolution_imports() { return kConvolutionImports; }

void import_dilated(OperatorImport& op, const DilatedLayer& dilated) {
  OperatorImport first(op.importer(), dilated.to_batch);
  OperatorImport site(op.importer(), dilated.convolution);
  const SpaceBlocks outer = space_blocks(first);
  const SpaceBlocks inner = space_blocks(op);
  check(outer.sizes == inner.sizes, "block sizes differ from those of SPACE_TO_BATCH_ND");
  ValueId x = first.number(0);
  const ir::Shape from = op.shape(x);
  const bool is_line = from.rank() == 3;
  check(from.rank() == outer.sizes.size() + 2 && (is_line || from.rank() == 4),
        "expected an image or a sequence, found " + from.to_string());
  if (is_line) x = op.step(ir::Reshape{{from[0], 1, from[1], from[2]}}, {x}, "plane");
  Layer layer =
      site.code() == OperatorCode::kConv2d ? conv_layer(site, x) : depthwise_layer(site, x);
  ir::Window& window = layer.conv.window;
  for (std::size_t i = 0; i < outer.sizes.size(); ++i) {
    const std::size_t axis = i + (is_line ? 1 : 0);
    window.dilations[axis] = outer.sizes[i];
    // Cropping an output of stride 1 is less padding.
    window.pads_before[axis] = outer.margins[2 * i] - inner.margins[2 * i];
    window.pads_after[axis] = outer.margins[2 * i + 1] - inner.margins[2 * i + 1];
    if (window.pads_before[axis] < 0 || window.pads_after[axis] < 0) {
      fail(ErrorKind::kUnsupported, "crops exceed the paddings of SPACE_TO_BATCH_ND");
    }
  }
  if (!is_line) return op.emit(std::move(layer.conv), std::move(layer.inputs));
  check(op.shape(layer.inputs[1])[1] == 1, "expected weights of one row");
  const ValueId plane = op.step(std::move(layer.conv), std::move(layer.inputs), "conv");
  const ir::Shape result = op.shape(plane);
  op.emit(ir::Reshape{{result[0], result[2], result[3]}}, {plane});
}

}  // namespace halftone::formats::circle
