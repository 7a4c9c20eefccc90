// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/tensor_names.h"

#include <algorithm>
#include <iterator>

namespace halftone::lm {
namespace {

/// What a tensor of a file holds.
enum class Holds : std::uint8_t {
  kOne,
  kQueryKeyValue,   ///< the outputs of all three, in this order
  kGateUp,          ///< the outputs of both, in this order
  kExperts,         ///< one matrix per expert
  kExpertsGateUp,   ///< both matrices per expert
  kFeedForwardNorm  ///< the norm before the feed-forward network, unless there are post-norms
};

struct NameRow {
  Role role;
  Naming naming;
  const char* pattern;  ///< {} is the block, {e} the expert
  Holds holds = Holds::kOne;
};

constexpr NameRow kGgufNames[] = {
    {Role::kTokenEmbedding, Naming::kGguf, "token_embd"},
    {Role::kPositionEmbedding, Naming::kGguf, "position_embd"},
    {Role::kFinalNorm, Naming::kGguf, "output_norm"},
    {Role::kHead, Naming::kGguf, "output"},
    {Role::kAttentionNorm, Naming::kGguf, "blk.{}.attn_norm"},
    {Role::kQuery, Naming::kGguf, "blk.{}.attn_q"},
    {Role::kQuery, Naming::kGguf, "blk.{}.attn_qkv", Holds::kQueryKeyValue},
    {Role::kKey, Naming::kGguf, "blk.{}.attn_k"},
    {Role::kKey, Naming::kGguf, "blk.{}.attn_qkv", Holds::kQueryKeyValue},
    {Role::kValue, Naming::kGguf, "blk.{}.attn_v"},
    {Role::kValue, Naming::kGguf, "blk.{}.attn_qkv", Holds::kQueryKeyValue},
    {Role::kQueryNorm, Naming::kGguf, "blk.{}.attn_q_norm"},
    {Role::kKeyNorm, Naming::kGguf, "blk.{}.attn_k_norm"},
    {Role::kAttentionSubNorm, Naming::kGguf, "blk.{}.attn_sub_norm"},
    {Role::kAttentionOutput, Naming::kGguf, "blk.{}.attn_output"},
    {Role::kAttentionPostNorm, Naming::kGguf, "blk.{}.post_attention_norm"},
    {Role::kFeedForwardNorm, Naming::kGguf, "blk.{}.ffn_norm"},
    {Role::kGate, Naming::kGguf, "blk.{}.ffn_gate"},
    {Role::kGate, Naming::kGguf, "blk.{}.ffn_up", Holds::kGateUp},
    {Role::kUp, Naming::kGguf, "blk.{}.ffn_up"},
    {Role::kUp, Naming::kGguf, "blk.{}.ffn_up", Holds::kGateUp},
    {Role::kFeedForwardSubNorm, Naming::kGguf, "blk.{}.ffn_sub_norm"},
    {Role::kDown, Naming::kGguf, "blk.{}.ffn_down"},
    {Role::kFeedForwardPostNorm, Naming::kGguf, "blk.{}.post_ffw_norm"},
    {Role::kRouter, Naming::kGguf, "blk.{}.ffn_gate_inp"},
    {Role::kExpertGate, Naming::kGguf, "blk.{}.ffn_gate_exps", Holds::kExperts},
    {Role::kExpertGate, Naming::kGguf, "blk.{}.ffn_gate.{e}"},
    {Role::kExpertUp, Naming::kGguf, "blk.{}.ffn_up_exps", Holds::kExperts},
    {Role::kExpertUp, Naming::kGguf, "blk.{}.ffn_up.{e}"},
    {Role::kExpertDown, Naming::kGguf, "blk.{}.ffn_down_exps", Holds::kExperts},
    {Role::kExpertDown, Naming::kGguf, "blk.{}.ffn_down.{e}"},
    {Role::kSharedGate, Naming::kGguf, "blk.{}.ffn_gate_shexp"},
    {Role::kSharedUp, Naming::kGguf, "blk.{}.ffn_up_shexp"},
    {Role::kSharedDown, Naming::kGguf, "blk.{}.ffn_down_shexp"},
    {Role::kSharedRouter, Naming::kGguf, "blk.{}.ffn_gate_inp_shexp"},
};

constexpr NameRow kHfNames[] = {
    {Role::kTokenEmbedding, Naming::kHf, "embed_tokens"},
    {Role::kFinalNorm, Naming::kHf, "norm"},
    {Role::kHead, Naming::kHf, "lm_head"},
    {Role::kAttentionNorm, Naming::kHf, "layers.{}.input_layernorm"},
    {Role::kQuery, Naming::kHf, "layers.{}.self_attn.q_proj"},
    {Role::kQuery, Naming::kHf, "layers.{}.self_attn.qkv_proj", Holds::kQueryKeyValue},
    {Role::kKey, Naming::kHf, "layers.{}.self_attn.k_proj"},
    {Role::kKey, Naming::kHf, "layers.{}.self_attn.qkv_proj", Holds::kQueryKeyValue},
    {Role::kValue, Naming::kHf, "layers.{}.self_attn.v_proj"},
    {Role::kValue, Naming::kHf, "layers.{}.self_attn.qkv_proj", Holds::kQueryKeyValue},
    {Role::kQueryNorm, Naming::kHf, "layers.{}.self_attn.q_norm"},
    {Role::kKeyNorm, Naming::kHf, "layers.{}.self_attn.k_norm"},
    {Role::kAttentionSubNorm, Naming::kHf, "layers.{}.self_attn.attn_sub_norm"},
    {Role::kAttentionOutput, Naming::kHf, "layers.{}.self_attn.o_proj"},
    {Role::kAttentionPostNorm, Naming::kHf, "layers.{}.post_attention_layernorm"},
    {Role::kFeedForwardNorm, Naming::kHf, "layers.{}.post_attention_layernorm",
     Holds::kFeedForwardNorm},
    {Role::kFeedForwardNorm, Naming::kHf, "layers.{}.pre_feedforward_layernorm"},
    {Role::kGate, Naming::kHf, "layers.{}.mlp.gate_proj"},
    {Role::kGate, Naming::kHf, "layers.{}.mlp.gate_up_proj", Holds::kGateUp},
    {Role::kUp, Naming::kHf, "layers.{}.mlp.up_proj"},
    {Role::kUp, Naming::kHf, "layers.{}.mlp.gate_up_proj", Holds::kGateUp},
    {Role::kFeedForwardSubNorm, Naming::kHf, "layers.{}.mlp.ffn_sub_norm"},
    {Role::kDown, Naming::kHf, "layers.{}.mlp.down_proj"},
    {Role::kFeedForwardPostNorm, Naming::kHf, "layers.{}.post_feedforward_layernorm"},
    {Role::kRouter, Naming::kHf, "layers.{}.mlp.gate"},
    {Role::kRouter, Naming::kHf, "layers.{}.block_sparse_moe.gate"},
    {Role::kExpertGate, Naming::kHf, "layers.{}.mlp.experts.{e}.gate_proj"},
    {Role::kExpertGate, Naming::kHf, "layers.{}.block_sparse_moe.experts.{e}.w1"},
    {Role::kExpertGate, Naming::kHf, "layers.{}.mlp.experts.gate_up_proj", Holds::kExpertsGateUp},
    {Role::kExpertUp, Naming::kHf, "layers.{}.mlp.experts.{e}.up_proj"},
    {Role::kExpertUp, Naming::kHf, "layers.{}.block_sparse_moe.experts.{e}.w3"},
    {Role::kExpertUp, Naming::kHf, "layers.{}.mlp.experts.gate_up_proj", Holds::kExpertsGateUp},
    {Role::kExpertDown, Naming::kHf, "layers.{}.mlp.experts.{e}.down_proj"},
    {Role::kExpertDown, Naming::kHf, "layers.{}.block_sparse_moe.experts.{e}.w2"},
    {Role::kExpertDown, Naming::kHf, "layers.{}.mlp.experts.down_proj", Holds::kExperts},
    {Role::kSharedGate, Naming::kHf, "layers.{}.mlp.shared_expert.gate_proj"},
    {Role::kSharedUp, Naming::kHf, "layers.{}.mlp.shared_expert.up_proj"},
    {Role::kSharedDown, Naming::kHf, "layers.{}.mlp.shared_expert.down_proj"},
    {Role::kSharedRouter, Naming::kHf, "layers.{}.mlp.shared_expert_gate"},
    {Role::kTokenEmbedding, Naming::kHfGpt2, "wte"},
    {Role::kPositionEmbedding, Naming::kHfGpt2, "wpe"},
    {Role::kFinalNorm, Naming::kHfGpt2, "ln_f"},
    {Role::kHead, Naming::kHfGpt2, "lm_head"},
    {Role::kAttentionNorm, Naming::kHfGpt2, "h.{}.ln_1"},
    {Role::kQuery, Naming::kHfGpt2, "h.{}.attn.c_attn", Holds::kQueryKeyValue},
    {Role::kKey, Naming::kHfGpt2, "h.{}.attn.c_attn", Holds::kQueryKeyValue},
    {Role::kValue, Naming::kHfGpt2, "h.{}.attn.c_attn", Holds::kQueryKeyValue},
    {Role::kAttentionOutput, Naming::kHfGpt2, "h.{}.attn.c_proj"},
    {Role::kFeedForwardNorm, Naming::kHfGpt2, "h.{}.ln_2"},
    {Role::kUp, Naming::kHfGpt2, "h.{}.mlp.c_fc"},
    {Role::kDown, Naming::kHfGpt2, "h.{}.mlp.c_proj"},
};

std::size_t width(const Description& d) { return d.width; }
std::size_t vocabulary(const Description& d) { return d.vocabulary; }
std::size_t context(const Description& d) { return d.context; }
std::size_t query_width(const Description& d) { return d.heads * d.head_width; }
std::size_t key_width(const Description& d) { return d.kv_heads * d.head_width; }
std::size_t value_width(const Description& d) { return d.kv_heads * d.value_width; }
std::size_t mixed_width(const Description& d) { return d.heads * d.value_width; }
std::size_t head_width(const Description& d) { return d.head_width; }
std::size_t inner(const Description& d) { return d.inner; }
std::size_t shared_inner(const Description& d) { return d.shared_inner; }
std::size_t experts(const Description& d) { return d.experts; }
std::size_t one(const Description& /*d*/) { return 1; }

/// @param inputs  null: a vector
struct RoleRow {
  Role role;
  std::string_view name;
  std::size_t (*outputs)(const Description&);
  std::size_t (*inputs)(const Description&) = nullptr;
};

constexpr RoleRow kRoles[] = {
    {Role::kTokenEmbedding, "token embedding", vocabulary, width},
    {Role::kPositionEmbedding, "position embedding", context, width},
    {Role::kFinalNorm, "final norm", width},
    {Role::kHead, "head", vocabulary, width},
    {Role::kAttentionNorm, "attention norm", width},
    {Role::kQuery, "attention query", query_width, width},
    {Role::kKey, "attention key", key_width, width},
    {Role::kValue, "attention value", value_width, width},
    {Role::kQueryNorm, "query norm", head_width},
    {Role::kKeyNorm, "key norm", head_width},
    {Role::kAttentionSubNorm, "attention sub-norm", mixed_width},
    {Role::kAttentionOutput, "attention output", width, mixed_width},
    {Role::kAttentionPostNorm, "attention post-norm", width},
    {Role::kFeedForwardNorm, "feed-forward norm", width},
    {Role::kGate, "feed-forward gate", inner, width},
    {Role::kUp, "feed-forward up", inner, width},
    {Role::kFeedForwardSubNorm, "feed-forward sub-norm", inner},
    {Role::kDown, "feed-forward down", width, inner},
    {Role::kFeedForwardPostNorm, "feed-forward post-norm", width},
    {Role::kRouter, "router", experts, width},
    {Role::kSharedGate, "gate of the shared expert", shared_inner, width},
    {Role::kSharedUp, "up of the shared expert", shared_inner, width},
    {Role::kSharedDown, "down of the shared expert", width, shared_inner},
    {Role::kSharedRouter, "router of the shared expert", one, width},
    {Role::kExpertGate, "gate of an expert", inner, width},
    {Role::kExpertUp, "up of an expert", inner, width},
    {Role::kExpertDown, "down of an expert", width, inner},
};

constexpr bool has_all_roles() {
  for (std::size_t i = 0; i < std::size(kRoles); ++i) {
    if (kRoles[i].role != static_cast<Role>(i)) return false;
  }
  return std::size(kRoles) == static_cast<std::size_t>(Role::kCount);
}
static_assert(has_all_roles());

const RoleRow& row_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

/// Adds the tensors of one model or block.
class WeightList {
 public:
  void add(Role role, bool has_bias = false, std::size_t experts = 1) {
    for (std::size_t expert = 0; expert < experts; ++expert) {
      ids_.push_back({role, block, Part::kWeight, expert});
    }
    if (has_bias) ids_.push_back({role, block, Part::kBias, 0});
  }
  void add_if(bool is_there, Role role, bool has_bias = false) {
    if (is_there) add(role, has_bias);
  }
  std::vector<WeightId> take() { return std::move(ids_); }

  std::size_t block = 0;

 private:
  std::vector<WeightId> ids_;
};

void list_attention(const Description& d, WeightList& list) {
  const bool has_norm_bias = d.norm == Norm::kLayer;
  list.add(Role::kAttentionNorm, has_norm_bias);
  for (const Role role : {Role::kQuery, Role::kKey, Role::kValue}) list.add(role, d.has_qkv_bias);
  list.add_if(d.normalizes_heads, Role::kQueryNorm);
  list.add_if(d.normalizes_heads, Role::kKeyNorm);
  list.add_if(d.has_sub_norms, Role::kAttentionSubNorm, has_norm_bias);
  list.add(Role::kAttentionOutput, d.has_output_bias);
  list.add_if(d.has_post_norms, Role::kAttentionPostNorm, has_norm_bias);
}

void list_feed_forward(const Description& d, WeightList& list) {
  const bool has_norm_bias = d.norm == Norm::kLayer;
  list.add(Role::kFeedForwardNorm, has_norm_bias);
  if (d.experts == 0) {
    list.add_if(d.is_gated, Role::kGate, d.has_ffn_bias);
    list.add(Role::kUp, d.has_ffn_bias);
    list.add_if(d.has_sub_norms, Role::kFeedForwardSubNorm, has_norm_bias);
    list.add(Role::kDown, d.has_ffn_bias);
  } else {
    list.add(Role::kRouter);
    list.add(Role::kExpertGate, false, d.experts);
    list.add(Role::kExpertUp, false, d.experts);
    list.add(Role::kExpertDown, false, d.experts);
  }
  if (d.shared_inner != 0) {
    for (const Role role : {Role::kSharedGate, Role::kSharedUp, Role::kSharedDown}) list.add(role);
    list.add_if(d.has_shared_gate, Role::kSharedRouter);
  }
  list.add_if(d.has_post_norms, Role::kFeedForwardPostNorm, has_norm_bias);
}

std::string filled(std::string pattern, const WeightId& id) {
  const auto replace = [&](std::string_view sign, std::size_t number) {
    const auto at = pattern.find(sign);
    if (at != std::string::npos) pattern.replace(at, sign.size(), std::to_string(number));
  };
  replace("{}", id.block);
  replace("{e}", id.expert);
  return pattern;
}

/// The outputs of a role within a tensor that holds several.
Place place_in(const Description& d, const WeightId& id, Holds holds) {
  const auto outputs_of = [&](Role role) { return row_of(role).outputs(d); };
  Place place;
  if (holds == Holds::kQueryKeyValue) {
    const std::size_t query = outputs_of(Role::kQuery);
    const std::size_t key = outputs_of(Role::kKey);
    place.begin = id.role == Role::kQuery ? 0 : id.role == Role::kKey ? query : query + key;
    place.outputs = query + key + outputs_of(Role::kValue);
  } else if (holds == Holds::kGateUp || holds == Holds::kExpertsGateUp) {
    place.begin = id.role == Role::kGate || id.role == Role::kExpertGate ? 0 : d.inner;
    place.outputs = 2 * d.inner;
  } else {
    place.outputs = outputs_of(id.role);
  }
  place.has_experts = holds == Holds::kExperts || holds == Holds::kExpertsGateUp;
  return place;
}

}  // namespace

std::string_view to_string(Role role) { return row_of(role).name; }

bool is_norm(Role role) { return to_string(role).ends_with("norm"); }

std::string to_string(const WeightId& id) {
  std::string text(id.part == Part::kBias ? "bias of the " : "");
  text += to_string(id.role);
  if (id.role >= Role::kAttentionNorm) text += " of block " + std::to_string(id.block);
  if (id.role >= Role::kExpertGate) text += ", expert " + std::to_string(id.expert);
  return text;
}

std::vector<WeightId> needed_weights(const Description& d) {
  WeightList list;
  list.add(Role::kTokenEmbedding);
  list.add_if(d.positions == Positions::kLearned, Role::kPositionEmbedding);
  list.add(Role::kFinalNorm, d.norm == Norm::kLayer);
  list.add_if(!d.ties_embeddings, Role::kHead);
  for (list.block = 0; list.block < d.blocks; ++list.block) {
    list_attention(d, list);
    list_feed_forward(d, list);
  }
  return list.take();
}

std::vector<std::size_t> shape_of(const Description& description, const WeightId& id) {
  const RoleRow& row = row_of(id.role);
  std::vector<std::size_t> shape = {row.outputs(description)};
  if (row.inputs != nullptr && id.part == Part::kWeight) shape.push_back(row.inputs(description));
  return shape;
}

std::vector<Place> places_of(const Description& d, Naming naming, const WeightId& id) {
  std::vector<Place> places;
  const auto add = [&](const NameRow& row) {
    const bool is_other_norm = row.holds == Holds::kFeedForwardNorm && d.has_post_norms;
    if (row.role != id.role || row.naming != naming || is_other_norm) return;
    Place place = place_in(d, id, row.holds);
    place.name = filled(row.pattern, id);
    place.is_transposed = naming == Naming::kHfGpt2 && id.role > Role::kHead &&
                          id.part == Part::kWeight && !is_norm(id.role);
    // Experts in one tensor have no suffix in Hugging Face's files.
    if (!(place.has_experts && naming == Naming::kHf)) {
      place.name += id.part == Part::kBias ? ".bias" : ".weight";
    }
    places.push_back(std::move(place));
  };
  std::ranges::for_each(kGgufNames, add);
  std::ranges::for_each(kHfNames, add);
  return places;
}

}  // namespace halftone::lm
