// SPDX-License-Identifier: Apache-2.0
// Normalizations, and operators that have an effect only in training.
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

/// Operator sets below 13 treat all axes from `axis` on as one.
void build_flattened_softmax(NodeBuilder& node, bool log) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 1), shape.rank());
  std::vector<ir::Dim> dims(shape.dims().begin(),
                            shape.dims().begin() + static_cast<std::ptrdiff_t>(axis));
  dims.push_back(product_of(shape.dims().subspan(axis)));
  const ValueId merged = node.reshape(x, ir::Shape(std::move(dims)));
  const ValueId y = node.emit(ir::Softmax{axis, 1, log}, {merged});
  node.set_output(0, node.reshape(y, shape));
}

void require_vector(NodeBuilder& node, std::size_t i, ir::Dim channels) {
  const ir::Shape& shape = node.input_type(i).shape;
  if (shape != ir::Shape{channels}) {
    fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected [" +
                                std::to_string(channels) + "], found " + shape.to_string());
  }
}

/// Values per channel, reshaped to align with axis 1 of x.
ValueId along_channels(NodeBuilder& node, ValueId numbers, std::size_t rank) {
  std::vector<ir::Dim> dims(rank - 1, 1);
  if (node.type(numbers).shape.rank() != 1) {
    fail(ErrorKind::kShape,
         "expected a number for each channel, found " + node.type(numbers).shape.to_string());
  }
  dims[0] = node.type(numbers).shape[0];
  return node.reshape(numbers, ir::Shape(std::move(dims)));
}

/// x scale + bias, with one scale and bias per channel.
ValueId scaled_by_channel(NodeBuilder& node, ValueId x, ValueId scale, ValueId bias) {
  const ir::Shape shape = node.type(x).shape;
  const ValueId y =
      emit_binary(node, ir::BinaryKind::kMul, x, along_channels(node, scale, shape.rank()));
  const ValueId sum =
      emit_binary(node, ir::BinaryKind::kAdd, y, along_channels(node, bias, shape.rank()));
  if (!ir::may_be_equal(node.type(sum).shape, shape)) {
    fail(ErrorKind::kShape, "scale and bias do not fit the channels of " + shape.to_string());
  }
  return sum;
}

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias = x a + b, with one a and one b per
/// channel.
ValueId normalized_by_constants(NodeBuilder& node, ValueId x, float epsilon) {
  const auto scale = node.float_input(1);
  const auto bias = node.float_input(2);
  const auto mean = node.float_input(3);
  const auto variance = node.float_input(4);
  const ir::Shape channels{static_cast<ir::Dim>(scale.size())};
  ir::Tensor a = node.allocate(ir::ElementType::kFloat32, channels);
  ir::Tensor b = node.allocate(ir::ElementType::kFloat32, channels);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double deviation =
        std::sqrt(static_cast<double>(variance[c]) + static_cast<double>(epsilon));
    const double factor = static_cast<double>(scale[c]) / deviation;
    a.as<float>()[c] = static_cast<float>(factor);
    b.as<float>()[c] =
        static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor);
  }
  const ValueId factor = node.add_constant(std::move(a));
  return scaled_by_channel(node, x, factor, node.add_constant(std::move(b)));
}

/// The same with statistics that are not constant.
ValueId normalized_by_values(NodeBuilder& node, ValueId x, float epsilon) {
  const std::size_t rank = node.type(x).shape.rank();
  const ValueId variance =
      emit_binary(node, ir::BinaryKind::kAdd, node.input(4), node.add_scalar(epsilon));
  const ValueId deviation = emit_unary(node, ir::ActivationKind::kSqrt, variance);
  const ValueId factor = emit_binary(node, ir::BinaryKind::kDiv, node.input(1), deviation);
  const ValueId centred =
      emit_binary(node, ir::BinaryKind::kSub, x, along_channels(node, node.input(3), rank));
  return scaled_by_channel(node, centred, factor, node.input(2));
}

/// The same with the statistics of x itself, as in training. Exporters write weights that are
/// normalized at run time so.
ValueId normalized_by_itself(NodeBuilder& node, ValueId x, float epsilon) {
  const ir::Shape shape = node.type(x).shape;
  std::vector<std::size_t> axes = all_axes(shape.rank());
  axes.erase(axes.begin() + 1);
  if (ir::depends_on_batch(shape[0]))
    NodeBuilder::unsupported("training mode, which mixes samples");
  const ValueId y = node.emit(ir::Normalize{std::move(axes), epsilon, true}, {x});
  return scaled_by_channel(node, y, node.input(1), node.input(2));
}

void build_softmax(NodeBuilder& node) {
  const bool log = node.op_type() == "LogSoftmax";
  if (node.opset() < 13) {
    build_flattened_softmax(node, log);
    return;
  }
  const std::size_t rank = node.input_type(0).shape.rank();
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", -1), rank);
  node.set_output(0, node.emit(ir::Softmax{axis, 1, log}, {node.input(0)}));
}

void build_batch_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  if (shape.rank() < 2) {
    fail(ErrorKind::kShape, "input 0: expected channels as axis 1, found " + shape.to_string());
  }
  if (node.int_attribute("spatial", 1) == 0) NodeBuilder::unsupported("spatial=0");
  const float epsilon = node.float_attribute("epsilon", 1e-5F);
  if (node.int_attribute("training_mode", 0) != 0) {
    return node.set_output(0, normalized_by_itself(node, x, epsilon));
  }
  bool is_constant = true;
  for (std::size_t i = 1; i < 5; ++i) {
    require_vector(node, i, shape[1]);
    is_constant = is_constant && node.constant(node.input(i)) != nullptr;
  }
  node.set_output(0, is_constant ? normalized_by_constants(node, x, epsilon)
                                 : normalized_by_values(node, x, epsilon));
}

/// Also emits the statistics, which only training reads but a file may name as outputs.
void build_layer_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  const std::size_t first = ir::normalized_axis(node.int_attribute("axis", -1), rank);
  std::vector<std::size_t> axes = all_axes(rank);
  axes.erase(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(first));
  const float epsilon = node.float_attribute("epsilon", 1e-5F);
  const bool centres = node.op_type() != "RMSNormalization";
  ValueId y = node.emit(ir::Normalize{axes, epsilon, centres}, {x});
  y = emit_binary(node, ir::BinaryKind::kMul, y, node.input(1));
  if (node.has_input(2)) y = emit_binary(node, ir::BinaryKind::kAdd, y, node.input(2));
  node.set_output(0, y);
  if (!node.has_output(1) && !node.has_output(2)) return;
  const ValueId mean = emit_reduce(node, ir::ReduceKind::kMean, axes, true, x);
  node.set_output(1, mean);
  if (!node.has_output(2)) return;
  const ValueId centred = emit_binary(node, ir::BinaryKind::kSub, x, mean);
  const ValueId square = emit_unary(node, ir::ActivationKind::kSquare, centred);
  const ValueId variance = emit_reduce(node, ir::ReduceKind::kMean, axes, true, square);
  const ValueId shifted =
      emit_binary(node, ir::BinaryKind::kAdd, variance, node.add_scalar(epsilon));
  const ValueId deviation = emit_unary(node, ir::ActivationKind::kSqrt, shifted);
  node.set_output(2, emit_unary(node, ir::ActivationKind::kReciprocal, deviation));
}

void build_instance_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  if (rank < 3) {
    fail(ErrorKind::kShape, "expected spatial axes, found " + node.type(x).to_string());
  }
  std::vector<std::size_t> axes = all_axes(rank);
  axes.erase(axes.begin(), axes.begin() + 2);
  const float epsilon = node.float_attribute("epsilon", 1e-5F);
  const ValueId y = node.emit(ir::Normalize{axes, epsilon, true}, {x});
  node.set_output(0, scaled_by_channel(node, y, node.input(1), node.input(2)));
}

void build_group_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::int64_t groups = node.int_attribute("num_groups", 0);
  if (shape.rank() < 2 || groups < 1 || shape[1] < 0 || shape[1] % groups != 0) {
    fail(ErrorKind::kShape,
         std::to_string(groups) + " groups do not divide the channels of " + shape.to_string());
  }
  std::vector<ir::Dim> dims(shape.dims().begin(), shape.dims().end());
  dims[1] = groups;
  dims.insert(dims.begin() + 2, shape[1] / groups);
  std::vector<std::size_t> axes = all_axes(dims.size());
  axes.erase(axes.begin(), axes.begin() + 2);
  const float epsilon = node.float_attribute("epsilon", 1e-5F);
  const ValueId grouped = node.reshape(x, ir::Shape(std::move(dims)));
  const ValueId y = node.emit(ir::Normalize{axes, epsilon, true}, {grouped});
  // Operator sets below 21 have one scale per group, later ones one per channel.
  if (node.opset() < 21) {
    const ValueId scaled = scaled_by_channel(node, y, node.input(1), node.input(2));
    node.set_output(0, node.reshape(scaled, shape));
  } else {
    node.set_output(0,
                    scaled_by_channel(node, node.reshape(y, shape), node.input(1), node.input(2)));
  }
}

/// (x - mean) / (deviation + 1e-9): the constant avoids a division by zero.
void build_mean_variance_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const auto stated = node.ints_attribute("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  const auto axes = sorted_axes(stated, node.type(x).shape.rank());
  node.set_output(0, node.emit(ir::Normalize{axes, 1e-18F, true}, {x}));
}

void build_lrn(NodeBuilder& node) {
  const std::int64_t size = node.int_attribute("size", 0);
  if (size < 1) fail(ErrorKind::kFormat, "size: expected a number of at least 1");
  ir::LocalNormalize op;
  op.axis = 1;
  op.before = static_cast<std::size_t>((size - 1) / 2);
  op.after = static_cast<std::size_t>(size - 1) - op.before;
  op.alpha = node.float_attribute("alpha", 1e-4F) / static_cast<float>(size);
  op.beta = node.float_attribute("beta", 0.75F);
  op.bias = node.float_attribute("bias", 1);
  node.set_output(0, node.emit(op, {node.input(0)}));
}

void build_lp_normalization(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const std::size_t axis =
      ir::normalized_axis(node.int_attribute("axis", -1), node.type(x).shape.rank());
  const std::int64_t p = node.int_attribute("p", 2);
  if (p != 1 && p != 2) NodeBuilder::unsupported("p = " + std::to_string(p));
  const auto kind = p == 1 ? ir::ReduceKind::kL1 : ir::ReduceKind::kL2;
  const ValueId norm = emit_reduce(node, kind, {axis}, true, x);
  // Zero vectors remain zero.
  const ValueId is_zero = emit_binary(node, ir::BinaryKind::kEqual, norm, node.add_scalar(0.0F));
  const ValueId divisor = emit_where(node, is_zero, node.add_scalar(1.0F), norm);
  node.set_output(0, emit_binary(node, ir::BinaryKind::kDiv, x, divisor));
}

void build_dropout(NodeBuilder& node) {
  const bool trains = node.opset() >= 12 && node.has_input(2) && node.scalar_input(2) != 0;
  const bool drops = trains && (!node.has_input(1) || node.scalar_input(1) != 0);
  if (drops) NodeBuilder::unsupported("training mode");
  const ValueId x = node.input(0);
  node.set_output(0, x);
  if (!node.has_output(1)) return;
  // The mask keeps all elements.
  const ValueId yes = node.add_scalar(
      1.0, node.opset() < 10 ? node.type(x).encoding.element : ir::ElementType::kBool);
  node.set_output(1, node.emit(ir::BroadcastTo{node.type(x).shape}, {yes}));
}

constexpr ReaderEntry kNormalizeReaders[] = {
    {"", "Softmax", build_softmax},
    {"", "LogSoftmax", build_softmax},
    {"", "BatchNormalization", build_batch_normalization},
    {"", "LayerNormalization", build_layer_normalization},
    {"", "RMSNormalization", build_layer_normalization},
    {"", "InstanceNormalization", build_instance_normalization},
    {"", "GroupNormalization", build_group_normalization},
    {"", "MeanVarianceNormalization", build_mean_variance_normalization},
    {"", "LRN", build_lrn},
    {"", "LpNormalization", build_lp_normalization},
    {"", "Dropout", build_dropout},
};

}  // namespace

std::span<const ReaderEntry> normalize_readers() { return kNormalizeReaders; }

}  // namespace halftone::formats::onnx
