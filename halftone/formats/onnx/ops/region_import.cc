// SPDX-License-Identifier: Apache-2.0
// Pooling of regions, unpooling, determinants.
#include <numeric>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/window.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::ValueId;

void build_roi_align(NodeBuilder& node) {
  ir::RoiAlign op;
  op.height = node.int_attribute("output_height", 1);
  op.width = node.int_attribute("output_width", 1);
  op.samples = node.int_attribute("sampling_ratio", 0);
  op.scale = node.float_attribute("spatial_scale", 1);
  op.largest = node.choice_attribute("mode", "avg", {"avg", "max"}) == "max";
  // Operator set 16 introduced the attribute; before, positions were not moved.
  const std::string moved = node.choice_attribute(
      "coordinate_transformation_mode", node.opset() < 16 ? "output_half_pixel" : "half_pixel",
      {"half_pixel", "output_half_pixel"});
  op.half_pixel = moved == "half_pixel";
  const ValueId x = to_channels_last(node, node.input(0), "channels_last");
  set_image(node, node.emit(op, {x, node.input(1), node.input(2)}));
}

void build_max_roi_pool(NodeBuilder& node) {
  const auto shape = node.ints_attribute("pooled_shape");
  if (!shape || shape->size() != 2) fail(ErrorKind::kFormat, "expected two numbers pooled_shape");
  const ir::MaxRoiPool op{(*shape)[0], (*shape)[1], node.float_attribute("spatial_scale", 1)};
  const ValueId rois = node.input(1);
  const ir::Shape found = node.type(rois).shape;
  if (found.rank() != 2 || found[1] != 5) {
    fail(ErrorKind::kShape, "expected regions [R, 5], found " + found.to_string());
  }
  const ValueId image = squeezed(node, node.emit(ir::Slice{1, 0, 1, 1}, {rois}, "image"), 1);
  const ValueId corners = node.emit(ir::Slice{1, 1, 1, 4}, {rois}, "corners");
  const ValueId x = to_channels_last(node, node.input(0), "channels_last");
  set_image(node, node.emit(op, {x, corners, emit_cast(node, ElementType::kInt64, image)}));
}

/// The extents of MaxUnpool's output without its third input.
std::vector<Dim> unpooled_extents(NodeBuilder& node, const ir::Shape& x) {
  const ir::Window window = stated_window(node);
  const std::vector<std::int64_t> kernel = *node.ints_attribute("kernel_shape");
  if (x.rank() != kernel.size() + 2) {
    fail(ErrorKind::kShape, "kernel_shape does not fit an input " + x.to_string());
  }
  std::vector<Dim> dims = {x[0], x[1]};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Extent steps = ir::extent_of(x[i + 2]) - 1;
    dims.push_back(ir::dim_of(steps * window.strides[i] + kernel[i] - window.pads_before[i] -
                              window.pads_after[i]));
  }
  return dims;
}

/// Puts each element at the index, among all elements of the output, that a MaxPool gave it.
void build_max_unpool(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const ir::Shape y(unpooled_extents(node, shape));
  if (ir::depends_on_batch(shape[0])) {
    NodeBuilder::unsupported("expected known images, found " + shape.to_string());
  }
  const Dim count = open_product(shape.dims());
  const ValueId zero = node.add_scalar(0.0F);
  const ValueId zeros = node.emit(ir::BroadcastTo{{open_product(y.dims())}}, {zero}, "zeros");
  const ValueId flat = node.emit(
      ir::ScatterElements{0},
      {zeros, node.reshape(node.input(1), {count}), node.reshape(x, {count})}, "scattered");
  ValueId result = node.reshape(flat, y);
  if (node.has_input(2)) {
    const auto wanted = node.extents(2);
    ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(y.rank(), 0), {}};
    for (std::size_t i = 0; i < y.rank(); ++i) {
      const bool has_all = wanted && wanted->values.size() == y.rank();
      const Extent more = has_all ? wanted->values[i] - ir::extent_of(y[i]) : Extent(-1);
      if (more.is_number() && *more.number() < 0) {
        fail(ErrorKind::kShape, "output_shape does not fit an output " + y.to_string());
      }
      pad.after.push_back(static_cast<std::size_t>(checked_dim(more)));
    }
    result = node.emit(std::move(pad), {result});
  }
  node.set_output(0, result);
}

void build_det(NodeBuilder& node) {
  node.set_output(0, node.emit(ir::Determinant{}, {node.input(0)}));
}

constexpr ReaderEntry kRegionReaders[] = {
    {"", "RoiAlign", build_roi_align},
    {"", "MaxRoiPool", build_max_roi_pool},
    {"", "MaxUnpool", build_max_unpool},
    {"", "Det", build_det},
};

}  // namespace

std::span<const ReaderEntry> region_readers() { return kRegionReaders; }

}  // namespace halftone::formats::onnx
