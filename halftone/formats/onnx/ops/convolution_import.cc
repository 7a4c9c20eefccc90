// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling. ONNX has channels as axis 1, the graph as the last axis: each operator
// is placed between two transposes; a pass removes adjacent pairs.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/axis_order.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/window.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ValueId;

constexpr Dim kMaxPadding = Dim{1} << 31;

std::vector<Dim> list(NodeBuilder& node, const std::string& name, std::size_t rank, Dim otherwise) {
  auto found = node.ints_attribute(name);
  if (!found) return std::vector<Dim>(rank, otherwise);
  if (found->size() != rank) {
    fail(ErrorKind::kShape, name + ": expected " + std::to_string(rank) + " numbers, found " +
                                std::to_string(found->size()));
  }
  return *found;
}

/// Padding for an output of ceil(extent / stride); an odd element goes before or after the image.
/// That is k - 1 - (extent - 1) mod stride, or 0, for a kernel that covers k elements.
void pad_to_same(ir::Window& window, std::span<const Dim> extents, std::span<const Dim> kernel,
                 bool odd_before) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent last = ir::extent_of(extents[i]) - 1;
    const Extent rest = last - last.over(window.strides[i]) * window.strides[i];
    const Dim behind_one = ir::covered(kernel[i], window.dilations[i]) - 1;
    const Extent padding = Extent::greatest(0, Extent(behind_one) - rest);
    const Extent before = (odd_before ? padding + 1 : padding).over(2);
    window.pads_before[i] = ir::dim_of(before);
    window.pads_after[i] = ir::dim_of(padding - before);
  }
}

void set_pads(NodeBuilder& node, ir::Window& window) {
  const std::size_t rank = window.rank();
  const std::vector<Dim> pads = list(node, "pads", 2 * rank, 0);
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pads_before.assign(pads.begin(), half);
  window.pads_after.assign(half, pads.end());
}

/// Strides and dilations of a node, without padding.
ir::Window unpadded_window(NodeBuilder& node, std::size_t rank) {
  ir::Window window = ir::plain_window(rank);
  window.strides = list(node, "strides", rank, 1);
  window.dilations = list(node, "dilations", rank, 1);
  ir::check_window(window, rank);
  return window;
}

/// The padding mode of a node. @throws Error kUnsupported for an unknown mode
std::string padding_mode(NodeBuilder& node) {
  return node.choice_attribute("auto_pad", "NOTSET",
                               {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"});
}

}  // namespace

ValueId to_channels_last(NodeBuilder& node, ValueId id, const std::string& role) {
  const std::size_t rank = node.type(id).shape.rank();
  if (rank < 3) {
    fail(ErrorKind::kShape,
         "expected channels and spatial axes, found " + node.type(id).shape.to_string());
  }
  return node.emit(ir::Transpose{channels_last(rank)}, {id}, role);
}

void set_image(NodeBuilder& node, ValueId image) {
  const std::size_t rank = node.type(image).shape.rank();
  node.set_output(0, node.emit(ir::Transpose{channels_first(rank)}, {image}, "channels_first"));
}

ir::Window window_of(NodeBuilder& node, std::span<const Dim> extents, std::span<const Dim> kernel) {
  ir::Window window = unpadded_window(node, extents.size());
  const std::string mode = padding_mode(node);
  if (mode == "NOTSET") {
    set_pads(node, window);
  } else if (mode != "VALID") {
    for (const Dim taps : kernel) {
      if (taps < 1 || taps >= kMaxPadding) {
        fail(ErrorKind::kShape, "expected a kernel of at least one tap");
      }
    }
    pad_to_same(window, extents, kernel, mode == "SAME_LOWER");
  }
  ir::check_window(window, extents.size());
  return window;
}

void check_kernel_shape(NodeBuilder& node, std::span<const Dim> kernel) {
  const auto stated = node.ints_attribute("kernel_shape");
  if (stated && !std::ranges::equal(*stated, kernel)) {
    fail(ErrorKind::kShape, "kernel_shape differs from the extents of the weights");
  }
}

ir::Window stated_window(NodeBuilder& node) {
  const auto kernel = node.ints_attribute("kernel_shape");
  if (!kernel) fail(ErrorKind::kFormat, "expected the attribute kernel_shape, found none");
  ir::Window window = unpadded_window(node, kernel->size());
  set_pads(node, window);
  return window;
}

namespace {

std::vector<ValueId> with_bias(NodeBuilder& node, ValueId x, ValueId w) {
  std::vector<ValueId> inputs = {x, w};
  if (node.has_input(2)) inputs.push_back(node.input(2));
  return inputs;
}

/// The weights [C, O / groups, kernel...] of a ConvTranspose as [O, kernel..., C / groups].
ValueId transposed_weights(NodeBuilder& node, ValueId w, Dim groups) {
  const ir::Shape shape = node.type(w).shape;
  if (groups < 1 || shape.rank() < 3 || shape[0] % groups != 0) {
    fail(ErrorKind::kShape, "weights " + shape.to_string() + " do not divide into " +
                                std::to_string(groups) + " groups");
  }
  std::vector<Dim> split = {groups, shape[0] / groups};
  std::vector<Dim> joined = {groups * shape[1]};
  std::vector<std::size_t> order = {0, 2};
  for (std::size_t i = 1; i < shape.rank(); ++i) split.push_back(shape[i]);
  for (std::size_t i = 2; i < shape.rank(); ++i) {
    joined.push_back(shape[i]);
    order.push_back(i + 1);
  }
  joined.push_back(split[1]);
  order.push_back(1);
  const ValueId grouped = node.reshape(w, ir::Shape(split));
  const ValueId ordered = node.emit(ir::Transpose{order}, {grouped}, "weight");
  return node.reshape(ordered, ir::Shape(joined));
}

/// Computes the padding for some output extents and splits it between both ends.
void pad_to_output(ir::ConvTranspose& op, std::span<const Dim> extents, std::span<const Dim> kernel,
                   std::span<const Extent> wanted, bool odd_before) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent all = (ir::extent_of(extents[i]) - 1) * op.window.strides[i] +
                       ir::covered(kernel[i], op.window.dilations[i]) + op.output_padding[i];
    const auto number = wanted[i].number();
    if (number && (*number < 0 || *number >= kMaxPadding)) {
      fail(ErrorKind::kShape,
           "output_shape: expected extents of at least 0 and below 2^31, found " +
               std::to_string(*number));
    }
    const auto beyond = (all - wanted[i]).number();
    if (!beyond) NodeBuilder::unsupported("an output_shape of an open extent");
    const Dim cut = std::max<Dim>(*beyond, 0);
    if (*beyond < 0) op.output_padding[i] -= *beyond;
    op.window.pads_before[i] = odd_before ? (cut + 1) / 2 : cut / 2;
    op.window.pads_after[i] = cut - op.window.pads_before[i];
  }
}

void set_transposed_pads(NodeBuilder& node, ir::ConvTranspose& op, std::span<const Dim> extents,
                         std::span<const Dim> kernel) {
  const std::string mode = padding_mode(node);
  const auto wanted = node.ints_attribute("output_shape");
  if (wanted) {
    if (wanted->size() < extents.size()) fail(ErrorKind::kShape, "output_shape is too short");
    const std::vector<Extent> spatial(wanted->end() - std::ssize(extents), wanted->end());
    pad_to_output(op, extents, kernel, spatial, mode != "SAME_UPPER");
  } else if (mode == "NOTSET") {
    set_pads(node, op.window);
  } else if (mode != "VALID") {
    std::vector<Extent> scaled;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      scaled.push_back(ir::extent_of(extents[i]) * op.window.strides[i]);
    }
    pad_to_output(op, extents, kernel, scaled, mode == "SAME_LOWER");
  }
}

void build_global_pool(NodeBuilder& node, ir::PoolKind kind) {
  const ir::Shape shape = node.input_type(0).shape;
  if (ir::has_expressions(shape) && shape.rank() > 2) {
    std::vector<std::size_t> axes = all_axes(shape.rank());
    axes.erase(axes.begin(), axes.begin() + 2);
    const bool is_max = kind == ir::PoolKind::kMax;
    const ir::ReduceKind reduction = is_max ? ir::ReduceKind::kMax : ir::ReduceKind::kMean;
    return node.set_output(0, emit_reduce(node, reduction, axes, true, node.input(0)));
  }
  const ValueId x = to_channels_last(node, node.input(0), "channels_last");
  const auto extents = ir::spatial_extents(node.type(x).shape);
  ir::Pool op{kind, {extents.begin(), extents.end()}, ir::plain_window(extents.size())};
  set_image(node, node.emit(std::move(op), {x}));
}

/// Spatial extents of the operands of a convolution.
struct ConvExtents {
  std::span<const Dim> image;
  std::span<const Dim> kernel;
};

/// @param x  [N, spatial.., C]
ConvExtents conv_extents(NodeBuilder& node, ValueId x, ValueId w) {
  const ConvExtents extents{ir::spatial_extents(node.type(x).shape),
                            ir::kernel_extents(node.type(w).shape)};
  if (extents.kernel.size() != extents.image.size()) {
    fail(ErrorKind::kShape, "weights " + node.type(w).shape.to_string() + " do not fit an input " +
                                node.type(x).shape.to_string() + ", both with channels last");
  }
  check_kernel_shape(node, extents.kernel);
  return extents;
}

/// Input 0 with channels last.
LayerInput image_input(NodeBuilder& node) {
  LayerInput image = layer_input(node, 0);
  image.x = to_channels_last(node, image.x, "channels_last");
  return image;
}

void build_conv(NodeBuilder& node) {
  const LayerInput x = image_input(node);
  const std::size_t rank = node.type(x.x).shape.rank();
  const auto codes = encoded_weight(node, 1, channels_last(rank));
  const ValueId w = codes ? *codes : to_channels_last(node, node.input(1), "weight");
  const auto [extents, kernel] = conv_extents(node, x.x, w);
  ir::Conv op{window_of(node, extents, kernel), node.int_attribute("group", 1), {}};
  op.arithmetic = arithmetic_of(x, codes);
  set_image(node, node.emit(std::move(op), with_bias(node, operand(node, x), w)));
}

/// The weights [C, O, kernel...] of a ConvTranspose of one group as codes [O, kernel..., C].
std::optional<ValueId> encoded_transposed_weights(NodeBuilder& node, std::size_t rank, Dim groups) {
  if (groups != 1) return std::nullopt;
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{1});
  order.back() = 0;
  return encoded_weight(node, 1, order);
}

void build_conv_transpose(NodeBuilder& node) {
  const LayerInput x = image_input(node);
  const Dim groups = node.int_attribute("group", 1);
  const auto codes = encoded_transposed_weights(node, node.type(x.x).shape.rank(), groups);
  const ValueId w = codes ? *codes : transposed_weights(node, node.input(1), groups);
  const auto [extents, kernel] = conv_extents(node, x.x, w);
  ir::ConvTranspose op{unpadded_window(node, extents.size()),
                       list(node, "output_padding", extents.size(), 0),
                       groups,
                       {}};
  op.arithmetic = arithmetic_of(x, codes);
  set_transposed_pads(node, op, extents, kernel);
  set_image(node, node.emit(std::move(op), with_bias(node, operand(node, x), w)));
}

/// Sets output 1 to the indices of maxima among all elements of the input, channels first.
void set_indices(NodeBuilder& node, const ir::Pool& pool, ValueId x) {
  const ir::Shape shape = node.type(x).shape;
  const bool by_column = node.int_attribute("storage_order", 0) != 0;
  if (ir::depends_on_batch(shape[0]) || (by_column && shape.rank() != 4)) {
    NodeBuilder::unsupported("indices of maxima in an input " + shape.to_string());
  }
  const auto whole = [&](Dim extent) {
    return extent_value(node, ir::extent_of(extent), "extent");
  };
  ValueId at = node.emit(ir::MaxPoolIndex{pool.kernel, pool.window, pool.round_up}, {x}, "indices");
  if (by_column) {
    const ValueId row = emit_binary(node, ir::BinaryKind::kDiv, at, whole(shape[2]));
    const ValueId col = emit_binary(node, ir::BinaryKind::kMod, at, whole(shape[2]));
    at = emit_binary(node, ir::BinaryKind::kAdd,
                     emit_binary(node, ir::BinaryKind::kMul, col, whole(shape[1])), row);
  }
  std::vector<Dim> dims(shape.rank(), 1);
  dims.front() = shape[0];
  dims.back() = shape.back();
  const Extent images = ir::extent_of(shape[0]) * ir::extent_of(shape.back());
  const ValueId image =
      node.reshape(counting(node, images, ir::ElementType::kInt64), ir::Shape(std::move(dims)));
  const ValueId elements = whole(open_product(ir::spatial_extents(shape)));
  at = emit_binary(node, ir::BinaryKind::kAdd, at,
                   emit_binary(node, ir::BinaryKind::kMul, image, elements));
  std::vector<std::size_t> order = all_axes(shape.rank());
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  node.set_output(1, emit_transpose(node, std::move(order), at));
}

void build_pool(NodeBuilder& node) {
  const bool is_max = node.op_type() == "MaxPool";
  const ValueId x = to_channels_last(node, node.input(0), "channels_last");
  const auto extents = ir::spatial_extents(node.type(x).shape);
  ir::Pool op;
  op.kind = is_max ? ir::PoolKind::kMax : ir::PoolKind::kAverage;
  op.kernel = list(node, "kernel_shape", extents.size(), 0);
  op.window = window_of(node, extents, op.kernel);
  op.count_padding = !is_max && node.int_attribute("count_include_pad", 0) != 0;
  op.round_up = node.int_attribute("ceil_mode", 0) != 0;
  if (is_max && node.has_output(1)) set_indices(node, op, x);
  set_image(node, node.emit(std::move(op), {x}));
}

void build_global_average_pool(NodeBuilder& node) {
  build_global_pool(node, ir::PoolKind::kAverage);
}

void build_global_max_pool(NodeBuilder& node) { build_global_pool(node, ir::PoolKind::kMax); }

constexpr ReaderEntry kConvolutionReaders[] = {
    {"", "Conv", build_conv},
    {"", "ConvTranspose", build_conv_transpose},
    {"", "AveragePool", build_pool},
    {"", "MaxPool", build_pool},
    {"", "GlobalAveragePool", build_global_average_pool},
    {"", "GlobalMaxPool", build_global_max_pool},
};

}  // namespace

std::span<const ReaderEntry> convolution_readers() { return kConvolutionReaders; }

}  // namespace halftone::formats::onnx
