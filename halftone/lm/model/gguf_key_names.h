// SPDX-License-Identifier: Apache-2.0
// What GGUF files call the sizes of a language model. Behind the name of the architecture and a
// dot, except those that begin with "general.".
// Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py.
#pragma once

namespace halftone::lm::gguf_key {

inline constexpr const char* kArchitecture = "general.architecture";
inline constexpr const char* kType = "general.type";
inline constexpr const char* kName = "general.name";

inline constexpr const char* kBlocks = "block_count";
inline constexpr const char* kContext = "context_length";
inline constexpr const char* kWidth = "embedding_length";
inline constexpr const char* kInner = "feed_forward_length";
inline constexpr const char* kVocabulary = "vocab_size";
inline constexpr const char* kFunction = "hidden_activation";
inline constexpr const char* kOldFunction = "hidden_act";  ///< of older files

inline constexpr const char* kRmsEpsilon = "attention.layer_norm_rms_epsilon";
inline constexpr const char* kLayerEpsilon = "attention.layer_norm_epsilon";
inline constexpr const char* kHeads = "attention.head_count";
inline constexpr const char* kKvHeads = "attention.head_count_kv";
inline constexpr const char* kHeadWidth = "attention.key_length";
inline constexpr const char* kValueWidth = "attention.value_length";
inline constexpr const char* kWindowHeadWidth = "attention.key_length_swa";
inline constexpr const char* kWindowValueWidth = "attention.value_length_swa";
inline constexpr const char* kSharingBlocks = "attention.shared_kv_layers";
inline constexpr const char* kBlockInput = "embedding_length_per_layer_input";
inline constexpr const char* kStreams = "altup.num_inputs";
inline constexpr const char* kActiveStream = "altup.active_idx";
inline constexpr const char* kCutoffs = "activation_sparsity_scale";
inline constexpr const char* kWindowRotaryDims = "rope.dimension_count_swa";
inline constexpr const char* kLatentWidth = "attention.kv_lora_rank";
inline constexpr const char* kQueryLatentWidth = "attention.q_lora_rank";
inline constexpr const char* kWholeHeadWidth = "attention.key_length_mla";
inline constexpr const char* kWholeValueWidth = "attention.value_length_mla";
inline constexpr const char* kScoreScale = "attention.scale";
inline constexpr const char* kScoreCap = "attn_logit_softcapping";
inline constexpr const char* kLogitCap = "final_logit_softcapping";
inline constexpr const char* kLogitFactor = "logit_scale";
inline constexpr const char* kEmbeddingFactor = "embedding_scale";
inline constexpr const char* kResidualFactor = "residual_scale";
inline constexpr const char* kQkvLimit = "attention.clamp_kqv";
inline constexpr const char* kWindow = "attention.sliding_window";
inline constexpr const char* kWindowPattern = "attention.sliding_window_pattern";

inline constexpr const char* kTaps = "shortconv.l_cache";
inline constexpr const char* kRecurrentBlocks = "attention.recurrent_layers";
inline constexpr const char* kAttentionPeriod = "full_attention_interval";
inline constexpr const char* kScanTaps = "ssm.conv_kernel";
inline constexpr const char* kScanInner = "ssm.inner_size";
inline constexpr const char* kScanStates = "ssm.state_size";
inline constexpr const char* kScanHeads = "ssm.time_step_rank";
inline constexpr const char* kScanGroups = "ssm.group_count";

inline constexpr const char* kRotaryDims = "rope.dimension_count";
inline constexpr const char* kBase = "rope.freq_base";
inline constexpr const char* kWindowBase = "rope.freq_base_swa";
inline constexpr const char* kScaling = "rope.scaling.type";
inline constexpr const char* kScalingFactor = "rope.scaling.factor";
inline constexpr const char* kOldScalingFactor = "rope.scale_linear";  ///< of older files
inline constexpr const char* kFinetuned = "rope.scaling.finetuned";
inline constexpr const char* kFastTurns = "rope.scaling.yarn_beta_fast";
inline constexpr const char* kSlowTurns = "rope.scaling.yarn_beta_slow";
inline constexpr const char* kScoreGrowth = "rope.scaling.yarn_log_multiplier";
inline constexpr const char* kRotaryFactor = "rope.scaling.attn_factor";
inline constexpr const char* kOriginalContext = "rope.scaling.original_context_length";

inline constexpr const char* kExperts = "expert_count";
inline constexpr const char* kActiveExperts = "expert_used_count";
inline constexpr const char* kExpertInner = "expert_feed_forward_length";
inline constexpr const char* kSharedInner = "expert_shared_feed_forward_length";
inline constexpr const char* kSharedExperts = "expert_shared_count";
inline constexpr const char* kDenseBlocks = "leading_dense_block_count";
inline constexpr const char* kScoreFunction = "expert_gating_func";
inline constexpr const char* kShareFactor = "expert_weights_scale";
inline constexpr const char* kExpertGroups = "expert_group_count";
inline constexpr const char* kActiveGroups = "expert_group_used_count";
inline constexpr const char* kUnusedBlocks = "nextn_predict_layers";
inline constexpr const char* kRenormalizes = "expert_weights_norm";

/// Tensors with what positions are divided by.
inline constexpr const char* kDivisors = "rope_freqs.weight";
inline constexpr const char* kShortDivisors = "rope_factors_short.weight";
inline constexpr const char* kLongDivisors = "rope_factors_long.weight";

}  // namespace halftone::lm::gguf_key
