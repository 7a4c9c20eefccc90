// SPDX-License-Identifier: Apache-2.0
// Resizing of images.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/ir/real.h"

namespace halftone::formats::onnx {
namespace {

using ir::Coordinates;
using ir::Interpolation;
using ir::Real;
using ir::ValueId;

/// The resizing of one axis.
struct AxisRequest {
  std::size_t axis = 0;
  std::optional<Real> scale{};  ///< nothing: the quotient of the extents, once these are known
  Extent count{};
  std::optional<ir::NearestMode> rounding = std::nullopt;  ///< else the operator's
};

template <typename Value, std::size_t kCount>
Value named(const NodeBuilder& node, const char* attribute, const std::string& otherwise,
            const std::pair<std::string_view, Value> (&names)[kCount]) {
  const std::string found = node.string_attribute(attribute, otherwise);
  const auto* entry = std::ranges::find_if(names, [&](const auto& n) { return n.first == found; });
  if (entry == std::end(names)) {
    NodeBuilder::unsupported(std::string(attribute) + " '" + found + "'");
  }
  return entry->second;
}

Interpolation mode_of(const NodeBuilder& node) {
  static constexpr std::pair<std::string_view, Interpolation> kNames[] = {
      {"nearest", Interpolation::kNearest}, {"linear", Interpolation::kLinear},
      {"bilinear", Interpolation::kLinear}, {"trilinear", Interpolation::kLinear},
      {"cubic", Interpolation::kCubic},     {"bicubic", Interpolation::kCubic}};
  return named(node, "mode", "nearest", kNames);
}

Coordinates coordinates_of(const NodeBuilder& node) {
  static constexpr std::pair<std::string_view, Coordinates> kNames[] = {
      {"half_pixel", Coordinates::kHalfPixel},
      {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
      {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
      {"align_corners", Coordinates::kAlignCorners},
      {"asymmetric", Coordinates::kAsymmetric},
      {"tf_half_pixel_for_nn", Coordinates::kHalfPixelForNearest},
      {"tf_crop_and_resize", Coordinates::kCropAndResize}};
  return named(node, "coordinate_transformation_mode", "half_pixel", kNames);
}

ir::NearestMode rounding_of(const NodeBuilder& node) {
  static constexpr std::pair<std::string_view, ir::NearestMode> kNames[] = {
      {"round_prefer_floor", ir::NearestMode::kPreferFloor},
      {"round_prefer_ceil", ir::NearestMode::kPreferCeil},
      {"floor", ir::NearestMode::kFloor},
      {"ceil", ir::NearestMode::kCeil}};
  return named(node, "nearest_mode", "round_prefer_floor", kNames);
}

/// The values of an input; empty if it is absent or has none.
std::vector<float> numbers_if_any(NodeBuilder& node, std::size_t i) {
  if (!node.has_input(i)) return {};
  if (const auto known = node.integers(i)) {
    if (const auto numbers = known->numbers()) return {numbers->begin(), numbers->end()};
  }
  return node.float_input(i);
}

std::vector<Real> reals_of(const std::vector<float>& numbers) {
  std::vector<Real> reals;
  for (const float number : numbers) reals.emplace_back(number);
  return reals;
}

/// The scales of an input, which may depend on open extents; empty as above.
std::vector<Real> scales_if_any(NodeBuilder& node, std::size_t i) {
  const auto* open = node.input_as<Integers>(i);
  if (open == nullptr || !open->is_float()) return reals_of(numbers_if_any(node, i));
  std::vector<Real> reals;
  for (const Extent& bits : open->values) reals.push_back(Real::of_bits(bits));
  return reals;
}

/// The extent after scaling: a product in float32, rounded down, as runtimes compute it.
Extent resized(ir::Dim extent, const Real& scale) {
  const Real count = Real::of(ir::extent_of(extent)) * scale;
  const auto factor = scale.number();
  const auto known = count.number();
  const bool is_count = !known || (*known >= 0 && *known <= 1e12F);
  if ((factor && !(*factor > 0)) || !is_count) {
    fail(ErrorKind::kShape,
         "scale: expected a positive number that gives at most 10^12 elements, found " +
             std::to_string(factor.value_or(0)) + " for an extent of " + ir::to_string(extent));
  }
  return count.floor();
}

void check_length(const char* what, std::size_t expected, std::size_t found) {
  if (expected == found) return;
  fail(ErrorKind::kShape, std::string(what) + ": expected one number for each of " +
                              std::to_string(expected) + " axes, found " + std::to_string(found));
}

/// Gives all axes the same scale, the larger or smaller one, to keep the aspect ratio.
/// @param keeps_batch  whether the batch is among the axes, with a scale of 1
void keep_proportions(std::vector<AxisRequest>& requests, const ir::Shape& shape, bool larger,
                      bool keeps_batch) {
  std::optional<Real> common;
  if (keeps_batch) common = Real(1);
  const auto extent = [&](const AxisRequest& request) {
    return Real::of(ir::extent_of(shape[request.axis]));
  };
  for (const AxisRequest& request : requests) {
    const Real scale = Real::of(request.count) / extent(request);
    common = !common  ? scale
             : larger ? Real::greatest(*common, scale)
                      : Real::least(*common, scale);
  }
  if (keeps_batch && common->number() != 1) NodeBuilder::unsupported("cannot resize the batch");
  for (AxisRequest& request : requests) {
    request.scale = common;
    request.count = (*common * extent(request)).round();
  }
}

/// The axes to resize and their extents.
struct Sizes {
  std::vector<std::size_t> axes;
  std::vector<Extent> sizes;
  bool keeps_batch = false;  ///< the batch is one of the axes, left out here
};

std::vector<AxisRequest> requests_by_scale(const ir::Shape& shape,
                                           const std::vector<std::size_t>& axes,
                                           const std::vector<Real>& scales) {
  check_length("scales", axes.size(), scales.size());
  std::vector<AxisRequest> requests;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (scales[i].number() == 1) continue;
    const ir::Dim extent = shape[axes[i]];
    if (ir::depends_on_batch(extent)) NodeBuilder::unsupported("cannot resize the batch");
    requests.push_back({axes[i], scales[i], resized(extent, scales[i])});
  }
  return requests;
}

std::vector<AxisRequest> requests_by_size(NodeBuilder& node, const ir::Shape& shape,
                                          const Sizes& wanted) {
  const std::string policy = node.choice_attribute("keep_aspect_ratio_policy", "stretch",
                                                   {"stretch", "not_larger", "not_smaller"});
  std::vector<AxisRequest> requests;
  for (std::size_t i = 0; i < wanted.axes.size(); ++i) {
    const ir::Dim extent = shape[wanted.axes[i]];
    if (ir::depends_on_batch(extent)) NodeBuilder::unsupported("cannot resize the batch");
    const bool stays = wanted.sizes[i] == ir::extent_of(extent);
    const bool is_open = ir::is_expression(extent) || !wanted.sizes[i].is_number();
    if (is_open && stays && policy == "stretch" &&
        coordinates_of(node) != Coordinates::kCropAndResize) {
      continue;
    }
    requests.push_back({wanted.axes[i], std::nullopt, wanted.sizes[i]});
    if (is_open) continue;
    const std::int64_t size = *wanted.sizes[i].number();
    if (size < 1 || extent < 1) {
      fail(ErrorKind::kShape,
           "sizes: expected numbers of at least 1, found " + std::to_string(size));
    }
    requests.back().scale = Real::of(size) / Real::of(extent);
  }
  if (policy != "stretch" && !requests.empty()) {
    keep_proportions(requests, shape, policy == "not_smaller", wanted.keeps_batch);
  }
  return requests;
}

/// The requested sizes, without the axis of the batch if it keeps its extent.
Sizes sizes_of(const std::vector<Extent>& extents, const std::vector<std::size_t>& axes,
               const ir::Shape& shape) {
  check_length("sizes", axes.size(), extents.size());
  Sizes result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool has_batch = ir::depends_on_batch(shape[axes[i]]);
    if (has_batch && extents[i] == ir::extent_of(shape[axes[i]])) {
      result.keeps_batch = true;
      continue;
    }
    if (extents[i].depends_on_batch()) {
      NodeBuilder::unsupported("cannot resize an axis to the batch");
    }
    result.axes.push_back(axes[i]);
    result.sizes.push_back(extents[i]);
  }
  return result;
}

/// Runtimes copy a value whose extents all stay as they are, whatever the scales and the region.
bool keeps_extents(const std::vector<AxisRequest>& requests, const ir::Shape& shape) {
  return std::ranges::all_of(requests, [&](const AxisRequest& request) {
    return request.count == ir::extent_of(shape[request.axis]);
  });
}

/// The scale that the operator holds: a number, or what its count says of one.
float held_scale(const AxisRequest& request, ir::Dim extent) {
  if (!request.scale) return 0;
  if (const auto number = request.scale->number()) return *number;
  if (ir::scale_of_count(request.count, ir::extent_of(extent))) return ir::kScaleOfCount;
  const Real quotient = Real::of(request.count) / Real::of(ir::extent_of(extent));
  if (quotient.bits() == request.scale->bits()) return 0;
  NodeBuilder::unsupported("a scale " + request.scale->bits().text() + " of an open extent");
}

/// Resizes input 0 along each axis.
ValueId emit_resizes(NodeBuilder& node, const std::vector<AxisRequest>& requests, ir::Resize op,
                     const std::vector<float>& roi, const std::vector<std::size_t>& roi_axes) {
  ValueId x = node.input(0);
  if (keeps_extents(requests, node.type(x).shape)) return x;
  for (const AxisRequest& request : requests) {
    op.axis = request.axis;
    op.scale = held_scale(request, node.type(x).shape[request.axis]);
    if (op.scale == 1) continue;
    op.count = static_cast<std::size_t>(checked_dim(request.count));
    op.rounding = request.rounding.value_or(op.rounding);
    if (op.coordinates == Coordinates::kCropAndResize) {
      check_length("roi", 2 * roi_axes.size(), roi.size());
      const auto at =
          static_cast<std::size_t>(std::ranges::find(roi_axes, request.axis) - roi_axes.begin());
      op.begin = roi[at];
      op.end = roi[roi_axes.size() + at];
    }
    x = node.emit(op, {x});
  }
  return x;
}

/// Resizes by scales as operator sets before 11 do, which have no coordinates to choose.
void build_by_scales(NodeBuilder& node, const std::vector<float>& scales) {
  ir::Resize op;
  op.mode = mode_of(node);
  op.coordinates = Coordinates::kAsymmetric;
  const ir::Shape shape = node.input_type(0).shape;
  const auto axes = all_axes(shape.rank());
  auto requests = requests_by_scale(shape, axes, reals_of(scales));
  for (AxisRequest& request : requests) {  // as ONNX Runtime, since the standard does not say
    const bool shrinks = *request.scale->number() < 1;
    request.rounding = shrinks ? ir::NearestMode::kCeil : ir::NearestMode::kFloor;
  }
  node.set_output(0, emit_resizes(node, requests, op, {}, axes));
}

void build_resize(NodeBuilder& node) {
  if (node.opset() < 11) return build_by_scales(node, node.float_input(1));
  const ir::Shape shape = node.input_type(0).shape;
  ir::Resize op;
  op.mode = mode_of(node);
  std::vector<std::size_t> axes = all_axes(shape.rank());
  op.coordinates = coordinates_of(node);
  op.rounding = rounding_of(node);
  op.cubic = node.float_attribute("cubic_coeff_a", -0.75F);
  op.exclude_outside = node.int_attribute("exclude_outside", 0) != 0;
  op.extrapolation = node.float_attribute("extrapolation_value", 0);
  op.antialias = node.int_attribute("antialias", 0) != 0 && op.mode != Interpolation::kNearest;
  if (const auto stated = node.ints_attribute("axes")) {
    axes.clear();
    for (const std::int64_t axis : *stated) {
      axes.push_back(ir::normalized_axis(axis, shape.rank()));
    }
  }
  const bool crops = op.coordinates == Coordinates::kCropAndResize;
  const std::vector<float> roi = crops ? numbers_if_any(node, 1) : std::vector<float>{};
  const auto sizes = node.has_input(3) ? node.extents(3) : std::optional(Integers{});
  if (!sizes) NodeBuilder::unsupported("input 3: expected a vector of integers");
  const auto requests = sizes->values.empty()
                            ? requests_by_scale(shape, axes, scales_if_any(node, 2))
                            : requests_by_size(node, shape, sizes_of(sizes->values, axes, shape));
  node.set_output(0, emit_resizes(node, requests, op, roi, axes));
}

void build_upsample(NodeBuilder& node) {
  if (node.opset() >= 9) return build_by_scales(node, node.float_input(1));
  if (node.opset() >= 7) {
    return build_by_scales(node, node.floats_attribute("scales").value_or(std::vector<float>{}));
  }
  build_by_scales(node, {1, 1, node.float_attribute("height_scale", 1),
                         node.float_attribute("width_scale", 1)});
}

/// Moves blocks from depth to space, or from space to depth.
void build_depth_to_space(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::int64_t block = node.int_attribute("blocksize", 0);
  const bool to_space = node.op_type() == "DepthToSpace";
  const bool depth_first = node.choice_attribute("mode", "DCR", {"DCR", "CRD"}) == "CRD";
  if (shape.rank() != 4 || block < 1 || block > (1 << 20)) {
    fail(ErrorKind::kShape,
         "blocks of " + std::to_string(block) + " do not fit " + shape.to_string());
  }
  const ir::Dim c = shape[1];
  const ir::Dim h = shape[2];
  const ir::Dim w = shape[3];
  const bool open = ir::is_expression(h) || ir::is_expression(w);
  const bool fits =
      to_space ? c % (block * block) == 0 : open || (h % block == 0 && w % block == 0);
  const bool has_batch = ir::depends_on_batch(h) || ir::depends_on_batch(w);
  if (!fits || c < 0 || has_batch) {
    fail(ErrorKind::kShape,
         "blocks of " + std::to_string(block) + " do not fit " + shape.to_string());
  }
  if (!to_space) {
    const ir::Dim rows = checked_dim(ir::extent_of(h).over(block));
    const ir::Dim cols = checked_dim(ir::extent_of(w).over(block));
    const ValueId split = node.reshape(x, {shape[0], c, rows, block, cols, block});
    const std::vector<std::size_t> order = depth_first ? std::vector<std::size_t>{0, 1, 3, 5, 2, 4}
                                                       : std::vector<std::size_t>{0, 3, 5, 1, 2, 4};
    const ValueId moved = emit_transpose(node, order, split);
    node.set_output(0, node.reshape(moved, {shape[0], c * block * block, rows, cols}));
    return;
  }
  const ir::Dim depth = c / (block * block);
  const ir::Shape parts = depth_first ? ir::Shape{shape[0], depth, block, block, h, w}
                                      : ir::Shape{shape[0], block, block, depth, h, w};
  const std::vector<std::size_t> order = depth_first ? std::vector<std::size_t>{0, 1, 4, 2, 5, 3}
                                                     : std::vector<std::size_t>{0, 3, 4, 1, 5, 2};
  const ValueId moved = emit_transpose(node, order, node.reshape(x, parts));
  node.set_output(0, node.reshape(moved, {shape[0], depth, checked_dim(ir::extent_of(h) * block),
                                          checked_dim(ir::extent_of(w) * block)}));
}

constexpr ReaderEntry kResampleReaders[] = {
    {"", "Resize", build_resize},
    {"", "Upsample", build_upsample},
    {"", "DepthToSpace", build_depth_to_space},
    {"", "SpaceToDepth", build_depth_to_space},
};

}  // namespace

std::span<const ReaderEntry> resample_readers() { return kResampleReaders; }

}  // namespace halftone::formats::onnx
