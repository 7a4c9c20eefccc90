// SPDX-License-Identifier: Apache-2.0
// Lowers resizing to the file's form: along the width or height of an image, or a sum or choice of
// elements.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "halftone/formats/circle/lower.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::Resize;
using ir::ValueId;

constexpr std::array kLinearForms = {ir::Coordinates::kHalfPixel, ir::Coordinates::kAlignCorners,
                                     ir::Coordinates::kAsymmetric};
/// With the roundings that the importer gives them.
constexpr std::array kNearestForms = {
    std::pair{ir::Coordinates::kHalfPixelForNearest, ir::NearestMode::kFloor},
    std::pair{ir::Coordinates::kAlignCorners, ir::NearestMode::kPreferCeil},
    std::pair{ir::Coordinates::kAsymmetric, ir::NearestMode::kFloor}};

/// The form of the file that reads the same elements with the same weights.
std::optional<Resize> file_form(const Resize& op, std::size_t extent) {
  Resize form{.axis = op.axis, .count = op.count};
  form.scale = static_cast<float>(op.count) / static_cast<float>(extent);
  form.mode = op.mode;
  form.multiplies = true;
  if (op.mode == ir::Interpolation::kLinear) {
    for (const ir::Coordinates coordinates : kLinearForms) {
      form.coordinates = coordinates;
      if (same_taps(op, form, extent)) return form;
    }
  } else if (op.mode == ir::Interpolation::kNearest) {
    for (const auto& [coordinates, rounding] : kNearestForms) {
      form.coordinates = coordinates;
      form.rounding = rounding;
      if (same_taps(op, form, extent)) return form;
    }
  }
  return std::nullopt;
}

/// Replaces one Resize.
class ResizeRewrite : NodeRewrite {
 public:
  ResizeRewrite(ir::Graph& graph, ir::NodeId id)
      : NodeRewrite(graph, id),
        op_(std::get<Resize>(node_.op)),
        image_(graph.value(node_.inputs[0]).type.shape) {}

  void run() {
    const bool has_inner_batch = std::ranges::count(image_.dims().subspan(1), ir::kBatch) > 0;
    if (image_[op_.axis] <= 0 || has_inner_batch) return;  // the exporter reports it
    const auto extent = static_cast<std::size_t>(image_[op_.axis]);
    const ValueId x = node_.inputs[0];
    const bool is_float = graph_.value(x).type.is_dense(ir::ElementType::kFloat32);
    const auto form = is_float ? file_form(op_, extent) : std::nullopt;
    const bool is_image = image_.rank() == 4 && (op_.axis == 1 || op_.axis == 2);
    if (form && is_image && *form == op_) return;
    replace_output(form ? (is_image ? add(*form, {x}) : in_plane(*form)) : from_taps(extent));
  }

 private:
  /// The view [N, the axes before, the axis, the axes behind].
  [[nodiscard]] ir::Shape view() const {
    std::array<Dim, 4> dims = {1, 1, image_[op_.axis], 1};
    for (std::size_t axis = 0; axis < image_.rank(); ++axis) {
      if (axis == op_.axis) continue;
      dims[axis > op_.axis ? 3 : axis == 0 ? 0 : 1] *= image_[axis];
    }
    return ir::Shape(std::vector<Dim>(dims.begin(), dims.end()));
  }

  ValueId back(ValueId value) {
    return add(ir::Reshape{graph_.value(node_.output).type.shape}, {value});
  }

  /// Resizes the width of an image whose rows are the axes before.
  ValueId in_plane(Resize form) {
    form.axis = 2;
    return back(add(form, {add(ir::Reshape{view()}, {node_.inputs[0]})}));
  }

  /// A choice of elements, or sums as a product with a matrix.
  ValueId from_taps(std::size_t extent) {
    const ir::ResizeTaps taps = ir::resize_taps(op_, extent);
    const bool chooses = taps.width == 1 && std::ranges::count(taps.outside, 0) ==
                                                static_cast<std::ptrdiff_t>(taps.outside.size());
    if (op_.mode == ir::Interpolation::kNearest && chooses) {
      const std::vector<std::int32_t> indices(taps.indices.begin(), taps.indices.end());
      const auto count = static_cast<Dim>(indices.size());
      const ValueId at = graph_.add_constant(
          node_.name + "/indices", ir::Tensor::from<std::int32_t>({count}, std::span(indices)));
      return add(ir::Gather{op_.axis}, {node_.inputs[0], at});
    }
    auto [matrix, rest] = ir::resize_matrix(op_, extent);
    const bool adds = std::ranges::any_of(rest.as<float>(), [](float x) { return x != 0; });
    const ValueId weights = graph_.add_constant(node_.name + "/weights", std::move(matrix));
    ValueId sums = add(ir::MatMul{}, {weights, add(ir::Reshape{view()}, {node_.inputs[0]})});
    if (adds) {
      const ValueId outside = graph_.add_constant(node_.name + "/outside", std::move(rest));
      sums = add(ir::Binary{ir::BinaryKind::kAdd, {}}, {sums, outside});
    }
    return back(sums);
  }

  const Resize op_;
  const ir::Shape image_;
};

}  // namespace

void lower_resizing(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (std::holds_alternative<Resize>(graph.node(id).op)) ResizeRewrite(graph, id).run();
  }
  graph.remove_unused_nodes();
}

}  // namespace halftone::formats::circle
