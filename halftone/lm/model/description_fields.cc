// SPDX-License-Identifier: Apache-2.0
// Sources of the keys: the classes *Config of the package transformers, version 5.24, and
// ggml-org/llama.cpp, gguf-py/gguf/constants.py.
#include "halftone/lm/model/description_fields.h"

#include "halftone/lm/model/gguf_key_names.h"

namespace halftone::lm {
namespace {

using D = Description;
using Angles = RotaryAngles;
using enum FieldPart;
using enum Since;
using enum Needed;

/// The place of a member, or of a member of one.
template <auto... kMembers>
FieldPlace at(Description& d) {
  return &(d.*....*kMembers);
}
template <auto... kMembers>
FieldPlace in(RotaryAngles& angles) {
  return &(angles.*....*kMembers);
}

/// Names of a key of config.json.
template <typename... Names>
constexpr ConfigNames hf(Names... names) {
  return {names...};
}
constexpr ConfigNames kNoKey{};

constexpr DescriptionField kFields[] = {
    {"architecture", at<&D::architecture>, kFirst},
    {"vocabulary", at<&D::vocabulary>, kFirst, kSizes, hf("vocab_size"), "vocab_size", kInConfig},
    {"context", at<&D::context>, kFirst, kSizes, hf("max_position_embeddings", "n_positions"),
     "context_length", kInGguf},
    {"width", at<&D::width>, kFirst, kSizes, hf("hidden_size", "n_embd"), "embedding_length",
     kAlways},
    {"ties_embeddings", at<&D::ties_embeddings>, kFirst, kSizes, hf("tie_word_embeddings")},
    {"blocks", at<&D::blocks>, kFirst, kBlocks, hf("num_hidden_layers", "n_layer"),
     gguf_key::kBlocks, kAlways},
    {"", at<&D::unused_blocks>, kNoFile, kUnusedBlocks,
     hf("num_nextn_predict_layers", "num_mtp_layers"), "nextn_predict_layers"},

    {"embedding_factor", at<&D::embedding_factor>, kFirst, kFactors, hf("embedding_multiplier"),
     "embedding_scale"},
    {"residual_factor", at<&D::residual_factor>, kLater, kFactors, hf("residual_multiplier"),
     "residual_scale"},
    {"score_scale", at<&D::score_scale>, kFirst, kFactors, hf("attention_multiplier"),
     "attention.scale"},
    {"gate_slope", at<&D::gate_slope>, kLater, kFactors, hf("swiglu_alpha")},
    {"gate_limit", at<&D::gate_limit>, kLater, kFactors, hf("swiglu_limit")},
    {"score_cap", at<&D::score_cap>, kFirst, kCaps, hf("attn_logit_softcapping"),
     "attn_logit_softcapping"},
    {"logit_cap", at<&D::logit_cap>, kFirst, kCaps, hf("final_logit_softcapping"),
     "final_logit_softcapping"},
    {"logit_factor", at<&D::logit_factor>},
    {"has_head_bias", at<&D::has_head_bias>},

    {"norm", at<&D::norm>, kFirst},
    {"norm_epsilon", at<&D::norm_epsilon>, kFirst, kNorm,
     hf("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon", "norm_eps"),
     gguf_key::kRmsEpsilon, kAlways},
    {"", at<&D::norm_epsilon>, kNoFile, kLayerNorm, hf("layer_norm_epsilon"),
     "attention.layer_norm_epsilon", kAlways},
    {"norm_offset", at<&D::norm_offset>, kFirst},
    {"has_norm_gain", at<&D::has_norm_gain>},
    {"has_norm_bias", at<&D::has_norm_bias>},
    {"has_pre_norms", at<&D::has_pre_norms>},
    {"has_post_norms", at<&D::has_post_norms>, kFirst},
    {"has_sub_norms", at<&D::has_sub_norms>, kFirst},
    {"is_parallel", at<&D::is_parallel>},
    {"shares_pre_norm", at<&D::shares_pre_norm>},
    {"has_final_transform", at<&D::has_final_transform>, kFirst},

    {"mixers", at<&D::mixers>},
    {"has_single_branches", at<&D::has_single_branches>},
    {"taps", at<&D::taps>, kLater, kConvolution, hf("conv_L_cache"), "shortconv.l_cache", kAlways},
    {"", at<&D::taps>, kNoFile, kScan, hf("mamba_d_conv", "conv_kernel", "linear_conv_kernel_dim"),
     "ssm.conv_kernel", kAlways},
    {"has_kernel_bias", at<&D::has_kernel_bias>, kLater, kKernelBias,
     hf("mamba_conv_bias", "use_conv_bias")},
    {"scan_inner", at<&D::scan_inner>, kLater, kScan, kNoKey, "ssm.inner_size", kInGguf},
    {"scan_states", at<&D::scan_states>, kLater, kScan,
     hf("mamba_d_state", "ssm_state_size", "linear_key_head_dim"), "ssm.state_size", kAlways},
    {"scan_heads", at<&D::scan_heads>, kLater, kScanHeads,
     hf("mamba_n_heads", "mamba_num_heads", "linear_num_value_heads"), "ssm.time_step_rank",
     kAlways},
    {"scan_groups", at<&D::scan_groups>, kLater, kScanHeads,
     hf("mamba_n_groups", "n_groups", "linear_num_key_heads"), "ssm.group_count", kAlways},
    {"scan_rank", at<&D::scan_rank>, kLater, kChannelScan, kNoKey, "ssm.time_step_rank", kInGguf},
    {"has_log_decays", at<&D::has_log_decays>},
    {"has_scan_norm", at<&D::has_scan_norm>},
    {"norms_before_gate", at<&D::norms_before_gate>},
    {"scan_input_factors", at<&D::scan_input_factors>},
    {"scan_factor", at<&D::scan_factor>},
    {"attention_factor", at<&D::attention_factor>},
    {"gate_factor", at<&D::gate_factor>},
    {"down_factor", at<&D::down_factor>},
    {"merges_gate", at<&D::merges_gate>},
    {"merges_steps", at<&D::merges_steps>},
    {"tiles_heads", at<&D::tiles_heads>},

    {"heads", at<&D::heads>, kFirst, kHeadCount, hf("num_attention_heads", "n_head"),
     "attention.head_count", kAlways},
    {"kv_heads", at<&D::kv_heads>, kFirst, kKvHeads, hf("num_key_value_heads"), gguf_key::kKvHeads},
    {"head_width", at<&D::head_width>, kFirst, kHeads, hf("head_dim"), gguf_key::kHeadWidth},
    {"value_width", at<&D::value_width>, kFirst, kHeads, kNoKey, gguf_key::kValueWidth},
    {"", at<&D::head_width>, kNoFile, kWindowHeads, kNoKey, "attention.key_length_swa", kInGguf},
    {"", at<&D::value_width>, kNoFile, kWindowHeads, kNoKey, "attention.value_length_swa", kInGguf},
    {"", at<&D::rotary_dims>, kNoFile, kWindowHeads, kNoKey, "rope.dimension_count_swa"},
    {"latent_width", at<&D::latent_width>, kLater, kLatent, hf("kv_lora_rank"),
     "attention.kv_lora_rank"},
    {"query_latent_width", at<&D::query_latent_width>, kLater, kQueryLatent, hf("q_lora_rank"),
     "attention.q_lora_rank"},
    {"", at<&D::head_width>, kNoFile, kLatentHeads, kNoKey, "attention.key_length_mla"},
    {"", at<&D::value_width>, kNoFile, kLatentHeads, hf("v_head_dim"), "attention.value_length_mla",
     kInConfig},
    {"", at<&D::rotary_dims>, kNoFile, kLatentHeads, hf("qk_rope_head_dim"), nullptr, kInConfig},
    {"window", at<&D::window>, kFirst, kWindow, hf("sliding_window"), "attention.sliding_window"},
    {"windowed", at<&D::windowed>, kFirst},
    {"full_head_width", at<&D::full_head_width>},
    {"full_kv_heads", at<&D::full_kv_heads>},
    {"keys_are_values", at<&D::keys_are_values>},
    {"sharing_blocks", at<&D::sharing_blocks>, kLater, kSharing, hf("num_kv_shared_layers"),
     "attention.shared_kv_layers"},
    {"sharing_inner", at<&D::sharing_inner>},
    {"normalizes_values", at<&D::normalizes_values>},
    {"has_qkv_bias", at<&D::has_qkv_bias>, kFirst},
    {"gates_attention", at<&D::gates_attention>},
    {"has_output_bias", at<&D::has_output_bias>, kFirst},
    {"has_sinks", at<&D::has_sinks>},
    {"normalizes_heads", at<&D::normalizes_heads>, kFirst},
    {"normalizes_together", at<&D::normalizes_together>},
    {"normalizes_rotated", at<&D::normalizes_rotated>},

    {"positions", at<&D::positions>, kFirst},
    {"pairing", at<&D::pairing>, kFirst},
    {"rotary_dims", at<&D::rotary_dims>, kFirst, kRotaryDims, kNoKey, gguf_key::kRotaryDims},
    {"rotary", at<&D::rotary>, kFirst},
    {"", at<&D::rotary, &Angles::base>, kNoFile, kBase, hf("rope_theta"), "rope.freq_base"},
    {"", at<&D::rotary, &Angles::yarn, &Yarn::fast_turns>, kNoFile, kYarn, hf("beta_fast"),
     "rope.scaling.yarn_beta_fast"},
    {"", at<&D::rotary, &Angles::yarn, &Yarn::slow_turns>, kNoFile, kYarn, hf("beta_slow"),
     "rope.scaling.yarn_beta_slow"},
    {"window_rotary", at<&D::window_rotary>, kFirst},
    {"", at<&D::window_rotary, &Angles::base>, kNoFile, kWindowBase, hf("rope_local_base_freq"),
     "rope.freq_base_swa"},
    {"unrotated", at<&D::unrotated>},
    {"original_context", at<&D::original_context>, kFirst},
    {"rotary_factor", at<&D::rotary_factor>, kFirst},

    {"function", at<&D::function>, kFirst},
    {"is_gated", at<&D::is_gated>, kFirst},
    {"inner", at<&D::inner>, kFirst, kInner, hf("intermediate_size", "n_inner"), gguf_key::kInner},
    {"inners", at<&D::inners>},
    {"has_ffn_bias", at<&D::has_ffn_bias>, kFirst},
    {"gate_cutoffs", at<&D::gate_cutoffs>},
    {"block_input_width", at<&D::block_input_width>, kLater, kSharing,
     hf("hidden_size_per_layer_input"), "embedding_length_per_layer_input"},
    {"block_input_rows", at<&D::block_input_rows>},
    {"has_block_factor", at<&D::has_block_factor>},
    {"streams", at<&D::streams>, kLater, kStreams, hf("altup_num_inputs"), "altup.num_inputs",
     kInConfig},
    {"scales_first_stream", at<&D::scales_first_stream>},
    {"bypass_rank", at<&D::bypass_rank>, kLater, kStreams, hf("laurel_rank"), nullptr, kInConfig},

    {"experts", at<&D::experts>, kFirst, kExperts,
     hf("num_local_experts", "num_experts", "n_routed_experts"), "expert_count"},
    {"active_experts", at<&D::active_experts>, kFirst, kActiveExperts,
     hf("num_experts_per_tok", "top_k_experts"), "expert_used_count", kAlways},
    {"", at<&D::inner>, kNoFile, kExpertInner, hf("moe_intermediate_size"),
     "expert_feed_forward_length"},
    {"shared_inner", at<&D::shared_inner>, kFirst, kSharedInner,
     hf("shared_expert_intermediate_size"), "expert_shared_feed_forward_length"},
    {"has_shared_gate", at<&D::has_shared_gate>, kFirst},
    {"expert_groups", at<&D::expert_groups>, kLater, kExpertGroups, hf("n_group"),
     "expert_group_count"},
    {"active_groups", at<&D::active_groups>, kLater, kExpertGroups, hf("topk_group"),
     "expert_group_used_count"},
    {"dense_blocks", at<&D::dense_blocks>, kLater, kExpertShares,
     hf("first_k_dense_replace", "num_dense_layers"), "leading_dense_block_count"},
    {"dense", at<&D::dense>},
    {"dense_inner", at<&D::dense_inner>},
    {"has_network_beside", at<&D::has_network_beside>},
    {"has_sigmoid_scores", at<&D::has_sigmoid_scores>},
    {"has_choice_bias", at<&D::has_choice_bias>},
    {"has_expert_bias", at<&D::has_expert_bias>},
    {"sums_group_scores", at<&D::sums_group_scores>},
    {"share_factor", at<&D::share_factor>, kLater, kExpertShares, hf("routed_scaling_factor"),
     "expert_weights_scale"},
    {"softmax_after_choice", at<&D::softmax_after_choice>, kFirst},
    {"renormalizes", at<&D::renormalizes>, kFirst, kExpertShares, hf("norm_topk_prob"),
     "expert_weights_norm"},
};

constexpr AngleField kAngleFields[] = {
    {"base", in<&Angles::base>, kFirst},
    {"divisors", in<&Angles::divisors>, kFirst},
    {"long_divisors", in<&Angles::long_divisors>, kFirst},
    {"dynamic_factor", in<&Angles::dynamic_factor>},
    {"yarn_factor", in<&Angles::yarn, &Yarn::factor>},
    {"yarn_fast_turns", in<&Angles::yarn, &Yarn::fast_turns>},
    {"yarn_slow_turns", in<&Angles::yarn, &Yarn::slow_turns>},
    {"yarn_truncates", in<&Angles::yarn, &Yarn::truncates>},
};

}  // namespace

std::span<const DescriptionField> description_fields() { return kFields; }

std::span<const AngleField> angle_fields() { return kAngleFields; }

}  // namespace halftone::lm
