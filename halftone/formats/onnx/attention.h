// SPDX-License-Identifier: Apache-2.0
// What the operators of attention share: heads, masks and probabilities, decomposed into products
// and sums.
#pragma once

#include <cstdint>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// [batch, steps, heads size] as [batch, steps, heads, size].
/// @throws Error kShape if the heads do not divide the last extent
ir::ValueId with_heads(NodeBuilder& node, ir::ValueId x, std::int64_t heads);

/// [batch, heads, steps, size] as [batch, steps, heads size].
ir::ValueId joined_heads(NodeBuilder& node, ir::ValueId x);

/// Repeats each head of [batch, heads, steps, size], one after the other, until there are `heads`.
/// @throws Error kShape if they cannot share them
ir::ValueId repeated_heads(NodeBuilder& node, ir::ValueId x, ir::Dim heads);

/// Which keys a step may attend to by how far they lie behind it; -1 is no bound.
struct Reach {
  bool causal = false;
  std::int64_t left = -1;
  std::int64_t right = -1;

  [[nodiscard]] bool has_bounds() const { return causal || left >= 0 || right >= 0; }
  [[nodiscard]] bool sees(std::int64_t distance) const {
    return (!causal || distance >= 0) && (left < 0 || distance <= left) &&
           (right < 0 || -distance <= right);
  }
};

/// Scores of steps by keys.
struct Scores {
  ir::Dim steps = 0;
  ir::Dim keys = 0;
};

/// 0 for the keys that a step may attend to, -infinity for others: [steps, keys].
/// @param past  number of keys before the first step
ir::ValueId reach_bias(NodeBuilder& node, const Reach& reach, const Scores& scores, ir::Dim past);

/// The same where sample b has the first lengths[b] keys, of which the last are those of the steps:
/// [batch, 1, steps or 1, keys].
/// @param lengths  [batch], integers
ir::ValueId length_bias(NodeBuilder& node, const Reach& reach, const Scores& scores,
                        ir::ValueId lengths);

/// A mask of the file, booleans or an addend, as an addend of scores; keys beyond it are masked.
ir::ValueId mask_bias(NodeBuilder& node, ir::ValueId mask, ir::Dim keys);

/// The sum of two addends of scores, of which one or both may be absent.
ir::ValueId joined_bias(NodeBuilder& node, ir::ValueId a, ir::ValueId b);

/// scale q k^T of [batch, heads, steps, size] and [batch, heads, keys, size].
ir::ValueId scaled_scores(NodeBuilder& node, ir::ValueId q, ir::ValueId k, float scale);

/// cap tanh(x / cap), or x if the cap is 0.
ir::ValueId soft_capped(NodeBuilder& node, ir::ValueId x, float cap);

/// Softmax of scores + bias along the last of four axes; a step that sees no key gets zeros.
/// @param biased  scores + bias
/// @param bias    absent where each step sees a key
ir::ValueId probabilities(NodeBuilder& node, ir::ValueId biased, ir::ValueId bias);

}  // namespace halftone::formats::onnx
