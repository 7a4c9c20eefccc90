// SPDX-License-Identifier: Apache-2.0
// ONNX's attention, decomposed into products and sums.
#include <algorithm>
#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/attention.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/subgraph.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

// Inputs of Attention behind queries, keys and values.
constexpr std::size_t kMaskInput = 3;
constexpr std::size_t kPastKeys = 4;
constexpr std::size_t kPastValues = 5;
constexpr std::size_t kLengthsInput = 6;

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

/// The cached keys or values of earlier steps, followed by those of this run.
ValueId with_past(NodeBuilder& node, ValueId x, std::size_t past) {
  return node.has_input(past) ? node.emit(ir::Concat{2}, {node.input(past), x}) : x;
}

std::int64_t window_size(NodeBuilder& node, const char* name) {
  const std::int64_t size = node.int_attribute(name, -1);
  if (size >= -1) return size;
  fail(ErrorKind::kFormat,
       std::string(name) + ": expected a number of at least -1, found " + std::to_string(size));
}

float default_scale(NodeBuilder& node, ValueId q) {
  const auto size = static_cast<float>(std::max<ir::Dim>(node.type(q).shape[3], 1));
  return node.float_attribute("scale", 1 / std::sqrt(size));
}

/// Which output of the scores a node has: 0 the product, 1 behind the soft cap, 2 with masks, 3 the
/// probabilities.
std::int64_t score_output(NodeBuilder& node) {
  const std::int64_t mode = node.int_attribute("qk_matmul_output_mode", 0);
  if (mode >= 0 && mode <= 3) return mode;
  fail(ErrorKind::kFormat,
       "qk_matmul_output_mode: expected a number from 0 to 3, found " + std::to_string(mode));
}

/// The sum of all masks; absent without any.
/// @param sees_nothing  set if a step may see no key
ValueId all_masks(NodeBuilder& node, const Scores& scores, bool& sees_nothing) {
  const Reach reach{node.int_attribute("is_causal", 0) != 0, window_size(node, "left_window_size"),
                    window_size(node, "right_window_size")};
  ValueId bias = ir::kAbsent;
  if (node.has_input(kLengthsInput)) {
    if (node.has_input(kPastKeys) || node.has_input(kPastValues)) {
      fail(ErrorKind::kFormat, "expected lengths of keys or earlier keys, found both");
    }
    bias = length_bias(node, reach, scores, node.input(kLengthsInput));
  } else if (reach.has_bounds()) {
    const ir::Dim past = node.has_input(kPastKeys) ? node.input_type(kPastKeys).shape[2] : 0;
    bias = reach_bias(node, reach, scores, past);
  }
  sees_nothing = node.has_input(kMaskInput) || node.has_input(kLengthsInput) || reach.left >= 0 ||
                 reach.right >= 0;
  if (!node.has_input(kMaskInput)) return bias;
  return joined_bias(node, bias, mask_bias(node, node.input(kMaskInput), scores.keys));
}

void build_attention(NodeBuilder& node) {
  const bool flat = node.input_type(0).shape.rank() == 3;
  const ValueId q = heads_first(node, node.input(0), "q_num_heads");
  ValueId k = with_past(node, heads_first(node, node.input(1), "kv_num_heads"), kPastKeys);
  ValueId v = with_past(node, heads_first(node, node.input(2), "kv_num_heads"), kPastValues);
  node.set_output(1, k);
  node.set_output(2, v);
  const Scores extents{node.type(q).shape[2], node.type(k).shape[2]};
  if (ir::depends_on_batch(extents.steps) || ir::depends_on_batch(extents.keys)) {
    NodeBuilder::unsupported("expected steps and keys on axes other than the batch");
  }
  k = repeated_heads(node, k, node.type(q).shape[1]);
  v = repeated_heads(node, v, node.type(q).shape[1]);
  const ValueId product = scaled_scores(node, q, k, default_scale(node, q));
  const ValueId scores = soft_capped(node, product, node.float_attribute("softcap", 0));
  bool sees_nothing = false;
  const ValueId bias = all_masks(node, extents, sees_nothing);
  const ValueId biased = joined_bias(node, scores, bias);
  const ValueId p = probabilities(node, biased, sees_nothing ? bias : ir::kAbsent);
  const ValueId outputs[] = {product, scores, biased, p};
  node.set_output(3, outputs[score_output(node)]);
  const ValueId y = node.emit(ir::MatMul{}, {p, v});
  node.set_output(0, flat ? joined_heads(node, y) : y);
}

/// What a graph attribute of one input and one output makes of a value; the value itself if it is
/// absent.
ValueId modified(NodeBuilder& node, const char* attribute, ValueId x) {
  const auto* graph = node.graph_attribute(attribute);
  if (graph == nullptr) return x;
  if (graph->input_size() != 1 || graph->output_size() != 1) {
    fail(ErrorKind::kFormat,
         std::string(attribute) + ": expected one input and one output, found " +
             std::to_string(graph->input_size()) + " and " + std::to_string(graph->output_size()));
  }
  ImportState& state = node.state();
  const std::string& name = graph->input(0).name();
  state.bind(name, x);
  const auto outputs = inline_graph(state, *graph);
  state.bindings.erase(name);
  const auto* y = std::get_if<ValueId>(&outputs[0]);
  if (y == nullptr || node.type(*y).shape != node.type(x).shape) {
    fail(ErrorKind::kShape,
         std::string(attribute) + ": expected an output " + node.type(x).shape.to_string());
  }
  return *y;
}

void build_flex_attention(NodeBuilder& node) {
  const ValueId q = node.input(0);
  for (std::size_t i = 0; i < 3; ++i) {
    if (node.input_type(i).shape.rank() == 4) continue;
    fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected 4 axes, found " +
                                node.input_type(i).shape.to_string());
  }
  const ir::Dim heads = node.type(q).shape[1];
  const ValueId k = repeated_heads(node, node.input(1), heads);
  const ValueId v = repeated_heads(node, node.input(2), heads);
  const ValueId scores = scaled_scores(node, q, k, default_scale(node, q));
  const ValueId p = probabilities(node, modified(node, "score_mod", scores), ir::kAbsent);
  node.set_output(0, node.emit(ir::MatMul{}, {modified(node, "prob_mod", p), v}));
}

constexpr ReaderEntry kAttentionReaders[] = {
    {"", "Attention", build_attention},
    {kPreviewDomain, "FlexAttention", build_flex_attention},
};

}  // namespace

std::span<const ReaderEntry> attention_readers() { return kAttentionReaders; }

}  // namespace halftone::formats::onnx
