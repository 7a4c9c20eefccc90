// SPDX-License-Identifier: Apache-2.0
// Operators of language models: attention, rotary positions, products with experts.
#include <ATen/ATen.h>

#include <limits>

#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

std::int64_t extent(std::size_t number) { return static_cast<std::int64_t>(number); }

/// Queries of a batch and the tokens that they may see.
struct Attended {
  at::Tensor q;        ///< [B, T, heads D]
  at::Tensor k;        ///< [B, C, kv_heads D]
  at::Tensor v;        ///< [B, C, kv_heads E]
  at::Tensor sinks;    ///< [heads], or undefined
  at::Tensor visible;  ///< boolean, broadcasts to [B, kv_heads, heads / kv_heads, T, C]
};

/// Positions of keys up to those of the queries, the last `window` of them.
at::Tensor visible_keys(const at::Tensor& queries, const at::Tensor& keys, std::size_t window) {
  const at::Tensor is_past = keys.le(queries);
  return window == 0 ? is_past : is_past.logical_and(keys.gt(queries - extent(window)));
}

/// [B, T, heads E]. Heads that share keys are one product.
at::Tensor attend(const ir::Attention& op, const Attended& a) {
  const std::int64_t groups = extent(op.kv_heads);
  const std::int64_t heads = extent(op.heads / op.kv_heads);  // of a group
  const std::int64_t batch = a.q.size(0);
  const std::int64_t queries = a.q.size(1);
  const auto by_group = [&](const at::Tensor& x) {  // [B, groups, C, width]
    return x.reshape({batch, x.size(1), groups, -1}).transpose(1, 2);
  };
  const at::Tensor q = a.q.reshape({batch, queries, groups, heads, -1})
                           .permute({0, 2, 3, 1, 4})
                           .reshape({batch, groups, heads * queries, -1});
  at::Tensor scores = at::matmul(q, by_group(a.k).transpose(-1, -2)) * wide(op.scale);
  if (op.softcap != 0) scores = (scores / wide(op.softcap)).tanh() * wide(op.softcap);
  scores = scores.reshape({batch, groups, heads, queries, -1})
               .masked_fill(a.visible.logical_not(), -std::numeric_limits<double>::infinity());
  if (a.sinks.defined()) {
    const at::Tensor sinks = a.sinks.reshape({1, groups, heads, 1, 1});
    scores = at::cat({scores, sinks.expand({batch, groups, heads, queries, 1})}, -1);
  }
  at::Tensor shares = scores.softmax(-1);
  if (a.sinks.defined()) shares = shares.narrow(-1, 0, shares.size(-1) - 1);
  shares = shares.reshape({batch, groups, heads * queries, -1});
  return at::matmul(shares, by_group(a.v))
      .reshape({batch, groups, heads, queries, -1})
      .permute({0, 3, 1, 2, 4})
      .reshape({batch, queries, -1});
}

at::Tensor compute(const ir::Attention& op, const TorchInputs& in) {
  const at::Tensor k = in[1];
  const at::Tensor keys = at::arange(k.size(1), at::TensorOptions(at::kLong).device(k.device()));
  const at::Tensor sinks = in[ir::Attention::kSinks];
  if (!in[ir::Attention::kSlots].defined()) {
    return attend(op, {in[0], k, in[2], sinks, visible_keys(keys.unsqueeze(1), keys, op.window)});
  }
  const at::Tensor slots = resolved_indices(in[3], k.size(0));
  const at::Tensor positions = resolved_indices(in[4], k.size(1)).reshape({-1, 1, 1, 1, 1});
  return attend(op, {in[0].unsqueeze(1), k.index_select(0, slots), in[2].index_select(0, slots),
                     sinks, visible_keys(positions, keys, op.window)})
      .squeeze(1);
}

at::Tensor compute(const ir::Rotary& op, const TorchInputs& in) {
  const std::int64_t half = extent(op.dims / 2);
  const at::Tensor x = in[0].unflatten(-1, {extent(op.heads), -1});
  const at::Tensor positions = resolved_indices(in[1], in[2].size(0));
  std::vector<std::int64_t> angles = positions.sizes().vec();
  angles.insert(angles.end(), {1, half});  // of all heads
  const at::Tensor cos = in[2].index_select(0, positions.flatten()).reshape(angles);
  const at::Tensor sin = in[3].index_select(0, positions.flatten()).reshape(angles);
  const bool is_halves = op.pairing == ir::RotaryPairing::kNeox;
  const at::Tensor pairs = is_halves ? x.narrow(-1, 0, 2 * half).unflatten(-1, {2, half})
                                     : x.narrow(-1, 0, 2 * half).unflatten(-1, {half, 2});
  const std::int64_t axis = is_halves ? -2 : -1;
  const at::Tensor a = pairs.select(axis, 0);
  const at::Tensor b = pairs.select(axis, 1);
  const at::Tensor turned = at::stack({a * cos - b * sin, a * sin + b * cos}, axis).flatten(-2, -1);
  const at::Tensor rest = x.narrow(-1, 2 * half, x.size(-1) - 2 * half);
  return at::cat({turned, rest}, -1).flatten(-2, -1);
}

bool is_known(const ir::ExpertProduct& op) { return is_differentiable(op.activation); }

/// One product for each expert, with the rows that chose it.
at::Tensor compute(const ir::ExpertProduct& op, const TorchInputs& in) {
  const at::Tensor w = in[1];
  const at::Tensor chosen = resolved_indices(in[2], w.size(0));
  std::vector<std::int64_t> extents = chosen.sizes().vec();
  extents.push_back(in[0].size(-1));
  const bool has_own_rows = in[0].dim() == chosen.dim() + 1;
  const at::Tensor x =
      (has_own_rows ? in[0] : in[0].unsqueeze(-2).expand(extents)).reshape({-1, extents.back()});
  const at::Tensor experts = chosen.flatten();
  std::vector<at::Tensor> order;
  std::vector<at::Tensor> products;
  for (std::int64_t e = 0; e < w.size(0); ++e) {
    order.push_back(experts.eq(e).nonzero().flatten());
    products.push_back(at::linear(x.index_select(0, order.back()), w[e]));
  }
  const at::Tensor places = at::cat(order).argsort();
  extents.back() = w.size(1);
  return activate(op.activation, at::cat(products).index_select(0, places).reshape(extents));
}

constexpr TorchEntry kSequenceFunctions[] = {
    torch_entry<ir::Attention, compute>(),
    torch_entry<ir::Rotary, compute>(),
    torch_entry<ir::ExpertProduct, compute, is_known>(),
};

}  // namespace

std::span<const TorchEntry> sequence_functions() { return kSequenceFunctions; }

}  // namespace halftone::train
