// SPDX-License-Identifier: Apache-2.0
// Attention and rotary embedding, decomposed into products and sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ValueId;

/// The score of masked positions.
constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// [batch, steps, heads size] as [batch, steps, heads, size].
ValueId with_heads(NodeBuilder& node, ValueId x, std::int64_t heads) {
  const ir::Shape shape = node.type(x).shape;
  if (heads < 1 || shape[2] < 0 || shape[2] % heads != 0) {
    fail(ErrorKind::kShape, std::to_string(heads) + " heads do not divide " + shape.to_string());
  }
  return node.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

/// An operand as [batch, heads, steps, size], from either layout of the file.
ValueId heads_first(NodeBuilder& node, ValueId x, const char* attribute) {
  const std::size_t rank = node.type(x).shape.rank();
  if (rank == 4) return x;
  if (rank != 3) {
    fail(ErrorKind::kShape, "expected 3 or 4 axes, found " + node.type(x).shape.to_string());
  }
  const std::int64_t heads = node.int_attribute(attribute, 0);
  return emit_transpose(node, {0, 2, 1, 3}, with_heads(node, x, heads));
}

/// Repeats each head, one after the other, until there are `heads`.
ValueId repeated_heads(NodeBuilder& node, ValueId x, ir::Dim heads) {
  const ir::Shape shape = node.type(x).shape;
  if (shape[1] == heads) return x;
  if (shape[1] < 1 || heads % shape[1] != 0) {
    fail(ErrorKind::kShape, std::to_string(heads) + " heads cannot share " + shape.to_string());
  }
  const ValueId apart = unsqueezed(node, x, 2);
  const ValueId repeated = node.emit(ir::BroadcastTo{{1, 1, heads / shape[1], 1, 1}}, {apart});
  return node.reshape(repeated, {shape[0], heads, shape[2], shape[3]});
}

/// 0 for keys that a step may attend to, -infinity for later keys.
ValueId causal_bias(NodeBuilder& node, ir::Dim steps, ir::Dim keys, ir::Dim past) {
  ir::Tensor bias = node.allocate(ir::ElementType::kFloat32, {steps, keys});
  const auto values = bias.as<float>();
  for (ir::Dim i = 0; i < steps; ++i) {
    for (ir::Dim j = i + past + 1; j < keys; ++j) {
      values[static_cast<std::size_t>(i * keys + j)] = kMasked;
    }
  }
  return node.add_constant(std::move(bias));
}

/// The file's mask as an addend of the scores; keys beyond the mask are masked.
ValueId mask_bias(NodeBuilder& node, ValueId mask, ir::Dim keys) {
  if (node.type(mask).is_dense(ir::ElementType::kBool)) {
    mask = emit_where(node, mask, node.add_scalar(0.0F), node.add_scalar(kMasked));
  }
  const ir::Shape shape = node.type(mask).shape;
  if (shape.rank() == 0 || shape.back() == 1 || shape.back() >= keys) return mask;
  ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(shape.rank(), 0), {}};
  pad.after = pad.before;
  pad.after.back() = static_cast<std::size_t>(keys - shape.back());
  return node.emit(std::move(pad), {mask, node.add_scalar(kMasked)});
}

/// Softmax of scores + bias; a step without visible keys gets zeros.
ValueId probabilities(NodeBuilder& node, ValueId scores, ValueId bias, bool may_see_nothing) {
  const ir::Softmax softmax{3, 1, false};
  if (bias == ir::kAbsent) return node.emit(softmax, {scores});
  scores = emit_binary(node, BinaryKind::kAdd, scores, bias);
  if (!may_see_nothing) return node.emit(softmax, {scores});
  const std::size_t last = node.type(bias).shape.rank() - 1;
  const ValueId best = emit_reduce(node, ir::ReduceKind::kMax, {last}, true, bias);
  const ValueId lowest = node.add_scalar(std::numeric_limits<float>::lowest());
  const ValueId sees = emit_binary(node, BinaryKind::kGreaterOrEqual, best, lowest);
  const ValueId zero = node.add_scalar(0.0F);
  const ValueId y = node.emit(softmax, {emit_where(node, sees, scores, zero)});
  return emit_where(node, sees, y, zero);
}

/// The cached keys or values of earlier steps, followed by those of this run.
ValueId with_past(NodeBuilder& node, ValueId x, std::size_t past) {
  return node.has_input(past) ? node.emit(ir::Concat{2}, {node.input(past), x}) : x;
}

void refuse_variants(NodeBuilder& node) {
  if (node.has_output(3)) NodeBuilder::unsupported("scores as an output are not supported");
  if (node.has_input(6))
    NodeBuilder::unsupported("key lengths that differ between samples are not supported");
  if (node.int_attribute("left_window_size", -1) >= 0 ||
      node.int_attribute("right_window_size", -1) >= 0) {
    NodeBuilder::unsupported("sliding windows are not supported");
  }
}

ValueId scaled_scores(NodeBuilder& node, ValueId q, ValueId k) {
  const auto size = static_cast<float>(std::max<ir::Dim>(node.type(q).shape[3], 1));
  const float scale = node.float_attribute("scale", 1 / std::sqrt(size));
  const ValueId product = node.emit(ir::MatMul{false, true}, {q, k});
  const ValueId scores = emit_binary(node, BinaryKind::kMul, product, node.add_scalar(scale));
  const float cap = node.float_attribute("softcap", 0);
  if (!(cap > 0)) return scores;
  const ValueId limit = node.add_scalar(cap);
  const ValueId share = emit_binary(node, BinaryKind::kDiv, scores, limit);
  return emit_binary(node, BinaryKind::kMul, emit_unary(node, ir::ActivationKind::kTanh, share),
                     limit);
}

/// x cos - y sin and x sin + y cos.
std::pair<ValueId, ValueId> rotated(NodeBuilder& node, ValueId x, ValueId y, ValueId cos,
                                    ValueId sin) {
  const auto product = [&](ValueId a, ValueId b) {
    return emit_binary(node, BinaryKind::kMul, a, b);
  };
  return {emit_binary(node, BinaryKind::kSub, product(x, cos), product(y, sin)),
          emit_binary(node, BinaryKind::kAdd, product(x, sin), product(y, cos))};
}

ValueId part(NodeBuilder& node, ValueId x, std::size_t begin, std::int64_t step, ir::Dim count) {
  const std::size_t last = node.type(x).shape.rank() - 1;
  return node.emit(ir::Slice{last, begin, step, static_cast<std::size_t>(count)}, {x});
}

/// The rows of a table at the given positions, as [batch, steps, 1, size].
ValueId angles(NodeBuilder& node, std::size_t input) {
  ValueId table = node.input(input);
  if (node.has_input(3)) table = node.emit(ir::Gather{0}, {table, node.input(3)});
  if (node.type(table).shape.rank() != 3) {
    fail(ErrorKind::kShape, "input " + std::to_string(input) +
                                ": expected angles of every step, found " +
                                node.type(table).shape.to_string());
  }
  return unsqueezed(node, table, 2);
}

void build_attention(NodeBuilder& node) {
  refuse_variants(node);
  const bool flat = node.input_type(0).shape.rank() == 3;
  const ValueId q = heads_first(node, node.input(0), "q_num_heads");
  ValueId k = with_past(node, heads_first(node, node.input(1), "kv_num_heads"), 4);
  ValueId v = with_past(node, heads_first(node, node.input(2), "kv_num_heads"), 5);
  node.set_output(1, k);
  node.set_output(2, v);
  const ir::Dim heads = node.type(q).shape[1];
  const ir::Dim steps = node.type(q).shape[2];
  const ir::Dim keys = node.type(k).shape[2];
  const ir::Dim past = node.has_input(4) ? node.input_type(4).shape[2] : 0;
  if (steps < 0 || keys < 0)
    NodeBuilder::unsupported("expected steps and keys on axes other than the batch");
  k = repeated_heads(node, k, heads);
  v = repeated_heads(node, v, heads);
  ValueId bias = ir::kAbsent;
  if (node.int_attribute("is_causal", 0) != 0) bias = causal_bias(node, steps, keys, past);
  if (node.has_input(3)) {
    const ValueId mask = mask_bias(node, node.input(3), keys);
    bias = bias == ir::kAbsent ? mask : emit_binary(node, BinaryKind::kAdd, bias, mask);
  }
  const ValueId p = probabilities(node, scaled_scores(node, q, k), bias, node.has_input(3));
  const ValueId y = node.emit(ir::MatMul{}, {p, v});
  if (!flat) {
    node.set_output(0, y);
    return;
  }
  const ValueId joined = emit_transpose(node, {0, 2, 1, 3}, y);
  const ir::Shape shape = node.type(joined).shape;
  node.set_output(0, node.reshape(joined, {shape[0], shape[1], shape[2] * shape[3]}));
}

void build_rotary_embedding(NodeBuilder& node) {
  const ValueId given = node.input(0);
  const ir::Shape given_shape = node.type(given).shape;
  const bool flat = given_shape.rank() == 3;
  if (!flat && given_shape.rank() != 4) {
    fail(ErrorKind::kShape, "expected 3 or 4 axes, found " + given_shape.to_string());
  }
  const ValueId x = flat ? with_heads(node, given, node.int_attribute("num_heads", 0))
                         : emit_transpose(node, {0, 2, 1, 3}, given);
  const ir::Shape shape = node.type(x).shape;
  const std::int64_t wanted = node.int_attribute("rotary_embedding_dim", 0);
  const std::int64_t size = wanted == 0 ? shape[3] : wanted;
  if (size < 2 || size > shape[3] || size % 2 != 0) {
    fail(ErrorKind::kShape, "rotary_embedding_dim: expected an even number from 2 to " +
                                std::to_string(shape[3]) + ", found " + std::to_string(size));
  }
  const ir::Dim half = size / 2;
  const bool interleaved = node.int_attribute("interleaved", 0) != 0;
  const ValueId first = part(node, x, 0, interleaved ? 2 : 1, half);
  const ValueId second =
      part(node, x, interleaved ? 1 : static_cast<std::size_t>(half), interleaved ? 2 : 1, half);
  auto [real, imaginary] = rotated(node, first, second, angles(node, 1), angles(node, 2));
  ValueId y = ir::kAbsent;
  if (interleaved) {
    const ValueId pairs =
        node.emit(ir::Concat{4}, {unsqueezed(node, real, 4), unsqueezed(node, imaginary, 4)});
    y = node.reshape(pairs, {shape[0], shape[1], shape[2], size});
  } else {
    y = node.emit(ir::Concat{3}, {real, imaginary});
  }
  if (size < shape[3]) {
    const ValueId rest = part(node, x, static_cast<std::size_t>(size), 1, shape[3] - size);
    y = node.emit(ir::Concat{3}, {y, rest});
  }
  node.set_output(0, flat ? node.reshape(y, given_shape) : emit_transpose(node, {0, 2, 1, 3}, y));
}

constexpr ReaderEntry kAttentionReaders[] = {
    {"", "Attention", build_attention},
    {"", "RotaryEmbedding", build_rotary_embedding},
};

}  // namespace

std::span<const ReaderEntry> attention_readers() { return kAttentionReaders; }

}  // namespace halftone::formats::onnx
