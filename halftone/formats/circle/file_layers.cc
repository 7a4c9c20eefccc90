// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/file_layers.h"

#include <algorithm>
#include <utility>

#include "halftone/formats/circle/lower.h"

namespace halftone::formats {
namespace circle {
namespace {

using ir::Dim;
using ir::ValueId;

bool is_dense(const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::all_of(node.inputs, [&](ValueId id) {
    return id == ir::kAbsent || graph.value(id).type.encoding.is_dense();
  });
}

/// Rewrites a layer with weights; what is done to constants is done at once.
class LayerRewrite : protected NodeRewrite {
 protected:
  LayerRewrite(ir::Graph& graph, ir::NodeId id) : NodeRewrite(graph, id) {}

  [[nodiscard]] const ir::Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }

  ValueId apply(ir::Operator op, ValueId x) {
    const ir::Constant* constant = graph_.constant(x);
    const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    if (tensor == nullptr) return add(std::move(op), {x});
    return graph_.add_constant(graph_.value(x).name, ir::evaluate_operator(op, {&tensor, 1}));
  }
  ValueId reshaped(ValueId x, std::vector<Dim> dims) {
    return apply(ir::Reshape{ir::Shape(std::move(dims))}, x);
  }
  ValueId part(ValueId x, std::size_t axis, Dim begin, Dim count) {
    if (shape(x)[axis] == count) return x;
    return apply(
        ir::Slice{axis, static_cast<std::size_t>(begin), 1, static_cast<std::size_t>(count)}, x);
  }
  [[nodiscard]] bool has_bias() const {
    return node_.inputs.size() > 2 && node_.inputs[2] != ir::kAbsent;
  }

  /// A layer for each group of channels, and their outputs joined.
  template <typename Layer>
  ValueId in_groups(Layer layer, ValueId x, ValueId w) {
    const Dim groups = std::exchange(layer.groups, 1);
    const std::size_t last = shape(x).rank() - 1;
    const Dim channels = shape(x).back() / groups;
    const Dim outputs = shape(w)[0] / groups;
    std::vector<ValueId> parts;
    for (Dim g = 0; g < groups; ++g) {
      std::vector<ValueId> inputs = {part(x, last, g * channels, channels),
                                     part(w, 0, g * outputs, outputs)};
      if (has_bias()) inputs.push_back(part(node_.inputs[2], 0, g * outputs, outputs));
      const std::string suffix = groups == 1 ? "" : "/group" + std::to_string(g);
      parts.push_back(graph_.add_node(node_.name + suffix, layer, std::move(inputs)));
    }
    return groups == 1 ? parts[0] : add(ir::Concat{last}, std::move(parts));
  }

  ValueId activated(const ir::Activation& activation, ValueId x) {
    return activation == ir::Activation{} ? x : add(ir::Unary{activation}, {x});
  }
};

class TransposedRewrite : LayerRewrite {
 public:
  TransposedRewrite(ir::Graph& graph, ir::NodeId id)
      : LayerRewrite(graph, id), op_(std::get<ir::ConvTranspose>(node_.op)) {}

  void run() {
    ValueId x = node_.inputs[0];
    ValueId w = node_.inputs[1];
    if (op_.window.rank() == 1) {
      x = with_row_axis(x);
      w = with_row_axis(w);
      add_row_axis();
    }
    for (std::size_t i = 0; i < op_.window.rank(); ++i) w = dilated(w, i);
    const ir::Activation last = std::exchange(op_.activation, {});
    if (op_ == std::get<ir::ConvTranspose>(node_.op) && op_.groups == 1 && is_written(x, w)) return;
    ValueId y = cropped(x, w);
    const ir::Shape wanted = shape(node_.output);
    if (shape(y) != wanted) y = add(ir::Reshape{wanted}, {y});
    replace_output(activated(last, y));
  }

 private:
  [[nodiscard]] bool is_written(ValueId x, ValueId w) const {
    return transposed_padding(op_, shape(x), ir::kernel_extents(shape(w))) !=
           TransposedPadding::kOther;
  }

  ValueId with_row_axis(ValueId id) {
    std::vector<Dim> dims(shape(id).dims().begin(), shape(id).dims().end());
    dims.insert(dims.begin() + 1, 1);
    return reshaped(id, std::move(dims));
  }

  void add_row_axis() {
    ir::Window& window = op_.window;
    window.strides.insert(window.strides.begin(), 1);
    window.dilations.insert(window.dilations.begin(), 1);
    window.pads_before.insert(window.pads_before.begin(), 0);
    window.pads_after.insert(window.pads_after.begin(), 0);
    op_.output_padding.insert(op_.output_padding.begin(), 0);
  }

  /// Weights with zeros between the taps of a spatial axis.
  ValueId dilated(ValueId w, std::size_t spatial) {
    const Dim step = std::exchange(op_.window.dilations[spatial], 1);
    const std::size_t axis = spatial + 1;
    const Dim taps = shape(w)[axis];
    if (step == 1 || taps == 1) return w;
    std::vector<Dim> dims(shape(w).dims().begin(), shape(w).dims().end());
    std::vector<Dim> split = dims;
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    ir::Pad gaps;
    gaps.before.assign(split.size(), 0);
    gaps.after.assign(split.size(), 0);
    gaps.after[axis + 1] = static_cast<std::size_t>(step - 1);
    dims[axis] = taps * step;
    const ValueId wide = reshaped(apply(gaps, reshaped(w, std::move(split))), std::move(dims));
    return part(wide, axis, 0, ir::covered(taps, step));
  }

  /// The layer, without padding and cut to its extents unless a file can hold it as it is.
  ValueId cropped(ValueId x, ValueId w) {
    if (is_written(x, w)) return in_groups(op_, x, w);
    const ir::Window given = op_.window;
    const std::vector<Dim> extra = op_.output_padding;
    std::vector<Dim> target;
    for (std::size_t i = 0; i < given.rank(); ++i) {
      const Dim reached = (shape(x)[i + 1] - 1) * given.strides[i] + shape(w)[i + 1];
      target.push_back(reached - given.pads_before[i] - given.pads_after[i] + extra[i]);
      op_.window.pads_before[i] = op_.window.pads_after[i] = 0;
      op_.output_padding[i] = std::max<Dim>(given.pads_before[i] + target[i] - reached, 0);
    }
    ValueId y = in_groups(op_, x, w);
    for (std::size_t i = 0; i < given.rank(); ++i) {
      y = part(y, i + 1, given.pads_before[i], target[i]);
    }
    return y;
  }

  ir::ConvTranspose op_;
};

/// A Conv of three axes.
class VolumeRewrite : LayerRewrite {
 public:
  VolumeRewrite(ir::Graph& graph, ir::NodeId id) : LayerRewrite(graph, id) {}

  void run() {
    auto op = std::get<ir::Conv>(node_.op);
    if (op.groups == 1) return;
    const ir::Activation last = std::exchange(op.activation, {});
    replace_output(activated(last, in_groups(op, node_.inputs[0], node_.inputs[1])));
  }
};

/// A Pool with padding that the format does not have.
class PaddingRewrite : LayerRewrite {
 public:
  PaddingRewrite(ir::Graph& graph, ir::NodeId id)
      : LayerRewrite(graph, id), given_(std::get<ir::Pool>(node_.op)), op_(given_) {}

  void run() {
    const ir::Shape image = shape(node_.inputs[0]);
    const ir::Shape result = shape(node_.output);
    for (std::size_t i = 0; op_.round_up && i < op_.kernel.size(); ++i) {
      const Dim reached = (result[i + 1] - 1) * op_.window.strides[i] +
                          ir::covered(op_.kernel[i], op_.window.dilations[i]);
      Dim& after = op_.window.pads_after[i];
      after = std::max(after, reached - image[i + 1] - op_.window.pads_before[i]);
    }
    op_.round_up = false;
    const bool is_mean = op_.kind == ir::PoolKind::kAverage;
    const bool is_written = has_no_padding() || has_same_padding(op_.window, image, op_.kernel);
    if (is_mean && !is_written) op_.count_padding = true;
    if (op_ == given_) return;
    const ValueId y = add(op_, {node_.inputs[0]});
    replace_output(is_mean ? weighted(y, image) : y);
  }

 private:
  [[nodiscard]] bool has_no_padding() const {
    const auto is_zero = [](Dim pad) { return pad == 0; };
    return std::ranges::all_of(op_.window.pads_before, is_zero) &&
           std::ranges::all_of(op_.window.pads_after, is_zero);
  }

  /// The means of other numbers of taps, which an image of ones shows.
  ValueId weighted(ValueId y, const ir::Shape& image) {
    std::vector<Dim> dims(image.dims().begin(), image.dims().end());
    dims.front() = dims.back() = 1;
    ir::Tensor ones(ir::ElementType::kFloat32, ir::Shape(std::move(dims)));
    std::ranges::fill(ones.as<float>(), 1.0F);
    const std::vector<const ir::Tensor*> input = {&ones};
    ir::Tensor factors = ir::evaluate_operator(given_, input);
    const ir::Tensor means = ir::evaluate_operator(op_, input);
    bool is_one = true;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      float& factor = factors.as<float>()[i];
      const float mean = means.as<float>()[i];
      factor = mean == 0 ? 1 : factor / mean;
      is_one = is_one && factor == 1;
    }
    if (is_one) return y;
    const ValueId weights = graph_.add_constant(node_.name + "/weights", std::move(factors));
    return add(ir::Binary{ir::BinaryKind::kMul, {}}, {y, weights});
  }

  const ir::Pool given_;
  ir::Pool op_;
};

/// A Pool of three axes: that along two of them, whose depths are samples, then along the depth.
/// Means are equal because every window is a box, with or without its padding.
class PoolRewrite : LayerRewrite {
 public:
  PoolRewrite(ir::Graph& graph, ir::NodeId id) : LayerRewrite(graph, id) {}

  void run() {
    const auto& op = std::get<ir::Pool>(node_.op);
    const ir::Shape image = shape(node_.inputs[0]);
    const ir::Shape result = shape(node_.output);
    const Dim channels = image.back();
    ValueId y = reshaped(node_.inputs[0], {image[0] * image[1], image[2], image[3], channels});
    y = add(part_of(op, {1, 2}), {y});
    y = reshaped(y, {image[0], image[1], result[2] * result[3], channels});
    ir::Pool deep = part_of(op, {0, 0});
    deep.kernel[1] = 1;
    deep.window.strides[1] = deep.window.dilations[1] = 1;
    deep.window.pads_before[1] = deep.window.pads_after[1] = 0;
    replace_output(add(ir::Reshape{result}, {add(std::move(deep), {y})}));
  }

 private:
  /// The pooling along two of the axes.
  static ir::Pool part_of(const ir::Pool& op, std::pair<std::size_t, std::size_t> axes) {
    const auto two = [&](const std::vector<Dim>& numbers) {
      return std::vector<Dim>{numbers[axes.first], numbers[axes.second]};
    };
    ir::Pool result = op;
    result.kernel = two(op.kernel);
    result.window = {two(op.window.strides), two(op.window.dilations), two(op.window.pads_before),
                     two(op.window.pads_after)};
    return result;
  }
};

}  // namespace

TransposedPadding transposed_padding(const ir::ConvTranspose& op, const ir::Shape& image,
                                     std::span<const ir::Dim> kernel) {
  bool is_valid = true;
  bool is_same = true;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Dim stride = op.window.strides[i];
    const Dim before = op.window.pads_before[i];
    const Dim reached = (image[i + 1] - 1) * stride + kernel[i];
    const Dim target = reached - before - op.window.pads_after[i] + op.output_padding[i];
    is_valid = is_valid && before == 0 && target >= reached && target < reached + stride;
    is_same = is_same && (target + stride - 1) / stride == image[i + 1] &&
              before == std::max<Dim>(reached - target, 0) / 2;
    if (op.window.dilations[i] != 1) return TransposedPadding::kOther;
  }
  if (is_valid) return TransposedPadding::kValid;
  return is_same ? TransposedPadding::kSame : TransposedPadding::kOther;
}

}  // namespace circle

ir::Graph with_file_layers(ir::Graph graph) {
  const auto is_float = [](const ir::Graph& of, const ir::Node& node) {
    return of.value(node.output).type.is_dense(ir::ElementType::kFloat32);
  };
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!circle::is_dense(graph, node) || node.inputs.empty()) continue;
    const bool is_volume = graph.value(node.inputs[0]).type.shape.rank() == 5;
    if (std::holds_alternative<ir::ConvTranspose>(node.op)) {
      circle::TransposedRewrite(graph, id).run();
    } else if (is_volume && std::holds_alternative<ir::Conv>(node.op)) {
      circle::VolumeRewrite(graph, id).run();
    } else if (const auto* pool = std::get_if<ir::Pool>(&node.op)) {
      const bool is_padded =
          pool->round_up || (pool->kind == ir::PoolKind::kAverage && !pool->count_padding);
      if (is_padded && is_float(graph, node)) circle::PaddingRewrite(graph, id).run();
    }
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Pool>(node.op) && is_float(graph, node) &&
        graph.value(node.output).type.shape.rank() == 5) {
      circle::PoolRewrite(graph, id).run();
    }
  }
  graph.remove_unused_nodes();
  return graph;
}

}  // namespace halftone::formats
