// SPDX-License-Identifier: Apache-2.0
// Operators that resample images.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "halftone/formats/onnx/axis_order.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/real.h"

namespace halftone::formats::onnx {
namespace {

using ir::Extent;
using ir::Interpolation;
using ir::Node;
using ir::Real;
using ir::Resize;
using onnx_pb::NodeProto;

std::string_view coordinates_name(ir::Coordinates coordinates) {
  switch (coordinates) {
    case ir::Coordinates::kHalfPixel:
      return "half_pixel";
    case ir::Coordinates::kHalfPixelSymmetric:
      return "half_pixel_symmetric";
    case ir::Coordinates::kPytorchHalfPixel:
      return "pytorch_half_pixel";
    case ir::Coordinates::kAlignCorners:
      return "align_corners";
    case ir::Coordinates::kAsymmetric:
      return "asymmetric";
    case ir::Coordinates::kCropAndResize:
      return "tf_crop_and_resize";
    case ir::Coordinates::kHalfPixelForNearest:
      return "tf_half_pixel_for_nn";
  }
  return "unknown";
}

float quotient(const Resize& op, std::size_t extent) {
  return static_cast<float>(op.count) / static_cast<float>(extent);
}

/// Whether an extent is not known that determines the elements.
bool is_open(const Resize& op, const ir::Shape& x) {
  return ir::is_expression(x[op.axis]) || ir::is_expression(static_cast<ir::Dim>(op.count));
}

/// The form of the file, for all extents.
std::optional<Resize> open_form(const Resize& op) {
  if (op.multiplies) return std::nullopt;
  Resize form = op;
  if (op.coordinates != ir::Coordinates::kHalfPixelForNearest) return form;
  if (op.mode != Interpolation::kNearest || op.rounding != ir::NearestMode::kFloor) {
    return std::nullopt;
  }
  form.coordinates = ir::Coordinates::kHalfPixel;
  form.rounding = ir::NearestMode::kPreferCeil;
  return form;
}

/// The form of the file that reads the same elements with the same weights: with the scale that the
/// sizes imply, or with one that gives the size. Runtimes copy a value that keeps its extents.
std::optional<Resize> file_form(const Resize& op, std::size_t extent) {
  if (op.count == extent || op.count == 0) return std::nullopt;
  Resize form = op;
  form.multiplies = false;
  if (op.coordinates == ir::Coordinates::kHalfPixelForNearest) {
    if (op.mode != Interpolation::kNearest || op.rounding != ir::NearestMode::kFloor) {
      return std::nullopt;
    }
    form.coordinates = ir::Coordinates::kHalfPixel;  // floor(p) = round(p - 1/2)
    form.rounding = ir::NearestMode::kPreferCeil;
  }
  const bool gives_size =
      std::floor(op.scale * static_cast<float>(extent)) == static_cast<float>(op.count);
  for (const float scale : {quotient(op, extent), op.scale}) {
    form.scale = scale;
    const bool fits = scale == quotient(op, extent) || gives_size;
    if (fits && same_taps(op, form, extent)) return form;
  }
  return std::nullopt;
}

/// Whether runtimes interpolate this axis of a value of this rank.
bool runtimes_take(const Resize& op, std::size_t rank) {
  if (op.mode == Interpolation::kNearest) return true;
  if (op.mode == Interpolation::kCubic) return rank == 2 || (rank == 4 && op.axis >= 2);
  if (op.exclude_outside && !op.antialias) return false;
  return rank == 2 || rank == 3 || ((rank == 4 || rank == 5) && op.axis >= 2);
}

/// The sizes of an image [N, C, ..] after resizing: a constant, or computed from the batch.
std::string sizes_of(Exporter& exporter, const std::string& image, const ir::Shape& shape,
                     const std::string& output) {
  const auto dims = shape.dims();
  if (shape.is_static()) return exporter.add_integers("size", {dims.begin(), dims.end()});
  if (ir::has_expressions(shape)) return add_shape(exporter, output, shape);
  const auto next =
      [&](const char* role, std::string_view op_type,
          const std::vector<std::string>& inputs) -> std::pair<std::string, NodeProto*> {
    const std::string name = exporter.fresh(output + role);
    return {name, &exporter.add_node(op_type, inputs, name)};
  };
  const std::string extents = next("/extents", "Shape", {image}).first;
  const std::string batch =
      next("/batch", "Slice",
           {extents, exporter.add_integers("begin", {0}), exporter.add_integers("end", {1})})
          .first;
  const std::string rest = exporter.add_integers("size", {dims.begin() + 1, dims.end()});
  const auto [sizes, concat] = next("/sizes", "Concat", {batch, rest});
  set_attribute(*concat, "axis", std::int64_t{0});
  return sizes;
}

/// The scale of a Resize, which may depend on open extents. @pre it is not the quotient of these
Real scale_of(const Resize& op, const ir::Shape& x) {
  if (op.scale != ir::kScaleOfCount) return Real(op.scale);
  const auto scale =
      ir::scale_of_count(ir::extent_of(static_cast<ir::Dim>(op.count)), ir::extent_of(x[op.axis]));
  if (!scale) unsupported("a Resize by a scale that its extents do not show");
  return *scale;
}

/// Whether runtimes resize by the scale to the same size.
bool gives_size(const Resize& op, const ir::Shape& x) {
  const Extent size = (Real::of(ir::extent_of(x[op.axis])) * scale_of(op, x)).floor();
  return size == ir::extent_of(static_cast<ir::Dim>(op.count));
}

/// Scales for all axes, of which one depends on open extents.
std::string open_scales(Exporter& exporter, const Resize& op, const ir::Shape& x,
                        const std::string& output) {
  std::vector<std::string> scales(x.rank(), add_real(exporter, Real(1).bits()));
  scales[op.axis] = add_real(exporter, scale_of(op, x).bits());
  if (x.rank() == 1) return scales[0];
  std::string all = exporter.fresh(output + "/scales");
  set_attribute(exporter.add_node("Concat", scales, all), "axis", std::int64_t{0});
  return all;
}

/// The inputs behind the value: the part of it to sample, and sizes if they imply the scale,
/// otherwise the scales. Runtimes expect them for all axes.
/// @param name  of the value
std::vector<std::string> resize_inputs(Exporter& exporter, const Resize& op,
                                       const std::string& name, ir::Shape shape,
                                       const std::string& output) {
  const std::size_t axis = op.axis;
  std::vector<std::string> inputs{name, ""};
  const auto rank = static_cast<ir::Dim>(shape.rank());
  if (op.coordinates == ir::Coordinates::kCropAndResize) {
    std::vector<float> region(shape.rank(), 0.0F);
    region.resize(2 * shape.rank(), 1.0F);
    region[axis] = op.begin;
    region[shape.rank() + axis] = op.end;
    inputs[1] = exporter.add_initializer(
        output + "/roi", encode_tensor(ir::Tensor::from<float>({2 * rank}, std::span(region))));
  }
  const bool is_quotient = is_open(op, shape)
                               ? op.scale == 0
                               : op.scale == quotient(op, static_cast<std::size_t>(shape[axis]));
  if (is_quotient) {
    shape[axis] = static_cast<ir::Dim>(op.count);
    inputs.emplace_back();
    inputs.push_back(sizes_of(exporter, name, shape, output));
    return inputs;
  }
  if (op.scale == ir::kScaleOfCount) {
    inputs.push_back(open_scales(exporter, op, shape, output));
    return inputs;
  }
  std::vector<float> scales(shape.rank(), 1.0F);
  scales[axis] = op.scale;
  inputs.push_back(exporter.add_initializer(
      output + "/scale", encode_tensor(ir::Tensor::from<float>({rank}, std::span(scales)))));
  return inputs;
}

/// Adds a Resize of a named value.
/// @param op  a file_form()
void add_resize(Exporter& exporter, const Resize& op, const std::string& name,
                const ir::Shape& shape, const std::string& result) {
  static constexpr std::string_view kRounding[] = {"round_prefer_floor", "round_prefer_ceil",
                                                   "floor", "ceil"};
  if (op.coordinates == ir::Coordinates::kHalfPixelSymmetric) exporter.require_opset(19);
  if (op.antialias) exporter.require_opset(18);
  const auto inputs = resize_inputs(exporter, op, name, shape, result);
  NodeProto& proto = exporter.add_node("Resize", inputs, result);
  const bool excludes = op.exclude_outside && op.mode != Interpolation::kNearest;
  set_attribute(proto, "mode", to_string(op.mode));
  set_attribute(proto, "coordinate_transformation_mode", coordinates_name(op.coordinates));
  set_attribute(proto, "nearest_mode", kRounding[static_cast<std::size_t>(op.rounding)]);
  set_attribute(proto, "cubic_coeff_a", op.cubic);
  set_attribute(proto, "exclude_outside", std::int64_t{excludes ? 1 : 0});
  set_attribute(proto, "extrapolation_value", op.extrapolation);
  if (op.antialias) set_attribute(proto, "antialias", std::int64_t{1});
}

/// Adds a Transpose and returns the name of its output.
std::string with_axes_moved(Exporter& exporter, const std::string& x,
                            const std::vector<std::size_t>& order, const std::string& wanted) {
  std::string result = exporter.fresh(wanted);
  set_attribute(exporter.add_node("Transpose", {x}, result), "perm",
                std::vector<std::int64_t>(order.begin(), order.end()));
  return result;
}

/// Adds the sums of a Resize as a product with a matrix, from the left along the last axis but one.
void add_matrix_product(Exporter& exporter, const Resize& op, const std::string& x,
                        const ir::Shape& shape, const std::string& output) {
  const std::size_t rank = shape.rank();
  auto [matrix, rest] = ir::resize_matrix(op, static_cast<std::size_t>(shape[op.axis]));
  std::vector<std::size_t> order = std::vector<std::size_t>(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (rank > 1) std::swap(order[op.axis], order[rank - 2]);
  const bool moves = rank > 1 && op.axis != rank - 2;
  const bool adds = std::ranges::any_of(rest.as<float>(), [](float r) { return r != 0; });
  if (rank == 1) rest = rest.reshaped({static_cast<ir::Dim>(op.count)});
  const std::string weights = exporter.add_initializer(output + "/weights", encode_tensor(matrix));
  const std::string from = moves ? with_axes_moved(exporter, x, order, output + "/moved") : x;
  const std::string product = moves || adds ? exporter.fresh(output + "/product") : output;
  exporter.add_node("MatMul", {weights, from}, product);
  std::string sums = product;
  if (adds) {
    const std::string more = exporter.add_initializer(output + "/outside", encode_tensor(rest));
    sums = moves ? exporter.fresh(output + "/sums") : output;
    exporter.add_node("Add", {product, more}, sums);
  }
  if (!moves) return;
  set_attribute(exporter.add_node("Transpose", {sums}, output), "perm",
                std::vector<std::int64_t>(order.begin(), order.end()));
}

/// Adds a Resize that no Resize of the file equals: a choice of elements, or sums.
void add_taps(Exporter& exporter, const Resize& op, const std::string& x, const ir::Shape& shape,
              const std::string& output) {
  const ir::ResizeTaps taps = resize_taps(op, static_cast<std::size_t>(shape[op.axis]));
  const bool is_inside = std::ranges::all_of(taps.outside, [](auto out) { return out == 0; });
  if (op.mode != Interpolation::kNearest || !is_inside) {
    return add_matrix_product(exporter, op, x, shape, output);
  }
  const std::string indices =
      exporter.add_integers("indices", {taps.indices.begin(), taps.indices.end()});
  set_attribute(exporter.add_node("Gather", {x, indices}, output), "axis",
                static_cast<std::int64_t>(op.axis));
}

/// Adds a Resize of an image with channels last, which is turned to where runtimes interpolate.
/// @param moved  along an axis of the image with channels first
void add_turned(Exporter& exporter, const Resize& moved, const std::string& x,
                const ir::Shape& shape, const std::string& output) {
  const std::vector<std::size_t> order = channels_first(shape.rank());
  std::vector<ir::Dim> dims;
  for (const std::size_t axis : order) dims.push_back(shape[axis]);
  const std::string image = with_axes_moved(exporter, x, order, output + "/image");
  const std::string resized = exporter.fresh(output + "/resized");
  add_resize(exporter, moved, image, ir::Shape(dims), resized);
  const std::vector<std::size_t> back = channels_last(shape.rank());
  set_attribute(exporter.add_node("Transpose", {resized}, output), "perm",
                std::vector<std::int64_t>(back.begin(), back.end()));
}

/// Axis 1 of an image is turned to where runtimes interpolate.
void export_operator(Exporter& exporter, const Node& node, const Resize& op) {
  const std::string& output = exporter.name(node.output);
  const std::string x = exporter.read(node.inputs[0]);
  const ir::Shape& shape = exporter.type(node.inputs[0]).shape;
  const std::size_t rank = shape.rank();
  if (is_open(op, shape)) {
    const auto form = op.scale == 0 || gives_size(op, shape) ? open_form(op) : std::nullopt;
    if (form && runtimes_take(*form, rank)) return add_resize(exporter, *form, x, shape, output);
    if (form && op.axis >= 1 && op.axis + 1 < rank) {
      Resize moved = *form;
      moved.axis = op.axis + 1;
      if (runtimes_take(moved, rank)) return add_turned(exporter, moved, x, shape, output);
    }
    unsupported("a Resize of " + shape.to_string() + " along axis " + std::to_string(op.axis));
  }
  const auto form = file_form(op, static_cast<std::size_t>(shape[op.axis]));
  if (form && runtimes_take(*form, rank)) return add_resize(exporter, *form, x, shape, output);
  if (!form || op.axis != 1 || rank < 4) return add_taps(exporter, op, x, shape, output);
  Resize moved = *form;
  moved.axis = 2;
  if (!runtimes_take(moved, rank)) return add_taps(exporter, op, x, shape, output);
  add_turned(exporter, moved, x, shape, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::GridSample& op) {
  static constexpr std::string_view kAround[] = {"zeros", "border", "reflection"};
  exporter.require_opset(20);
  const std::string& output = exporter.name(node.output);
  const std::string image = exporter.fresh(output + "/image");
  const std::string sampled = exporter.fresh(output + "/sampled");
  set_attribute(exporter.add_node("Transpose", {exporter.read(node.inputs[0])}, image), "perm",
                std::vector<std::int64_t>{0, 3, 1, 2});
  NodeProto& proto =
      exporter.add_node("GridSample", {image, exporter.read(node.inputs[1])}, sampled);
  set_attribute(proto, "mode", to_string(op.mode));
  set_attribute(proto, "padding_mode", kAround[static_cast<std::size_t>(op.surroundings)]);
  set_attribute(proto, "align_corners", std::int64_t{op.align_corners ? 1 : 0});
  set_attribute(exporter.add_node("Transpose", {sampled}, output), "perm",
                std::vector<std::int64_t>{0, 2, 3, 1});
}

constexpr WriterEntry kResampleWriters[] = {
    node_writer_entry<Exporter, Resize, export_operator>(),
    node_writer_entry<Exporter, ir::GridSample, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> resample_writers() { return kResampleWriters; }

}  // namespace halftone::formats::onnx
