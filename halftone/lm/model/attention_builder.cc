// SPDX-License-Identifier: Apache-2.0
// Attention of the graphs of a model.
#include "halftone/lm/model/graph_builder.h"
#include "halftone/lm/model/rotary_tables.h"

namespace halftone::lm {

ValueId GraphBuilder::attention(ValueId x) {
  ValueId mixed = d_.latent_width != 0 ? latent_attention(x) : plain_attention(x);
  if (d_.has_sub_norms) mixed = norm(mixed, WeightRole::kAttentionSubNorm);
  return product("attention/output", mixed, here(WeightRole::kAttentionOutput), d_.has_output_bias);
}

ValueId GraphBuilder::plain_attention(ValueId x) {
  const auto part = [&](const char* name, WeightRole role) {
    return product(name, x, here(role), d_.has_qkv_bias);
  };
  ValueId q = part("query", WeightRole::kQuery);
  if (d_.shares_keys(block_)) {
    q = rotated("query", normalized_heads("query", q, d_.heads, WeightRole::kQueryNorm), d_.heads);
    return mix(q, seen_.at(d_.key_block(block_)));
  }
  ValueId gate = ir::kAbsent;
  if (d_.gates_attention) {
    const ValueId pairs = heads_of("query/pairs", q, d_.heads, 2 * d_.head_width);
    gate = part_of_groups("attention/gate", pairs, d_.head_width, d_.head_width);
    q = part_of_groups("query/plain", pairs, 0, d_.head_width);
  }
  ValueId k = part("key", WeightRole::kKey);
  const bool has_values = !d_.keys_are_values || d_.is_windowed(block_);
  ValueId v = has_values ? part("value", WeightRole::kValue) : k;
  if (d_.normalizes_values) {
    const ValueId heads = heads_of("value/heads", v, d_.kv_heads, d_.value_width);
    v = rows_of("value/rows", normalized("value", heads, false), d_.kv_heads * d_.value_width);
  }
  if (d_.normalizes_rotated) {
    q = normalized_heads("query", rotated("query", q, d_.heads), d_.heads, WeightRole::kQueryNorm);
    k = normalized_heads("key", rotated("key", k, d_.kv_heads), d_.kv_heads, WeightRole::kKeyNorm);
  } else {
    q = rotated("query", normalized_heads("query", q, d_.heads, WeightRole::kQueryNorm), d_.heads);
    k = rotated("key", normalized_heads("key", k, d_.kv_heads, WeightRole::kKeyNorm), d_.kv_heads);
  }
  const ValueId mixed = mix(q, seen_[block_] = kept({k, v}));
  if (!d_.gates_attention) return mixed;
  return binary("attention/gated", ir::BinaryKind::kMul, mixed,
                node("attention/open", ir::Unary{{ir::ActivationKind::kSigmoid}}, {gate}));
}

ValueId GraphBuilder::heads_of(const std::string& name, ValueId x, std::size_t heads,
                               std::size_t width) {
  std::vector<ir::Dim> dims = lead_;
  dims.push_back(dim(heads));
  dims.push_back(dim(width));
  return node(name, ir::Reshape{Shape(std::move(dims))}, {x});
}

ValueId GraphBuilder::rows_of(const std::string& name, ValueId x, std::size_t width) {
  std::vector<ir::Dim> dims = lead_;
  dims.push_back(dim(width));
  return node(name, ir::Reshape{Shape(std::move(dims))}, {x});
}

ValueId GraphBuilder::latent_queries(ValueId x) {
  if (d_.query_latent_width != 0) {
    x = latent_norm(product("query/latent", x, here(WeightRole::kQueryLatent)),
                    WeightRole::kQueryLatentNorm);
  }
  const std::size_t plain = d_.head_width - d_.rotary_dims;
  const std::size_t axis = lead_.size() + 1;
  const ValueId q = heads_of("query/heads", product("query", x, here(WeightRole::kQuery)), d_.heads,
                             d_.head_width);
  const ValueId turned =
      rotated("query",
              rows_of("query/tails", part_of("query/tail", q, plain, d_.rotary_dims),
                      d_.heads * d_.rotary_dims),
              d_.heads);
  const ValueId whole = node("query/whole", ir::Concat{axis},
                             {part_of("query/head", q, 0, plain),
                              heads_of("query/turned", turned, d_.heads, d_.rotary_dims)});
  return rows_of("query/rows", whole, d_.heads * d_.head_width);
}

ValueId GraphBuilder::latent_attention(ValueId x) {
  const std::size_t plain = d_.head_width - d_.rotary_dims;
  const std::size_t axis = lead_.size() + 1;
  const ValueId latent = product("latent", x, here(WeightRole::kLatent));
  const ValueId row =
      latent_norm(part_of("latent/row", latent, 0, d_.latent_width), WeightRole::kLatentNorm);
  const ValueId both =
      heads_of("key_value/heads", product("key_value", row, here(WeightRole::kKeyValue)), d_.heads,
               plain + d_.value_width);
  const ValueId turned =
      rotated("key", part_of("latent/tail", latent, d_.latent_width, d_.rotary_dims), 1);
  const ValueId zeros = shared_constant("zeros", [&] {
    return ir::Tensor(ir::ElementType::kFloat32, {dim(d_.heads), dim(d_.rotary_dims)});
  });
  const ValueId shared = binary("key/shared", ir::BinaryKind::kAdd,
                                heads_of("key/turned", turned, 1, d_.rotary_dims), zeros);
  const ValueId keys =
      node("key/whole", ir::Concat{axis}, {part_of("key/head", both, 0, plain), shared});
  const ValueId values = part_of("value/heads", both, plain, d_.value_width);
  const KeysValues own = {rows_of("key/rows", keys, d_.heads * d_.head_width),
                          rows_of("value/rows", values, d_.heads * d_.value_width)};
  const ValueId q = latent_queries(x);
  return mix(q, kept(own));
}

ir::Attention GraphBuilder::attention_operator() const {
  return {.heads = d_.heads,
          .kv_heads = d_.kv_heads,
          .scale = static_cast<float>(d_.score_scale),
          .softcap = static_cast<float>(d_.score_cap),
          .window = d_.is_windowed(block_) ? d_.window : 0};
}

ValueId GraphBuilder::attend(std::vector<ValueId> inputs) {
  if (d_.has_sinks) {
    inputs.resize(ir::Attention::kSinks, ir::kAbsent);
    inputs.push_back(add_weight(here(WeightRole::kSinks)));
  }
  return node("attention", attention_operator(), std::move(inputs));
}

ValueId GraphBuilder::normalized_heads(const std::string& name, ValueId x, std::size_t heads,
                                       WeightRole role) {
  if (!d_.normalizes_heads) return x;
  const auto norm_of = [&](ValueId values) {
    const std::string norm_name(to_string(role));
    return binary(norm_name, ir::BinaryKind::kMul, normalized(norm_name, values, false),
                  add_weight(here(role)));
  };
  if (d_.normalizes_together) return norm_of(x);
  const Shape rows = graph_.value(x).type.shape;
  std::vector<ir::Dim> dims = lead_;
  dims.push_back(dim(heads));
  dims.push_back(dim(d_.head_width));
  x = node(name + "/heads", ir::Reshape{Shape(std::move(dims))}, {x});
  return node(name + "/rows", ir::Reshape{rows}, {norm_of(x)});
}

ValueId GraphBuilder::rotated(const std::string& name, ValueId x, std::size_t heads) {
  if (!d_.is_rotated(block_)) return x;
  const bool is_windowed = d_.is_windowed(block_);
  const RotaryAngles& angles = is_windowed ? d_.window_rotary : d_.rotary;
  // Blocks with a window have tables of their own only if they differ.
  const bool differs = d_.window_rotary != d_.rotary || d_.full_head_width != 0;
  const std::string table = is_windowed && differs ? "window_" : "";
  const auto rows = [&](const char* function, ir::Tensor RotaryTables::*member) {
    return shared_constant(table + "rotary/" + function,
                           [&] { return std::move(rotary_tables(d_, angles, context_).*member); });
  };
  return node(name + "/rotated",
              ir::Rotary{.heads = heads, .dims = d_.rotary_dims, .pairing = d_.pairing},
              {x, positions_, rows("cos", &RotaryTables::cos), rows("sin", &RotaryTables::sin)});
}

}  // namespace halftone::lm
