// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/attention.h"

#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"

namespace halftone::formats::onnx {

using ir::BinaryKind;
using ir::Dim;
using ir::ValueId;

namespace {

/// The score of masked positions.
constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// 0 where the condition holds, else -infinity.
ValueId bias_of(NodeBuilder& node, ValueId sees) {
  return emit_where(node, sees, node.add_scalar(0.0F), node.add_scalar(kMasked));
}

ValueId both(NodeBuilder& node, ValueId a, ValueId b) {
  return a == ir::kAbsent ? b : emit_binary(node, BinaryKind::kAnd, a, b);
}

bool is_open(const Scores& scores) {
  return ir::is_expression(scores.steps) || ir::is_expression(scores.keys);
}

/// i - j for step i and key j, as int64.
ValueId distances(NodeBuilder& node, const Scores& scores) {
  if (is_open(scores)) {
    const auto along = [&](std::size_t axis, Dim count) {
      return counting_along(node, axis, 2, ir::extent_of(count), ir::ElementType::kInt64);
    };
    return emit_binary(node, BinaryKind::kSub, along(0, scores.steps), along(1, scores.keys));
  }
  ir::Tensor table = node.allocate(ir::ElementType::kInt64, {scores.steps, scores.keys});
  const auto values = table.as<std::int64_t>();
  for (Dim i = 0; i < scores.steps; ++i) {
    for (Dim j = 0; j < scores.keys; ++j) {
      values[static_cast<std::size_t>(i * scores.keys + j)] = i - j;
    }
  }
  return node.add_constant(std::move(table));
}

/// Whether a step sees a key, by the distance between them; and what else it needs to.
ValueId sees_within(NodeBuilder& node, const Reach& reach, ValueId distance, ValueId sees) {
  const auto bounded = [&](BinaryKind kind, std::int64_t bound) {
    sees = both(node, sees, emit_binary(node, kind, distance, extent_value(node, bound)));
  };
  if (reach.causal) bounded(BinaryKind::kGreaterOrEqual, 0);
  if (reach.left >= 0) bounded(BinaryKind::kLessOrEqual, reach.left);
  if (reach.right >= 0) bounded(BinaryKind::kGreaterOrEqual, -reach.right);
  return sees;
}

}  // namespace

ValueId with_heads(NodeBuilder& node, ValueId x, std::int64_t heads) {
  const ir::Shape shape = node.type(x).shape;
  if (heads < 1 || shape[2] < 0 || shape[2] % heads != 0) {
    fail(ErrorKind::kShape, std::to_string(heads) + " heads do not divide " + shape.to_string());
  }
  return node.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

ValueId joined_heads(NodeBuilder& node, ValueId x) {
  const ValueId joined = emit_transpose(node, {0, 2, 1, 3}, x);
  const ir::Shape shape = node.type(joined).shape;
  return node.reshape(joined, {shape[0], shape[1], shape[2] * shape[3]});
}

ValueId repeated_heads(NodeBuilder& node, ValueId x, Dim heads) {
  const ir::Shape shape = node.type(x).shape;
  if (shape[1] == heads) return x;
  if (shape[1] < 1 || heads % shape[1] != 0) {
    fail(ErrorKind::kShape, std::to_string(heads) + " heads cannot share " + shape.to_string());
  }
  const ValueId apart = unsqueezed(node, x, 2);
  const ValueId repeated = node.emit(ir::BroadcastTo{{1, 1, heads / shape[1], 1, 1}}, {apart});
  return node.reshape(repeated, {shape[0], heads, shape[2], shape[3]});
}

ValueId reach_bias(NodeBuilder& node, const Reach& reach, const Scores& scores, Dim past) {
  if (is_open(scores)) {
    const ValueId distance = emit_binary(node, BinaryKind::kAdd, distances(node, scores),
                                         extent_value(node, ir::extent_of(past)));
    return bias_of(node, sees_within(node, reach, distance, ir::kAbsent));
  }
  ir::Tensor bias = node.allocate(ir::ElementType::kFloat32, {scores.steps, scores.keys});
  const auto values = bias.as<float>();
  for (Dim i = 0; i < scores.steps; ++i) {
    for (Dim j = 0; j < scores.keys; ++j) {
      if (reach.sees(i + past - j)) continue;
      values[static_cast<std::size_t>(i * scores.keys + j)] = kMasked;
    }
  }
  return node.add_constant(std::move(bias));
}

ValueId length_bias(NodeBuilder& node, const Reach& reach, const Scores& scores, ValueId lengths) {
  const ir::Shape shape = node.type(lengths).shape;
  if (shape.rank() != 1) {
    fail(ErrorKind::kShape, "lengths of keys: expected [batch], found " + shape.to_string());
  }
  const auto int64 = ir::ElementType::kInt64;
  const ValueId count = node.reshape(emit_cast(node, int64, lengths), {shape[0], 1, 1, 1});
  const ValueId keys = counting(node, ir::extent_of(scores.keys), int64);
  const ValueId sees = emit_binary(node, BinaryKind::kLess, keys, count);
  if (!reach.has_bounds()) return bias_of(node, sees);
  const ValueId steps = extent_value(node, ir::extent_of(scores.steps));
  const ValueId distance = emit_binary(node, BinaryKind::kAdd, distances(node, scores),
                                       emit_binary(node, BinaryKind::kSub, count, steps));
  return bias_of(node, sees_within(node, reach, distance, sees));
}

ValueId mask_bias(NodeBuilder& node, ValueId mask, Dim keys) {
  if (node.type(mask).is_dense(ir::ElementType::kBool)) mask = bias_of(node, mask);
  const ir::Shape shape = node.type(mask).shape;
  if (shape.rank() == 0 || shape.back() == 1) return mask;
  // Of open extents those are equal of which nothing else is known.
  const auto missing = (ir::extent_of(keys) - ir::extent_of(shape.back())).number();
  if (!missing || *missing <= 0) return mask;
  ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(shape.rank(), 0), {}};
  pad.after = pad.before;
  pad.after.back() = static_cast<std::size_t>(*missing);
  return node.emit(std::move(pad), {mask, node.add_scalar(kMasked)});
}

ValueId joined_bias(NodeBuilder& node, ValueId a, ValueId b) {
  if (a == ir::kAbsent || b == ir::kAbsent) return a == ir::kAbsent ? b : a;
  return emit_binary(node, BinaryKind::kAdd, a, b);
}

ValueId scaled_scores(NodeBuilder& node, ValueId q, ValueId k, float scale) {
  const ValueId product = node.emit(ir::MatMul{false, true}, {q, k});
  return emit_binary(node, BinaryKind::kMul, product, node.add_scalar(scale));
}

ValueId soft_capped(NodeBuilder& node, ValueId x, float cap) {
  if (!(cap > 0)) return x;
  const ValueId limit = node.add_scalar(cap);
  const ValueId share = emit_binary(node, BinaryKind::kDiv, x, limit);
  return emit_binary(node, BinaryKind::kMul, emit_unary(node, ir::ActivationKind::kTanh, share),
                     limit);
}

ValueId probabilities(NodeBuilder& node, ValueId biased, ValueId bias) {
  const ir::Softmax softmax{3, 1, false};
  if (bias == ir::kAbsent) return node.emit(softmax, {biased});
  const std::size_t last = node.type(bias).shape.rank() - 1;
  const ValueId best = emit_reduce(node, ir::ReduceKind::kMax, {last}, true, bias);
  const ValueId lowest = node.add_scalar(std::numeric_limits<float>::lowest());
  const ValueId sees = emit_binary(node, BinaryKind::kGreaterOrEqual, best, lowest);
  const ValueId zero = node.add_scalar(0.0F);
  const ValueId y = node.emit(softmax, {emit_where(node, sees, biased, zero)});
  return emit_where(node, sees, y, zero);
}

}  // namespace halftone::formats::onnx
