// SPDX-License-Identifier: Apache-2.0
// Elements of images at positions that other values tell: grids, volumes and deformed windows.
// Interpolation between elements is decomposed into gathers, weights and sums.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/window.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// The element nearest to a position on one axis, or one of two neighbours.
struct Neighbour {
  ValueId index;   ///< int64, may lie outside
  ValueId weight;  ///< absent for 1
};

Neighbour nearest(NodeBuilder& node, ValueId position) {
  return {emit_cast(node, ElementType::kInt64, emit_unary(node, ActivationKind::kRound, position)),
          ir::kAbsent};
}

/// The lower and the upper neighbour of a position, with their weights.
std::vector<Neighbour> neighbours(NodeBuilder& node, ValueId position) {
  const ValueId floor = emit_unary(node, ActivationKind::kFloor, position);
  const ValueId upper = emit_binary(node, BinaryKind::kSub, position, floor);
  const ValueId lower = emit_binary(node, BinaryKind::kSub, node.add_scalar(1.0F), upper);
  const ValueId index = emit_cast(node, ElementType::kInt64, floor);
  return {{index, lower},
          {emit_binary(node, BinaryKind::kAdd, index, extent_value(node, 1)), upper}};
}

/// The product of two values, of which one may be absent for 1.
ValueId times_of(NodeBuilder& node, ValueId a, ValueId b) {
  if (a == ir::kAbsent || b == ir::kAbsent) return a == ir::kAbsent ? b : a;
  return emit_binary(node, BinaryKind::kMul, a, b);
}

/// The elements of images [N, elements, C] at one neighbour for each axis, [N, P, C], times their
/// weights; 0 outside.
/// @param corner  neighbours [N, P] by axis
ValueId corner_values(NodeBuilder& node, ValueId image, std::span<const Dim> extents,
                      const std::vector<Neighbour>& corner) {
  ValueId at = ir::kAbsent;
  ValueId inside = ir::kAbsent;
  ValueId weight = ir::kAbsent;
  const ValueId zero = extent_value(node, 0);
  for (std::size_t axis = 0; axis < corner.size(); ++axis) {
    const Extent extent = ir::extent_of(extents[axis]);
    const ValueId last = extent_value(node, extent - 1);
    const ValueId clamped =
        emit_binary(node, BinaryKind::kMin,
                    emit_binary(node, BinaryKind::kMax, corner[axis].index, zero), last);
    const ValueId fits = emit_binary(node, BinaryKind::kEqual, clamped, corner[axis].index);
    inside = axis == 0 ? fits : emit_binary(node, BinaryKind::kAnd, inside, fits);
    weight = times_of(node, weight, corner[axis].weight);
    if (axis > 0) at = emit_binary(node, BinaryKind::kMul, at, extent_value(node, extent));
    at = axis == 0 ? clamped : emit_binary(node, BinaryKind::kAdd, at, clamped);
  }
  const ValueId one = weight == ir::kAbsent ? node.add_scalar(1.0F) : weight;
  const ValueId share = emit_where(node, inside, one, node.add_scalar(0.0F));
  const std::size_t last_axis = node.type(at).shape.rank();
  const ValueId values = node.emit(ir::GatherND{1}, {image, unsqueezed(node, at, last_axis)});
  return times_of(node, values, unsqueezed(node, share, last_axis));
}

/// Images [N, spatial.., C] at positions in elements, [N, P] for each spatial axis, as [N, P, C]; 0
/// outside.
ValueId sampled(NodeBuilder& node, ValueId image, const std::vector<ValueId>& positions,
                bool interpolates) {
  const ir::Shape shape = node.type(image).shape;
  const auto extents = shape.dims().subspan(1, positions.size());
  const ValueId flat = node.reshape(image, {shape[0], open_product(extents), shape.back()});
  std::vector<std::vector<Neighbour>> choices;
  for (const ValueId position : positions) {
    choices.push_back(interpolates ? neighbours(node, position)
                                   : std::vector<Neighbour>{nearest(node, position)});
  }
  ValueId sum = ir::kAbsent;
  const std::size_t corners = interpolates ? std::size_t{1} << positions.size() : 1;
  for (std::size_t c = 0; c < corners; ++c) {
    std::vector<Neighbour> corner;
    for (std::size_t axis = 0; axis < positions.size(); ++axis) {
      corner.push_back(choices[axis][c >> axis & 1]);
    }
    const ValueId values = corner_values(node, flat, extents, corner);
    sum = c == 0 ? values : emit_binary(node, BinaryKind::kAdd, sum, values);
  }
  return sum;
}

/// The position in elements, of which an axis has n, of one between -1 and 1.
ValueId position_in(NodeBuilder& node, const ir::GridSample& op, ValueId p, const Extent& n) {
  const ValueId last = extent_real(node, n - 1, "last");
  const ValueId width = op.align_corners ? last : extent_real(node, n, "width");
  p = emit_binary(node, BinaryKind::kAdd, p, node.add_scalar(1.0F));
  p = emit_binary(node, BinaryKind::kMul, p,
                  emit_binary(node, BinaryKind::kMul, width, node.add_scalar(0.5F)));
  if (!op.align_corners) p = emit_binary(node, BinaryKind::kSub, p, node.add_scalar(0.5F));
  if (op.surroundings != ir::Surroundings::kEdge) return p;
  const ValueId above = emit_binary(node, BinaryKind::kMax, p, node.add_scalar(0.0F));
  return emit_binary(node, BinaryKind::kMin, above, last);
}

/// Image [N, C, D, H, W] at a grid [N, d, h, w, 3] of columns, rows and planes between -1 and 1.
void build_volume_sample(NodeBuilder& node, const ir::GridSample& op) {
  const ValueId grid = node.input(1);
  const ir::Shape wanted = node.type(grid).shape;
  if (op.mode == ir::Interpolation::kCubic || op.surroundings == ir::Surroundings::kReflection) {
    NodeBuilder::unsupported("volumes with cubic interpolation or reflection");
  }
  const ir::Shape shape = node.input_type(0).shape;
  if (wanted.rank() != 5 || wanted[4] != 3) {
    fail(ErrorKind::kShape, "expected a grid [N, d, h, w, 3], found " + wanted.to_string());
  }
  const Dim count = open_product(wanted.dims().subspan(1, 3));
  std::vector<ValueId> positions;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const ir::Slice slice{4, 2 - axis, 1, 1};
    const ValueId p = node.reshape(node.emit(slice, {grid}), {wanted[0], count});
    positions.push_back(position_in(node, op, p, ir::extent_of(shape[axis + 2])));
  }
  const ValueId image = emit_transpose(node, {0, 2, 3, 4, 1}, node.input(0));
  const ValueId values = sampled(node, image, positions, op.mode == ir::Interpolation::kLinear);
  const ValueId moved = emit_transpose(node, {0, 2, 1}, values);
  node.set_output(0, node.reshape(moved, {wanted[0], shape[1], wanted[1], wanted[2], wanted[3]}));
}

ir::GridSample grid_sample_of(NodeBuilder& node) {
  ir::GridSample op;
  const std::string mode = node.choice_attribute(
      "mode", "linear", {"linear", "bilinear", "nearest", "cubic", "bicubic"});
  op.mode = mode == "nearest"          ? ir::Interpolation::kNearest
            : mode.ends_with("linear") ? ir::Interpolation::kLinear
                                       : ir::Interpolation::kCubic;
  const std::string around =
      node.choice_attribute("padding_mode", "zeros", {"zeros", "border", "reflection"});
  op.surroundings = around == "zeros"    ? ir::Surroundings::kZeros
                    : around == "border" ? ir::Surroundings::kEdge
                                         : ir::Surroundings::kReflection;
  op.align_corners = node.int_attribute("align_corners", 0) != 0;
  return op;
}

void build_grid_sample(NodeBuilder& node) {
  const ir::GridSample op = grid_sample_of(node);
  const std::size_t rank = node.input_type(0).shape.rank();
  if (rank == 5) return build_volume_sample(node, op);
  if (rank != 4) NodeBuilder::unsupported("expected images of rank 4 or 5");
  const ValueId image = emit_transpose(node, {0, 2, 3, 1}, node.input(0));
  const ValueId values = node.emit(op, {image, node.input(1)});
  node.set_output(0, emit_transpose(node, {0, 3, 1, 2}, values));
}

/// The position of element i of n between -1 and 1.
double normalized(Dim i, Dim n, bool align_corners) {
  const auto at = static_cast<double>(i);
  const auto extent = static_cast<double>(n);
  if (align_corners) return n == 1 ? -1 : 2 * at / (extent - 1) - 1;
  return (2 * at + 1) / extent - 1;
}

/// The positions [elements, axes + 1] of an image's elements, with a last column of ones; columns
/// before rows before planes.
ir::Tensor homogeneous_grid(NodeBuilder& node, std::span<const Dim> extents, bool align_corners) {
  const auto count = static_cast<Dim>(ir::count_of(extents));
  const std::size_t width = extents.size() + 1;
  ir::Tensor grid = node.allocate(ElementType::kFloat32, {count, static_cast<Dim>(width)});
  const auto values = grid.as<float>();
  std::ranges::fill(values, 1.0F);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    auto rest = static_cast<Dim>(i);
    for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis]) {
      values[i * width + extents.size() - 1 - axis] =
          static_cast<float>(normalized(rest % extents[axis], extents[axis], align_corners));
    }
  }
  return grid;
}

/// The same of open extents.
ValueId open_grid(NodeBuilder& node, std::span<const Dim> extents, bool align_corners) {
  const Dim count = open_product(extents);
  const ir::Shape all(std::vector<Dim>(extents.begin(), extents.end()));
  std::vector<ValueId> columns;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const Extent n = ir::extent_of(extents[axis]);
    const ValueId at = counting_along(node, axis, extents.size(), n, ElementType::kFloat32);
    const ValueId twice = emit_binary(node, BinaryKind::kMul, at, node.add_scalar(2.0F));
    const ValueId edge =
        align_corners ? twice : emit_binary(node, BinaryKind::kAdd, twice, node.add_scalar(1.0F));
    const Extent steps = align_corners ? Extent::greatest(1, n - 1) : n;
    const ValueId share =
        emit_binary(node, BinaryKind::kDiv, edge, extent_real(node, steps, "steps"));
    const ValueId p = emit_binary(node, BinaryKind::kSub, share, node.add_scalar(1.0F));
    columns.push_back(node.reshape(node.emit(ir::BroadcastTo{all}, {p}), {count, 1}));
  }
  columns.push_back(node.emit(ir::BroadcastTo{{count, 1}}, {node.add_scalar(1.0F)}));
  return node.emit(ir::Concat{1}, std::move(columns));
}

/// The positions that affine maps [N, axes, axes + 1] give the elements of images.
void build_affine_grid(NodeBuilder& node) {
  const auto stated = node.integers(1);
  const ValueId theta = node.input(0);
  const ir::Shape shape = node.type(theta).shape;
  std::vector<Dim> extents;
  for (std::size_t i = 2; stated && i < stated->values.size(); ++i) {
    extents.push_back(checked_dim(stated->values[i]));
  }
  if (!stated) node.refuse_input(1, "expected a size that follows from extents");
  const auto axes = static_cast<Dim>(extents.size());
  const bool fits =
      shape.rank() == 3 && (axes == 2 || axes == 3) && shape[1] == axes && shape[2] == axes + 1 &&
      std::ranges::all_of(extents, [](Dim n) { return n >= 1 || ir::is_expression(n); });
  if (!fits) {
    fail(ErrorKind::kShape,
         "expected maps [N, 2, 3] or [N, 3, 4] and a known size [N, C, extents..], found " +
             shape.to_string());
  }
  const bool align_corners = node.int_attribute("align_corners", 0) != 0;
  const ValueId grid = std::ranges::any_of(extents, ir::is_expression)
                           ? open_grid(node, extents, align_corners)
                           : node.add_constant(homogeneous_grid(node, extents, align_corners));
  const ValueId moved = node.emit(ir::MatMul{false, true}, {grid, theta});  // [N, elements, axes]
  std::vector<Dim> dims = {shape[0]};
  dims.insert(dims.end(), extents.begin(), extents.end());
  dims.push_back(axes);
  node.set_output(0, node.reshape(moved, ir::Shape(std::move(dims))));
}

/// A window whose taps are moved by offsets.
struct DeformedWindow {
  ir::Window window;
  std::vector<Dim> kernel;
  std::vector<Dim> counts;
  Dim groups;  ///< of channels, with offsets of their own
  [[nodiscard]] Dim taps() const { return static_cast<Dim>(ir::count_of(kernel)); }
  [[nodiscard]] Dim positions() const { return open_product(counts); }
  [[nodiscard]] bool is_open() const { return std::ranges::any_of(counts, ir::is_expression); }
};

DeformedWindow deformed_window(NodeBuilder& node) {
  const ir::Shape x = node.input_type(0).shape;
  const ir::Shape w = node.input_type(1).shape;
  const ir::Shape offset = node.input_type(2).shape;
  if (x.rank() != 4 || w.rank() != 4 || offset.rank() != 4 || x[1] < 1) {
    NodeBuilder::unsupported("expected images, weights and offsets of four axes");
  }
  DeformedWindow d;
  d.kernel.assign(w.dims().begin() + 2, w.dims().end());
  check_kernel_shape(node, d.kernel);
  const auto extents = x.dims().subspan(2);
  d.window = window_of(node, extents, d.kernel);
  d.counts = ir::window_counts(d.window, extents, d.kernel);
  d.groups = node.int_attribute("offset_group", 1);
  if (std::ranges::any_of(d.window.pads_before, ir::is_expression)) {
    NodeBuilder::unsupported("padding that follows open extents");
  }
  const bool fits = d.groups >= 1 && x[1] % d.groups == 0 && ir::may_be_equal(offset[0], x[0]) &&
                    offset[1] == d.groups * d.taps() * 2 &&
                    ir::may_be_equal(offset[2], d.counts[0]) &&
                    ir::may_be_equal(offset[3], d.counts[1]);
  if (!fits) fail(ErrorKind::kShape, "offsets " + offset.to_string() + " do not fit the window");
  return d;
}

/// The positions [taps, positions] of a window's taps along an axis without offsets.
ir::Tensor tap_positions(NodeBuilder& node, const DeformedWindow& d, std::size_t axis) {
  ir::Tensor table = node.allocate(ElementType::kFloat32, {d.taps(), d.positions()});
  const auto values = table.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto tap = static_cast<Dim>(i) / d.positions();
    const auto at = static_cast<Dim>(i) % d.positions();
    const Dim k = axis == 0 ? tap / d.kernel[1] : tap % d.kernel[1];
    const Dim p = axis == 0 ? at / d.counts[1] : at % d.counts[1];
    values[i] = static_cast<float>(p * d.window.strides[axis] + k * d.window.dilations[axis] -
                                   d.window.pads_before[axis]);
  }
  return table;
}

/// The same of open extents.
ValueId open_tap_positions(NodeBuilder& node, const DeformedWindow& d, std::size_t axis) {
  const ValueId at =
      counting_along(node, 2 + axis, 4, ir::extent_of(d.counts[axis]), ElementType::kFloat32);
  std::vector<float> first;
  for (Dim k = 0; k < d.kernel[axis]; ++k) {
    first.push_back(static_cast<float>(k * d.window.dilations[axis] - d.window.pads_before[axis]));
  }
  const ir::Shape along =
      axis == 0 ? ir::Shape{d.kernel[0], 1, 1, 1} : ir::Shape{1, d.kernel[1], 1, 1};
  const ValueId stride = node.add_scalar(static_cast<float>(d.window.strides[axis]));
  const ValueId moved = emit_binary(node, BinaryKind::kMul, at, stride);
  const ValueId sum = emit_binary(node, BinaryKind::kAdd, moved,
                                  node.add_constant(ir::Tensor::from<float>(along, first)));
  const ir::BroadcastTo all{{d.kernel[0], d.kernel[1], d.counts[0], d.counts[1]}};
  return node.reshape(node.emit(all, {sum}), {d.taps(), d.positions()});
}

/// The columns [N, channels of a group, taps positions] of a deformed window.
ValueId deformed_columns(NodeBuilder& node, const DeformedWindow& d, Dim group) {
  const ir::Shape x = node.input_type(0).shape;
  const Dim channels = x[1] / d.groups;
  const Dim elements = checked_dim(ir::extent_of(d.positions()) * d.taps());
  const auto part = [&](ValueId value, Dim begin, Dim count) {
    return node.emit(
        ir::Slice{1, static_cast<std::size_t>(begin), 1, static_cast<std::size_t>(count)}, {value});
  };
  const ValueId offsets = node.reshape(part(node.input(2), group * d.taps() * 2, d.taps() * 2),
                                       {x[0], d.taps(), 2, d.positions()});
  std::vector<ValueId> positions;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const ValueId moved = node.reshape(node.emit(ir::Slice{2, axis, 1, 1}, {offsets}),
                                       {x[0], d.taps(), d.positions()});
    const ValueId plain = d.is_open() ? open_tap_positions(node, d, axis)
                                      : node.add_constant(tap_positions(node, d, axis));
    positions.push_back(
        node.reshape(emit_binary(node, BinaryKind::kAdd, moved, plain), {x[0], elements}));
  }
  const ValueId image =
      emit_transpose(node, {0, 2, 3, 1}, part(node.input(0), group * channels, channels));
  ValueId values = sampled(node, image, positions, true);
  if (node.has_input(4)) {
    const ValueId mask = part(node.input(4), group * d.taps(), d.taps());
    values = times_of(node, values, node.reshape(mask, {x[0], elements, 1}));
  }
  return emit_transpose(node, {0, 2, 1}, values);
}

/// A convolution of which each tap reads the image at a position of its own: a product of the
/// weights with the sampled columns.
void build_deform_conv(NodeBuilder& node) {
  const DeformedWindow d = deformed_window(node);
  const ir::Shape x = node.input_type(0).shape;
  const ir::Shape w = node.input_type(1).shape;
  std::vector<ValueId> columns;
  for (Dim group = 0; group < d.groups; ++group) {
    columns.push_back(deformed_columns(node, d, group));
  }
  const ValueId all = columns.size() == 1 ? columns[0] : node.emit(ir::Concat{1}, columns);
  const ValueId image = node.reshape(all, {x[0], x[1] * d.taps(), d.counts[0], d.counts[1]});
  const ValueId weight = node.reshape(node.input(1), {w[0], w[1] * d.taps(), 1, 1});
  std::vector<ValueId> inputs = {to_channels_last(node, image, "channels_last"),
                                 to_channels_last(node, weight, "weight")};
  if (node.has_input(3)) inputs.push_back(node.input(3));
  set_image(node, node.emit(ir::Conv{ir::plain_window(2), node.int_attribute("group", 1), {}},
                            std::move(inputs)));
}

constexpr ReaderEntry kGridReaders[] = {
    {"", "GridSample", build_grid_sample},
    {"", "AffineGrid", build_affine_grid},
    {"", "DeformConv", build_deform_conv},
};

}  // namespace

std::span<const ReaderEntry> grid_readers() { return kGridReaders; }

}  // namespace halftone::formats::onnx
