// SPDX-License-Identifier: Apache-2.0
// Operators of language models that keep a state between runs: convolution and attention of linear
// cost, and caches that are written at given positions.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/window.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ValueId;

/// A recurrence becomes the operators of each of its steps.
constexpr Dim kMaxSteps = 1024;

void require_rank(NodeBuilder& node, std::size_t i, std::size_t rank) {
  const ir::Shape& shape = node.input_type(i).shape;
  if (shape.rank() == rank) return;
  fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected " + std::to_string(rank) +
                              " axes, found " + shape.to_string());
}

/// A depthwise convolution of [batch, channels, steps] that sees the k - 1 inputs before each, of
/// which the first lie in the state.
void build_causal_convolution(NodeBuilder& node) {
  constexpr std::size_t kBias = 2;
  constexpr std::size_t kState = 3;
  require_rank(node, 0, 3);
  require_rank(node, 1, 3);
  const std::string activation =
      node.choice_attribute("activation", "none", {"none", "silu", "swish"});
  const ir::Shape weight = node.input_type(1).shape;
  const Dim before = weight[2] - 1;
  ValueId x = node.input(0);
  if (weight != ir::Shape{node.type(x).shape[1], 1, weight[2]} || before < 0) {
    fail(ErrorKind::kShape,
         "weights " + weight.to_string() + " do not fit " + node.type(x).shape.to_string());
  }
  if (before > 0 && node.has_input(kState)) {
    x = node.emit(ir::Concat{2}, {node.input(kState), x});
  } else if (before > 0) {
    const ir::Pad pad{ir::PadMode::kConstant, {0, 0, static_cast<std::size_t>(before)}, {0, 0, 0}};
    x = node.emit(pad, {x});
  }
  const ir::Conv op{
      ir::plain_window(1),
      weight[0],
      {activation == "none" ? ir::ActivationKind::kIdentity : ir::ActivationKind::kSilu}};
  std::vector<ValueId> inputs = {to_channels_last(node, x, "channels_last"),
                                 to_channels_last(node, node.input(1), "weight")};
  if (node.has_input(kBias)) inputs.push_back(node.input(kBias));
  set_image(node, node.emit(op, std::move(inputs)));
  if (!node.has_output(1)) return;
  const auto kept = static_cast<std::size_t>(before);
  const Dim first = checked_dim(ir::extent_of(node.type(x).shape[2]) - before);
  node.set_output(1, node.emit(ir::Slice{2, static_cast<std::size_t>(first), 1, kept}, {x}));
}

/// Heads and extents of LinearAttention.
struct LinearHeads {
  Dim batch;
  Dim steps;
  Dim heads;   ///< of keys and values
  Dim shared;  ///< queries for each of them
  Dim key;     ///< numbers of a key
  Dim value;   ///< numbers of a value
};

LinearHeads linear_heads(NodeBuilder& node) {
  for (std::size_t i = 0; i < 3; ++i) require_rank(node, i, 3);
  const ir::Shape q = node.input_type(0).shape;
  const ir::Shape k = node.input_type(1).shape;
  const ir::Shape v = node.input_type(2).shape;
  const Dim all = node.int_attribute("q_num_heads", 0);
  const Dim heads = node.int_attribute("kv_num_heads", 0);
  const bool fits = heads > 0 && all > 0 && all % heads == 0 && q[2] > 0 && q[2] % all == 0 &&
                    k[2] == q[2] / all * heads && v[2] > 0 && v[2] % heads == 0;
  if (!fits) {
    fail(ErrorKind::kShape, std::to_string(all) + " heads of queries and " + std::to_string(heads) +
                                " of keys and values do not fit " + q.to_string() + ", " +
                                k.to_string() + " and " + v.to_string());
  }
  if (q[1] < 1 || q[1] > kMaxSteps) {
    NodeBuilder::unsupported("expected 1 to " + std::to_string(kMaxSteps) + " steps, found " +
                             ir::to_string(q[1]));
  }
  return {q[0], q[1], heads, all / heads, q[2] / all, v[2] / heads};
}

/// Step t of an input [batch, steps, n] with other axes than the first.
ValueId step_of(NodeBuilder& node, ValueId x, Dim t, std::vector<Dim> dims) {
  const ir::Slice slice{1, static_cast<std::size_t>(t), 1, 1};
  dims.insert(dims.begin(), node.type(x).shape[0]);
  return node.reshape(node.emit(slice, {x}), ir::Shape(std::move(dims)));
}

/// The inputs of a rule: those that it lacks are absent.
struct LinearRule {
  ValueId decay = ir::kAbsent;  ///< e^decay
  Dim decay_size = 1;           ///< numbers of a head
  ValueId beta = ir::kAbsent;
  Dim beta_heads = 1;
};

LinearRule linear_rule(NodeBuilder& node, const LinearHeads& n) {
  constexpr std::size_t kDecay = 4;
  constexpr std::size_t kBeta = 5;
  const std::string name = node.choice_attribute("update_rule", "gated_delta",
                                                 {"linear", "gated", "delta", "gated_delta"});
  const bool decays = name.starts_with("gated");
  const bool corrects = name.ends_with("delta");
  LinearRule rule;
  if (decays != node.has_input(kDecay) || corrects != node.has_input(kBeta)) {
    fail(ErrorKind::kFormat, "update_rule '" + name + "': expected " + (decays ? "a" : "no") +
                                 " decay and " + (corrects ? "a" : "no") + " beta");
  }
  if (decays) {
    rule.decay = emit_unary(node, ir::ActivationKind::kExp, node.input(kDecay));
    require_rank(node, kDecay, 3);
    rule.decay_size = node.input_type(kDecay).shape[2] / n.heads;
  }
  if (corrects) {
    require_rank(node, kBeta, 3);
    rule.beta = node.input(kBeta);
    rule.beta_heads = node.input_type(kBeta).shape[2];
  }
  const bool fits = (rule.decay_size == 1 || rule.decay_size == n.key) &&
                    (rule.beta_heads == 1 || rule.beta_heads == n.heads);
  if (!fits) fail(ErrorKind::kShape, "decay or beta do not fit the heads of keys");
  return rule;
}

/// The state after step t: s = e^decay s, s += k (beta (v - k^T s))^T.
ValueId next_state(NodeBuilder& node, const LinearHeads& n, const LinearRule& rule, ValueId state,
                   Dim t) {
  const auto product = [&](ValueId a, ValueId b) {
    return emit_binary(node, BinaryKind::kMul, a, b);
  };
  if (rule.decay != ir::kAbsent) {
    state = product(state, step_of(node, rule.decay, t, {n.heads, rule.decay_size, 1}));
  }
  ValueId v = step_of(node, node.input(2), t, {n.heads, 1, n.value});
  if (rule.beta != ir::kAbsent) {
    const ValueId row = step_of(node, node.input(1), t, {n.heads, 1, n.key});
    const ValueId known = node.emit(ir::MatMul{}, {row, state});
    v = product(step_of(node, rule.beta, t, {rule.beta_heads, 1, 1}),
                emit_binary(node, BinaryKind::kSub, v, known));
  }
  const ValueId column = step_of(node, node.input(1), t, {n.heads, n.key, 1});
  return emit_binary(node, BinaryKind::kAdd, state, product(column, v));
}

/// y_t = scale q_t^T s_t, with the state of next_state().
void build_linear_attention(NodeBuilder& node) {
  constexpr std::size_t kState = 3;
  const LinearHeads n = linear_heads(node);
  const LinearRule rule = linear_rule(node, n);
  const ir::Shape state_shape{n.batch, n.heads, n.key, n.value};
  ValueId state = node.has_input(kState)
                      ? node.input(kState)
                      : node.emit(ir::BroadcastTo{state_shape}, {node.add_scalar(0.0F)});
  if (node.type(state).shape != state_shape) {
    fail(ErrorKind::kShape, "input 3: expected " + state_shape.to_string() + ", found " +
                                node.type(state).shape.to_string());
  }
  const float stated = node.float_attribute("scale", 0);
  const float scale = stated == 0 ? 1 / std::sqrt(static_cast<float>(n.key)) : stated;
  std::vector<ValueId> rows;
  for (Dim t = 0; t < n.steps; ++t) {
    state = next_state(node, n, rule, state, t);
    const ValueId q = step_of(node, node.input(0), t, {n.heads, n.shared, n.key});
    const ValueId y = node.emit(ir::MatMul{}, {q, state});
    rows.push_back(node.reshape(y, {n.batch, 1, n.heads * n.shared * n.value}));
  }
  const ValueId all = rows.size() == 1 ? rows[0] : node.emit(ir::Concat{1}, rows);
  node.set_output(0, emit_binary(node, BinaryKind::kMul, all, node.add_scalar(scale)));
  node.set_output(1, state);
}

/// The index m - start[b] of an update for position m of a cache's axis, as int64 [batch, 1..,
/// extent, 1..].
ValueId update_indices(NodeBuilder& node, const ir::Shape& cache, std::size_t axis,
                       bool is_circular) {
  const Extent extent = ir::extent_of(cache[axis]);
  const ValueId all = counting_along(node, axis, cache.rank(), extent, ir::ElementType::kInt64);
  if (!node.has_input(2)) return all;
  std::vector<Dim> batch(cache.rank(), 1);
  batch[0] = cache[0];
  const ValueId start = node.reshape(emit_cast(node, ir::ElementType::kInt64, node.input(2)),
                                     ir::Shape(std::move(batch)));
  const ValueId index = emit_binary(node, BinaryKind::kSub, all, start);
  if (!is_circular) return index;
  return emit_binary(node, BinaryKind::kMod, index, extent_value(node, extent, "extent"));
}

/// A cache with an update written along an axis, from a position of each sample on.
void build_tensor_scatter(NodeBuilder& node) {
  const ValueId cache = node.input(0);
  const ValueId update = node.input(1);
  const ir::Shape shape = node.type(cache).shape;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", -2), shape.rank());
  const bool is_circular =
      node.choice_attribute("mode", "linear", {"linear", "circular"}) == "circular";
  const ir::Shape given = node.type(update).shape;
  const bool is_open = ir::is_expression(shape[axis]) || ir::is_expression(given[axis]);
  const bool fits = is_open || (given[axis] >= 1 && given[axis] <= shape[axis]);
  if (axis == 0 || given.rank() != shape.rank() || !fits) {
    fail(ErrorKind::kShape, "an update " + given.to_string() + " along axis " +
                                std::to_string(axis) + " does not fit " + shape.to_string());
  }
  const Extent count = ir::extent_of(given[axis]);
  const ValueId index = update_indices(node, shape, axis, is_circular);
  const auto whole = [&](const Extent& value) { return extent_value(node, value, "extent"); };
  const ValueId written = emit_binary(
      node, BinaryKind::kAnd, emit_binary(node, BinaryKind::kGreaterOrEqual, index, whole(0)),
      emit_binary(node, BinaryKind::kLess, index, whole(count)));
  const ValueId inside = emit_binary(node, BinaryKind::kMin, whole(count - 1),
                                     emit_binary(node, BinaryKind::kMax, whole(0), index));
  std::vector<Dim> dims(given.dims().begin(), given.dims().end());
  dims[axis] = shape[axis];
  const ValueId indices = node.emit(ir::BroadcastTo{ir::Shape(std::move(dims))}, {inside});
  const ValueId values = node.emit(ir::GatherElements{axis}, {update, indices});
  node.set_output(0, emit_where(node, written, values, cache));
}

constexpr ReaderEntry kStateReaders[] = {
    {"", "CausalConvWithState", build_causal_convolution},
    {"", "LinearAttention", build_linear_attention},
    {"", "TensorScatter", build_tensor_scatter},
};

}  // namespace

std::span<const ReaderEntry> state_readers() { return kStateReaders; }

}  // namespace halftone::formats::onnx
