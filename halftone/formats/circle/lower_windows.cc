// SPDX-License-Identifier: Apache-2.0
// Lowers convolutions and pooling to the file's form: two spatial axes, or three of a convolution,
// and SAME or VALID padding.
#include <algorithm>
#include <limits>
#include <utility>

#include "halftone/formats/circle/lower.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

/// The file's SAME padding along an axis: before, after.
std::pair<Dim, Dim> same_padding(const ir::Window& window, std::size_t axis, Dim extent, Dim taps) {
  const Dim stride = window.strides[axis];
  const Dim count = extent / stride + (extent % stride != 0 ? 1 : 0);
  const Dim reach = (count - 1) * stride + ir::covered(taps, window.dilations[axis]);
  const Dim total = std::max<Dim>(reach - extent, 0);
  return {total / 2, total - total / 2};
}

bool is_padded(const ir::Window& window) {
  const auto is_zero = [](Dim pad) { return pad == 0; };
  return !std::ranges::all_of(window.pads_before, is_zero) ||
         !std::ranges::all_of(window.pads_after, is_zero);
}

/// Lowers one node to the file's form.
template <typename Op>
class WindowRewrite {
 public:
  WindowRewrite(ir::Graph& graph, ir::NodeId id)
      : graph_(graph), node_(graph.node(id)), op_(std::get<Op>(node_.op)), inputs_(node_.inputs) {}

  void run() {
    const ir::Shape image = graph_.value(inputs_[0]).type.shape;
    const bool is_line = image.rank() == 3;
    if (!is_line && image.rank() != 4 && image.rank() != 5) return;
    if (is_line) make_plane();
    pad();
    if (!is_line && op_ == std::get<Op>(node_.op)) return;
    const std::string name = graph_.value(node_.output).name;
    ValueId result = graph_.add_node(node_.name, op_, inputs_);
    if (is_line) {
      const ir::Shape shape = graph_.value(node_.output).type.shape;
      result = graph_.add_node(name + "/line", ir::Reshape{shape}, {result});
    }
    graph_.rename(result, name);
    graph_.replace_uses(node_.output, result);
  }

 private:
  [[nodiscard]] std::vector<Dim> kernel_of() const {
    if constexpr (std::is_same_v<Op, ir::Pool>) {
      return op_.kernel;
    } else {
      const auto extents = ir::kernel_extents(graph_.value(inputs_[1]).type.shape);
      return {extents.begin(), extents.end()};
    }
  }

  ValueId with_row_axis(ValueId id, const char* role) {
    const ir::Shape& shape = graph_.value(id).type.shape;
    std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
    dims.insert(dims.begin() + 1, 1);
    return graph_.add_node(node_.name + role, ir::Reshape{ir::Shape(std::move(dims))}, {id});
  }

  /// Turns [N, w, C] into an image of one row.
  void make_plane() {
    inputs_[0] = with_row_axis(inputs_[0], "/plane");
    if constexpr (std::is_same_v<Op, ir::Pool>) {
      op_.kernel.insert(op_.kernel.begin(), 1);
    } else {
      const ir::Constant* constant = graph_.constant(inputs_[1]);
      const auto* dense = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
      if (dense != nullptr) {
        const ir::Shape& shape = dense->shape();
        inputs_[1] = graph_.add_constant(graph_.value(inputs_[1]).name,
                                         dense->reshaped({shape[0], 1, shape[1], shape[2]}));
      } else {
        inputs_[1] = with_row_axis(inputs_[1], "/kernel");
      }
    }
    ir::Window& window = op_.window;
    window.strides.insert(window.strides.begin(), 1);
    window.dilations.insert(window.dilations.begin(), 1);
    window.pads_before.insert(window.pads_before.begin(), 0);
    window.pads_after.insert(window.pads_after.begin(), 0);
  }

  /// Adds the Pad. Between codes it has codes at both ends, so that it is written as an operator on
  /// codes; the lowest of them represents the lowest number.
  ValueId padded(ir::Pad node, float fill) {
    const std::string name = node_.name + "/pad";
    const auto producer = graph_.producer(inputs_[0]);
    const auto* dequantize =
        producer ? std::get_if<ir::DequantizeLinear>(&graph_.node(*producer).op) : nullptr;
    const bool has_codes = dequantize != nullptr && dequantize->parameters.scales.size() == 1;
    std::vector<ValueId> inputs = {inputs_[0]};
    if (!has_codes) {
      if (fill != 0) inputs.push_back(number(name + "/least", fill));
      return graph_.add_node(name, std::move(node), std::move(inputs));
    }
    const ir::DequantizeLinear back = *dequantize;
    const ValueId codes = graph_.node(*producer).inputs[0];
    const ir::ElementType element = graph_.value(codes).type.encoding.element;
    const ir::QuantizeLinear quantize{back.parameters, element, ir::CodeRounding::kHalfAway};
    if (fill != 0) {
      const ir::Tensor least = ir::Tensor::from<float>({}, std::span<const float>(&fill, 1));
      const ValueId code = graph_.add_constant(
          name + "/least", ir::evaluate(quantize, std::vector<const ir::Tensor*>{&least}));
      inputs.push_back(graph_.add_node(name + "/least", back, {code}));
    }
    const ValueId image = graph_.add_node(name, std::move(node), std::move(inputs));
    const ValueId coded = graph_.add_node(name + "/quantize", quantize, {image});
    return graph_.add_node(name + "/dequantize", back, {coded});
  }

  ValueId number(const std::string& name, float x) {
    return graph_.add_constant(name, ir::Tensor::from<float>({}, std::span<const float>(&x, 1)));
  }

  /// Turns padding that is neither SAME nor VALID into a Pad node.
  void pad() {
    if (!is_padded(op_.window)) {
      if constexpr (std::is_same_v<Op, ir::Pool>) op_.count_padding = false;
      return;
    }
    bool counts = false;
    float fill = 0;
    if constexpr (std::is_same_v<Op, ir::Pool>) {
      counts = op_.count_padding;
      if (op_.kind == ir::PoolKind::kMax) fill = std::numeric_limits<float>::lowest();
      // Padding that an average does not count cannot become part of the image.
      if (op_.kind == ir::PoolKind::kAverage && !counts) return;
    }
    const ir::Shape& image = graph_.value(inputs_[0]).type.shape;
    if (!counts && has_same_padding(op_.window, image, kernel_of())) return;
    ir::Pad node;
    const std::size_t spatial = op_.window.rank();
    node.before.assign(spatial + 2, 0);
    node.after.assign(spatial + 2, 0);
    for (std::size_t i = 0; i < spatial; ++i) {
      node.before[i + 1] = static_cast<std::size_t>(op_.window.pads_before[i]);
      node.after[i + 1] = static_cast<std::size_t>(op_.window.pads_after[i]);
    }
    inputs_[0] = padded(std::move(node), fill);
    op_.window.pads_before.assign(spatial, 0);
    op_.window.pads_after.assign(spatial, 0);
    if constexpr (std::is_same_v<Op, ir::Pool>) op_.count_padding = false;
  }

  ir::Graph& graph_;
  const ir::Node node_;  // a copy, because added nodes invalidate references
  Op op_;
  std::vector<ValueId> inputs_;
};

bool reads_codes(const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId id) {
    return id != ir::kAbsent && !graph.value(id).type.is_dense(ir::ElementType::kFloat32);
  });
}

}  // namespace

bool has_same_padding(const ir::Window& window, const ir::Shape& image,
                      std::span<const ir::Dim> kernel) {
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const auto wanted = same_padding(window, i, image[i + 1], kernel[i]);
    if (wanted != std::pair(window.pads_before[i], window.pads_after[i])) return false;
  }
  return true;
}

void lower_windows(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (reads_codes(graph, graph.node(id))) continue;
    if (std::holds_alternative<ir::Conv>(graph.node(id).op))
      WindowRewrite<ir::Conv>(graph, id).run();
    if (std::holds_alternative<ir::Pool>(graph.node(id).op))
      WindowRewrite<ir::Pool>(graph, id).run();
  }
  graph.remove_unused_nodes();
}

}  // namespace halftone::formats::circle
