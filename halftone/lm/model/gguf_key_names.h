// SPDX-License-Identifier: Apache-2.0
// Keys of GGUF files that hold no field of a Description as it is, or that messages name; those of
// the other fields are in description_fields.cc. Behind the name of the architecture and a dot,
// except those that begin with "general.".
// Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py.
#pragma once

namespace halftone::lm::gguf_key {

inline constexpr const char* kArchitecture = "general.architecture";
inline constexpr const char* kType = "general.type";
inline constexpr const char* kName = "general.name";

inline constexpr const char* kBlocks = "block_count";
inline constexpr const char* kInner = "feed_forward_length";
inline constexpr const char* kFunction = "hidden_activation";
inline constexpr const char* kOldFunction = "hidden_act";  ///< of older files

inline constexpr const char* kRmsEpsilon = "attention.layer_norm_rms_epsilon";
inline constexpr const char* kKvHeads = "attention.head_count_kv";
inline constexpr const char* kHeadWidth = "attention.key_length";
inline constexpr const char* kValueWidth = "attention.value_length";
inline constexpr const char* kStreams = "altup.num_inputs";
inline constexpr const char* kActiveStream = "altup.active_idx";
inline constexpr const char* kCutoffs = "activation_sparsity_scale";
inline constexpr const char* kLogitFactor = "logit_scale";
inline constexpr const char* kQkvLimit = "attention.clamp_kqv";
inline constexpr const char* kWindowPattern = "attention.sliding_window_pattern";

inline constexpr const char* kRecurrentBlocks = "attention.recurrent_layers";
inline constexpr const char* kAttentionPeriod = "full_attention_interval";

inline constexpr const char* kRotaryDims = "rope.dimension_count";
inline constexpr const char* kScaling = "rope.scaling.type";
inline constexpr const char* kScalingFactor = "rope.scaling.factor";
inline constexpr const char* kOldScalingFactor = "rope.scale_linear";  ///< of older files
inline constexpr const char* kFinetuned = "rope.scaling.finetuned";
inline constexpr const char* kScoreGrowth = "rope.scaling.yarn_log_multiplier";
inline constexpr const char* kRotaryFactor = "rope.scaling.attn_factor";
inline constexpr const char* kOriginalContext = "rope.scaling.original_context_length";

inline constexpr const char* kSharedExperts = "expert_shared_count";
inline constexpr const char* kScoreFunction = "expert_gating_func";

/// Tensors with what positions are divided by.
inline constexpr const char* kDivisors = "rope_freqs.weight";
inline constexpr const char* kShortDivisors = "rope_factors_short.weight";
inline constexpr const char* kLongDivisors = "rope_factors_long.weight";

}  // namespace halftone::lm::gguf_key
