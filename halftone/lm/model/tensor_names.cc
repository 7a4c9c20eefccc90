// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/tensor_names.h"

#include <algorithm>

#include "halftone/lm/model/architectures.h"

namespace halftone::lm {
namespace {

/// What a tensor of a file holds.
enum class Holds : std::uint8_t {
  kOne,
  kQueryKeyValue,    ///< the outputs of all three, in this order
  kGateUp,           ///< the outputs of both, in this order
  kExperts,          ///< one matrix per expert
  kExpertsGateUp,    ///< both matrices per expert
  kExpertsByTurns,   ///< both, a row of gate, one of up, and so on
  kFeedForwardNorm,  ///< the norm before the feed-forward network, unless there are post-norms
  kOfQueryLatent,    ///< one, if queries come from a latent row
  kShort,            ///< one, of a short convolution alone
  kDelta,            ///< queries, keys and values of a delta rule
  kMergedSteps,      ///< steps that are merged with beta
  kNamed,            ///< one, of which the pattern is the whole name
};

struct NameRow {
  WeightRole role;
  Naming naming;
  const char* pattern;  ///< {} is the block, {e} the expert
  Holds holds = Holds::kOne;
  std::string_view architecture{};  ///< that alone has the name; empty: all
};

constexpr NameRow kGgufNames[] = {
    {WeightRole::kTokenEmbedding, Naming::kGguf, "token_embd"},
    {WeightRole::kPositionEmbedding, Naming::kGguf, "position_embd"},
    {WeightRole::kFinalNorm, Naming::kGguf, "output_norm"},
    {WeightRole::kFinalTransform, Naming::kGguf, "output_transform"},
    {WeightRole::kBlockInputTable, Naming::kGguf, "per_layer_token_embd"},
    {WeightRole::kBlockInputProjection, Naming::kGguf, "per_layer_model_proj"},
    {WeightRole::kBlockInputNorm, Naming::kGguf, "per_layer_proj_norm"},
    {WeightRole::kBlockInputGate, Naming::kGguf, "blk.{}.inp_gate"},
    {WeightRole::kBlockInputOutput, Naming::kGguf, "blk.{}.proj"},
    {WeightRole::kBlockInputPostNorm, Naming::kGguf, "blk.{}.post_norm"},
    {WeightRole::kBlockFactor, Naming::kGguf, "blk.{}.layer_output_scale"},
    {WeightRole::kHead, Naming::kGguf, "output"},
    {WeightRole::kAttentionNorm, Naming::kGguf, "blk.{}.attn_norm"},
    {WeightRole::kFinalNorm, Naming::kGguf, "token_embd_norm", Holds::kOne, "lfm2"},
    {WeightRole::kFinalNorm, Naming::kGguf, "token_embd_norm", Holds::kOne, "lfm2moe"},
    {WeightRole::kMixerInput, Naming::kGguf, "blk.{}.shortconv.in_proj", Holds::kShort},
    {WeightRole::kMixerKernel, Naming::kGguf, "blk.{}.shortconv.conv", Holds::kShort},
    {WeightRole::kMixerOutput, Naming::kGguf, "blk.{}.shortconv.out_proj", Holds::kShort},
    {WeightRole::kMixerInput, Naming::kGguf, "blk.{}.ssm_in"},
    {WeightRole::kMixerKernel, Naming::kGguf, "blk.{}.ssm_conv1d"},
    {WeightRole::kSelection, Naming::kGguf, "blk.{}.ssm_x"},
    {WeightRole::kStepNorm, Naming::kGguf, "blk.{}.ssm_dt_norm"},
    {WeightRole::kScanInputNorm, Naming::kGguf, "blk.{}.ssm_b_norm"},
    {WeightRole::kScanOutputNorm, Naming::kGguf, "blk.{}.ssm_c_norm"},
    {WeightRole::kStepProjection, Naming::kGguf, "blk.{}.ssm_dt"},
    {WeightRole::kChannelDecay, Naming::kGguf, "blk.{}.ssm_a", Holds::kNamed},
    {WeightRole::kDecay, Naming::kGguf, "blk.{}.ssm_a", Holds::kNamed},
    {WeightRole::kStepBias, Naming::kGguf, "blk.{}.ssm_dt.bias", Holds::kNamed},
    {WeightRole::kSkip, Naming::kGguf, "blk.{}.ssm_d", Holds::kNamed},
    {WeightRole::kMixerNorm, Naming::kGguf, "blk.{}.ssm_norm"},
    {WeightRole::kMixerOutput, Naming::kGguf, "blk.{}.ssm_out"},
    {WeightRole::kMixerInput, Naming::kGguf, "blk.{}.attn_qkv", Holds::kDelta},
    {WeightRole::kMixerGate, Naming::kGguf, "blk.{}.attn_gate"},
    {WeightRole::kMixerSteps, Naming::kGguf, "blk.{}.ssm_ba", Holds::kMergedSteps},
    {WeightRole::kMixerSteps, Naming::kGguf, "blk.{}.ssm_alpha"},
    {WeightRole::kMixerBeta, Naming::kGguf, "blk.{}.ssm_beta"},
    {WeightRole::kQueryLatent, Naming::kGguf, "blk.{}.attn_q_a"},
    {WeightRole::kQueryLatentNorm, Naming::kGguf, "blk.{}.attn_q_a_norm"},
    {WeightRole::kQuery, Naming::kGguf, "blk.{}.attn_q_b", Holds::kOfQueryLatent},
    {WeightRole::kLatent, Naming::kGguf, "blk.{}.attn_kv_a_mqa"},
    {WeightRole::kLatentNorm, Naming::kGguf, "blk.{}.attn_kv_a_norm"},
    {WeightRole::kKeyValue, Naming::kGguf, "blk.{}.attn_kv_b"},
    {WeightRole::kQuery, Naming::kGguf, "blk.{}.attn_q"},
    {WeightRole::kQuery, Naming::kGguf, "blk.{}.attn_qkv", Holds::kQueryKeyValue},
    {WeightRole::kKey, Naming::kGguf, "blk.{}.attn_k"},
    {WeightRole::kKey, Naming::kGguf, "blk.{}.attn_qkv", Holds::kQueryKeyValue},
    {WeightRole::kValue, Naming::kGguf, "blk.{}.attn_v"},
    {WeightRole::kValue, Naming::kGguf, "blk.{}.attn_qkv", Holds::kQueryKeyValue},
    {WeightRole::kQueryNorm, Naming::kGguf, "blk.{}.attn_q_norm"},
    {WeightRole::kKeyNorm, Naming::kGguf, "blk.{}.attn_k_norm"},
    {WeightRole::kSinks, Naming::kGguf, "blk.{}.attn_sinks"},
    {WeightRole::kAttentionSubNorm, Naming::kGguf, "blk.{}.attn_sub_norm"},
    {WeightRole::kAttentionOutput, Naming::kGguf, "blk.{}.attn_output"},
    {WeightRole::kAttentionPostNorm, Naming::kGguf, "blk.{}.post_attention_norm"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.ffn_norm"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.post_attention_norm", Holds::kOne,
     "seed_oss"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.post_attention_norm", Holds::kOne,
     "glm4moe"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.post_attention_norm", Holds::kOne,
     "gpt-oss"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.post_attention_norm", Holds::kOne,
     "qwen3next"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.post_attention_norm", Holds::kOne,
     "qwen35"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.post_attention_norm", Holds::kOne,
     "qwen35moe"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.ffn_norm", Holds::kNamed, "falcon-h1"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.attn_norm", Holds::kOne, "nemotron_h"},
    {WeightRole::kFeedForwardNorm, Naming::kGguf, "blk.{}.attn_norm", Holds::kOne,
     "nemotron_h_moe"},
    {WeightRole::kGate, Naming::kGguf, "blk.{}.ffn_gate"},
    {WeightRole::kGate, Naming::kGguf, "blk.{}.ffn_up", Holds::kGateUp},
    {WeightRole::kUp, Naming::kGguf, "blk.{}.ffn_up"},
    {WeightRole::kUp, Naming::kGguf, "blk.{}.ffn_up", Holds::kGateUp},
    {WeightRole::kFeedForwardSubNorm, Naming::kGguf, "blk.{}.ffn_sub_norm"},
    {WeightRole::kDown, Naming::kGguf, "blk.{}.ffn_down"},
    {WeightRole::kFeedForwardPostNorm, Naming::kGguf, "blk.{}.post_ffw_norm"},
    {WeightRole::kNetworkPostNorm, Naming::kGguf, "blk.{}.post_ffw_norm_1"},
    {WeightRole::kExpertsNorm, Naming::kGguf, "blk.{}.pre_ffw_norm_2"},
    {WeightRole::kExpertsPostNorm, Naming::kGguf, "blk.{}.post_ffw_norm_2"},
    {WeightRole::kRouterGain, Naming::kGguf, "blk.{}.ffn_gate_inp.scale", Holds::kNamed},
    {WeightRole::kExpertFactors, Naming::kGguf, "blk.{}.ffn_down_exps.scale", Holds::kNamed},
    {WeightRole::kRouter, Naming::kGguf, "blk.{}.ffn_gate_inp"},
    {WeightRole::kChoiceBias, Naming::kGguf, "blk.{}.exp_probs_b.bias", Holds::kNamed},
    {WeightRole::kExpertGate, Naming::kGguf, "blk.{}.ffn_gate_exps", Holds::kExperts},
    {WeightRole::kExpertGate, Naming::kGguf, "blk.{}.ffn_gate.{e}"},
    {WeightRole::kExpertGate, Naming::kGguf, "blk.{}.ffn_gate_up_exps", Holds::kExpertsGateUp},
    {WeightRole::kExpertUp, Naming::kGguf, "blk.{}.ffn_up_exps", Holds::kExperts},
    {WeightRole::kExpertUp, Naming::kGguf, "blk.{}.ffn_up.{e}"},
    {WeightRole::kExpertUp, Naming::kGguf, "blk.{}.ffn_gate_up_exps", Holds::kExpertsGateUp},
    {WeightRole::kExpertDown, Naming::kGguf, "blk.{}.ffn_down_exps", Holds::kExperts},
    {WeightRole::kExpertDown, Naming::kGguf, "blk.{}.ffn_down.{e}"},
    {WeightRole::kSharedGate, Naming::kGguf, "blk.{}.ffn_gate_shexp"},
    {WeightRole::kSharedUp, Naming::kGguf, "blk.{}.ffn_up_shexp"},
    {WeightRole::kSharedDown, Naming::kGguf, "blk.{}.ffn_down_shexp"},
    {WeightRole::kSharedRouter, Naming::kGguf, "blk.{}.ffn_gate_inp_shexp"},
};

constexpr NameRow kHfNames[] = {
    {WeightRole::kTokenEmbedding, Naming::kHf, "embed_tokens"},
    {WeightRole::kFinalNorm, Naming::kHf, "norm"},
    {WeightRole::kFinalNorm, Naming::kHf, "final_layernorm", Holds::kOne, "phi2"},
    {WeightRole::kBlockInputTable, Naming::kHf, "embed_tokens_per_layer"},
    {WeightRole::kBlockInputProjection, Naming::kHf, "per_layer_model_projection"},
    {WeightRole::kBlockInputNorm, Naming::kHf, "per_layer_projection_norm"},
    {WeightRole::kBlockInputGate, Naming::kHf, "layers.{}.per_layer_input_gate"},
    {WeightRole::kBlockInputOutput, Naming::kHf, "layers.{}.per_layer_projection"},
    {WeightRole::kBlockInputPostNorm, Naming::kHf, "layers.{}.post_per_layer_input_norm"},
    {WeightRole::kBlockFactor, Naming::kHf, "layers.{}.layer_scalar", Holds::kNamed},
    {WeightRole::kFinalNorm, Naming::kHf, "final_layernorm", Holds::kOne, "falcon-h1"},
    {WeightRole::kHead, Naming::kHf, "lm_head"},
    {WeightRole::kAttentionNorm, Naming::kHf, "layers.{}.input_layernorm"},
    {WeightRole::kQueryLatent, Naming::kHf, "layers.{}.self_attn.q_a_proj"},
    {WeightRole::kQueryLatentNorm, Naming::kHf, "layers.{}.self_attn.q_a_layernorm"},
    {WeightRole::kQuery, Naming::kHf, "layers.{}.self_attn.q_b_proj", Holds::kOfQueryLatent},
    {WeightRole::kLatent, Naming::kHf, "layers.{}.self_attn.kv_a_proj_with_mqa"},
    {WeightRole::kLatentNorm, Naming::kHf, "layers.{}.self_attn.kv_a_layernorm"},
    {WeightRole::kKeyValue, Naming::kHf, "layers.{}.self_attn.kv_b_proj"},
    {WeightRole::kQuery, Naming::kHf, "layers.{}.self_attn.q_proj"},
    {WeightRole::kQuery, Naming::kHf, "layers.{}.self_attn.qkv_proj", Holds::kQueryKeyValue},
    {WeightRole::kKey, Naming::kHf, "layers.{}.self_attn.k_proj"},
    {WeightRole::kKey, Naming::kHf, "layers.{}.self_attn.qkv_proj", Holds::kQueryKeyValue},
    {WeightRole::kValue, Naming::kHf, "layers.{}.self_attn.v_proj"},
    {WeightRole::kValue, Naming::kHf, "layers.{}.self_attn.qkv_proj", Holds::kQueryKeyValue},
    {WeightRole::kQueryNorm, Naming::kHf, "layers.{}.self_attn.q_norm"},
    {WeightRole::kKeyNorm, Naming::kHf, "layers.{}.self_attn.k_norm"},
    {WeightRole::kQueryNorm, Naming::kHf, "layers.{}.self_attn.query_layernorm"},
    {WeightRole::kKeyNorm, Naming::kHf, "layers.{}.self_attn.key_layernorm"},
    {WeightRole::kSinks, Naming::kHf, "layers.{}.self_attn.sinks", Holds::kNamed},
    {WeightRole::kAttentionSubNorm, Naming::kHf, "layers.{}.self_attn.attn_sub_norm"},
    {WeightRole::kAttentionOutput, Naming::kHf, "layers.{}.self_attn.o_proj"},
    {WeightRole::kAttentionOutput, Naming::kHf, "layers.{}.self_attn.dense"},
    {WeightRole::kAttentionPostNorm, Naming::kHf, "layers.{}.post_self_attn_layernorm", Holds::kOne,
     "glm4"},
    {WeightRole::kAttentionPostNorm, Naming::kHf, "layers.{}.post_attention_layernorm"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.post_attention_layernorm", Holds::kOne,
     "glm4"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.post_attention_layernorm",
     Holds::kFeedForwardNorm},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.pre_feedforward_layernorm"},
    {WeightRole::kGate, Naming::kHf, "layers.{}.mlp.gate_proj"},
    {WeightRole::kGate, Naming::kHf, "layers.{}.mlp.gate_up_proj", Holds::kGateUp},
    {WeightRole::kUp, Naming::kHf, "layers.{}.mlp.up_proj"},
    {WeightRole::kUp, Naming::kHf, "layers.{}.mlp.gate_up_proj", Holds::kGateUp},
    {WeightRole::kUp, Naming::kHf, "layers.{}.mlp.c_fc"},
    {WeightRole::kUp, Naming::kHf, "layers.{}.mlp.fc1"},
    {WeightRole::kFeedForwardSubNorm, Naming::kHf, "layers.{}.mlp.ffn_sub_norm"},
    {WeightRole::kDown, Naming::kHf, "layers.{}.mlp.down_proj"},
    {WeightRole::kDown, Naming::kHf, "layers.{}.mlp.c_proj"},
    {WeightRole::kDown, Naming::kHf, "layers.{}.mlp.fc2"},
    {WeightRole::kFeedForwardPostNorm, Naming::kHf, "layers.{}.post_feedforward_layernorm"},
    {WeightRole::kFeedForwardPostNorm, Naming::kHf, "layers.{}.post_mlp_layernorm"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.mlp.gate"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.block_sparse_moe.gate"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.block_sparse_moe.router.layer"},
    {WeightRole::kNetworkPostNorm, Naming::kHf, "layers.{}.post_feedforward_layernorm_1"},
    {WeightRole::kExpertsNorm, Naming::kHf, "layers.{}.pre_feedforward_layernorm_2"},
    {WeightRole::kExpertsPostNorm, Naming::kHf, "layers.{}.post_feedforward_layernorm_2"},
    {WeightRole::kRouterGain, Naming::kHf, "layers.{}.router.scale", Holds::kNamed},
    {WeightRole::kExpertFactors, Naming::kHf, "layers.{}.router.per_expert_scale", Holds::kNamed},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.router.proj", Holds::kOne, "gemma4"},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.experts.gate_up_proj", Holds::kExpertsGateUp,
     "gemma4"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.experts.gate_up_proj", Holds::kExpertsGateUp,
     "gemma4"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.experts.down_proj", Holds::kExperts,
     "gemma4"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.mlp.router", Holds::kOne, "gpt-oss"},
    {WeightRole::kChoiceBias, Naming::kHf, "layers.{}.mlp.gate.e_score_correction_bias",
     Holds::kNamed},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.mlp.experts.{e}.gate_proj"},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.block_sparse_moe.experts.{e}.w1"},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.mlp.experts.gate_up_proj",
     Holds::kExpertsGateUp},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.block_sparse_moe.input_linear.weight",
     Holds::kExpertsGateUp},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.mlp.experts.gate_up_proj",
     Holds::kExpertsByTurns},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.mlp.experts.gate_up_proj",
     Holds::kExpertsByTurns},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.mlp.experts.{e}.up_proj"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.block_sparse_moe.experts.{e}.w3"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.mlp.experts.gate_up_proj",
     Holds::kExpertsGateUp},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.block_sparse_moe.input_linear.weight",
     Holds::kExpertsGateUp},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.mlp.experts.{e}.down_proj"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.block_sparse_moe.experts.{e}.w2"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.mlp.experts.down_proj", Holds::kExperts},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.block_sparse_moe.output_linear.weight",
     Holds::kExperts},
    {WeightRole::kSharedGate, Naming::kHf, "layers.{}.mlp.shared_expert.gate_proj"},
    {WeightRole::kSharedGate, Naming::kHf, "layers.{}.mlp.shared_experts.gate_proj"},
    {WeightRole::kSharedUp, Naming::kHf, "layers.{}.mlp.shared_expert.up_proj"},
    {WeightRole::kSharedUp, Naming::kHf, "layers.{}.mlp.shared_experts.up_proj"},
    {WeightRole::kSharedDown, Naming::kHf, "layers.{}.mlp.shared_expert.down_proj"},
    {WeightRole::kSharedDown, Naming::kHf, "layers.{}.mlp.shared_experts.down_proj"},
    {WeightRole::kSharedRouter, Naming::kHf, "layers.{}.mlp.shared_expert_gate"},
    {WeightRole::kFinalNorm, Naming::kHf, "embedding_norm"},
    {WeightRole::kAttentionNorm, Naming::kHf, "layers.{}.operator_norm"},
    {WeightRole::kMixerInput, Naming::kHf, "layers.{}.conv.in_proj"},
    {WeightRole::kMixerKernel, Naming::kHf, "layers.{}.conv.conv"},
    {WeightRole::kMixerOutput, Naming::kHf, "layers.{}.conv.out_proj"},
    {WeightRole::kMixerInput, Naming::kHf, "layers.{}.mamba.in_proj"},
    {WeightRole::kMixerKernel, Naming::kHf, "layers.{}.mamba.conv1d"},
    {WeightRole::kDecay, Naming::kHf, "layers.{}.mamba.A_log", Holds::kNamed},
    {WeightRole::kStepBias, Naming::kHf, "layers.{}.mamba.dt_bias", Holds::kNamed},
    {WeightRole::kSkip, Naming::kHf, "layers.{}.mamba.D", Holds::kNamed},
    {WeightRole::kMixerNorm, Naming::kHf, "layers.{}.mamba.norm"},
    {WeightRole::kMixerOutput, Naming::kHf, "layers.{}.mamba.out_proj"},
    {WeightRole::kSelection, Naming::kHf, "layers.{}.mamba.x_proj"},
    {WeightRole::kStepNorm, Naming::kHf, "layers.{}.mamba.dt_layernorm"},
    {WeightRole::kScanInputNorm, Naming::kHf, "layers.{}.mamba.b_layernorm"},
    {WeightRole::kScanOutputNorm, Naming::kHf, "layers.{}.mamba.c_layernorm"},
    {WeightRole::kStepProjection, Naming::kHf, "layers.{}.mamba.dt_proj"},
    {WeightRole::kStepBias, Naming::kHf, "layers.{}.mamba.dt_proj.bias", Holds::kNamed, "jamba"},
    {WeightRole::kChannelDecay, Naming::kHf, "layers.{}.mamba.A_log", Holds::kNamed},
    {WeightRole::kFinalNorm, Naming::kHf, "final_layernorm", Holds::kOne, "jamba"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.pre_ff_layernorm", Holds::kOne, "jamba"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.feed_forward.router"},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.feed_forward.experts.{e}.gate_proj",
     Holds::kOne, "jamba"},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.feed_forward.experts.gate_up_proj",
     Holds::kExpertsGateUp, "jamba"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.feed_forward.experts.{e}.up_proj", Holds::kOne,
     "jamba"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.feed_forward.experts.gate_up_proj",
     Holds::kExpertsGateUp, "jamba"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.feed_forward.experts.{e}.down_proj",
     Holds::kOne, "jamba"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.feed_forward.experts.down_proj",
     Holds::kExperts, "jamba"},
    {WeightRole::kTokenEmbedding, Naming::kHf, "embeddings"},
    {WeightRole::kFinalNorm, Naming::kHf, "norm_f"},
    {WeightRole::kAttentionNorm, Naming::kHf, "layers.{}.norm"},
    {WeightRole::kMixerInput, Naming::kHf, "layers.{}.mixer.in_proj"},
    {WeightRole::kMixerKernel, Naming::kHf, "layers.{}.mixer.conv1d"},
    {WeightRole::kDecay, Naming::kHf, "layers.{}.mixer.A_log", Holds::kNamed},
    {WeightRole::kStepBias, Naming::kHf, "layers.{}.mixer.dt_bias", Holds::kNamed},
    {WeightRole::kSkip, Naming::kHf, "layers.{}.mixer.D", Holds::kNamed},
    {WeightRole::kMixerNorm, Naming::kHf, "layers.{}.mixer.norm"},
    {WeightRole::kMixerOutput, Naming::kHf, "layers.{}.mixer.out_proj"},
    {WeightRole::kQuery, Naming::kHf, "layers.{}.mixer.q_proj"},
    {WeightRole::kKey, Naming::kHf, "layers.{}.mixer.k_proj"},
    {WeightRole::kValue, Naming::kHf, "layers.{}.mixer.v_proj"},
    {WeightRole::kAttentionOutput, Naming::kHf, "layers.{}.mixer.o_proj"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.norm", Holds::kOne, "nemotron_h"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.norm", Holds::kOne, "nemotron_h_moe"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.mixer.gate"},
    {WeightRole::kChoiceBias, Naming::kHf, "layers.{}.mixer.gate.e_score_correction_bias",
     Holds::kNamed},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.mixer.experts.{e}.up_proj", Holds::kOne,
     "nemotron_h_moe"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.mixer.experts.up_proj", Holds::kExperts,
     "nemotron_h_moe"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.mixer.experts.{e}.down_proj", Holds::kOne,
     "nemotron_h_moe"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.mixer.experts.down_proj", Holds::kExperts,
     "nemotron_h_moe"},
    {WeightRole::kSharedUp, Naming::kHf, "layers.{}.mixer.shared_experts.up_proj"},
    {WeightRole::kSharedDown, Naming::kHf, "layers.{}.mixer.shared_experts.down_proj"},
    {WeightRole::kUp, Naming::kHf, "layers.{}.mixer.up_proj"},
    {WeightRole::kDown, Naming::kHf, "layers.{}.mixer.down_proj"},
    {WeightRole::kMixerInput, Naming::kHf, "layers.{}.linear_attn.in_proj_qkvz"},
    {WeightRole::kMixerInput, Naming::kHf, "layers.{}.linear_attn.in_proj_qkv"},
    {WeightRole::kMixerGate, Naming::kHf, "layers.{}.linear_attn.in_proj_z"},
    {WeightRole::kMixerSteps, Naming::kHf, "layers.{}.linear_attn.in_proj_ba"},
    {WeightRole::kMixerSteps, Naming::kHf, "layers.{}.linear_attn.in_proj_a"},
    {WeightRole::kMixerBeta, Naming::kHf, "layers.{}.linear_attn.in_proj_b"},
    {WeightRole::kMixerKernel, Naming::kHf, "layers.{}.linear_attn.conv1d"},
    {WeightRole::kDecay, Naming::kHf, "layers.{}.linear_attn.A_log", Holds::kNamed},
    {WeightRole::kStepBias, Naming::kHf, "layers.{}.linear_attn.dt_bias", Holds::kNamed},
    {WeightRole::kMixerNorm, Naming::kHf, "layers.{}.linear_attn.norm"},
    {WeightRole::kMixerOutput, Naming::kHf, "layers.{}.linear_attn.out_proj"},
    {WeightRole::kGate, Naming::kHf, "layers.{}.shared_mlp.input_linear", Holds::kGateUp},
    {WeightRole::kUp, Naming::kHf, "layers.{}.shared_mlp.input_linear", Holds::kGateUp},
    {WeightRole::kDown, Naming::kHf, "layers.{}.shared_mlp.output_linear"},
    {WeightRole::kSharedGate, Naming::kHf, "layers.{}.shared_mlp.input_linear", Holds::kGateUp},
    {WeightRole::kSharedUp, Naming::kHf, "layers.{}.shared_mlp.input_linear", Holds::kGateUp},
    {WeightRole::kSharedDown, Naming::kHf, "layers.{}.shared_mlp.output_linear"},
    {WeightRole::kQueryNorm, Naming::kHf, "layers.{}.self_attn.q_layernorm"},
    {WeightRole::kKeyNorm, Naming::kHf, "layers.{}.self_attn.k_layernorm"},
    {WeightRole::kAttentionOutput, Naming::kHf, "layers.{}.self_attn.out_proj"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.ffn_norm", Holds::kOne, "lfm2"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.ffn_norm", Holds::kOne, "lfm2moe"},
    {WeightRole::kGate, Naming::kHf, "layers.{}.feed_forward.w1"},
    {WeightRole::kUp, Naming::kHf, "layers.{}.feed_forward.w3"},
    {WeightRole::kDown, Naming::kHf, "layers.{}.feed_forward.w2"},
    {WeightRole::kRouter, Naming::kHf, "layers.{}.feed_forward.gate"},
    {WeightRole::kChoiceBias, Naming::kHf, "layers.{}.feed_forward.expert_bias", Holds::kNamed},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.feed_forward.experts.{e}.w1", Holds::kOne,
     "lfm2moe"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.feed_forward.experts.{e}.w3", Holds::kOne,
     "lfm2moe"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.feed_forward.experts.{e}.w2", Holds::kOne,
     "lfm2moe"},
    {WeightRole::kExpertGate, Naming::kHf, "layers.{}.feed_forward.experts.gate_up_proj",
     Holds::kExpertsGateUp, "lfm2moe"},
    {WeightRole::kExpertUp, Naming::kHf, "layers.{}.feed_forward.experts.gate_up_proj",
     Holds::kExpertsGateUp, "lfm2moe"},
    {WeightRole::kExpertDown, Naming::kHf, "layers.{}.feed_forward.experts.down_proj",
     Holds::kExperts, "lfm2moe"},
    {WeightRole::kFeedForwardNorm, Naming::kHf, "layers.{}.pre_ff_layernorm", Holds::kOne,
     "falcon-h1"},
    {WeightRole::kGate, Naming::kHf, "layers.{}.feed_forward.gate_proj"},
    {WeightRole::kUp, Naming::kHf, "layers.{}.feed_forward.up_proj"},
    {WeightRole::kDown, Naming::kHf, "layers.{}.feed_forward.down_proj"},
    {WeightRole::kTokenEmbedding, Naming::kHfGpt2, "wte"},
    {WeightRole::kPositionEmbedding, Naming::kHfGpt2, "wpe"},
    {WeightRole::kFinalNorm, Naming::kHfGpt2, "ln_f"},
    {WeightRole::kHead, Naming::kHfGpt2, "lm_head"},
    {WeightRole::kAttentionNorm, Naming::kHfGpt2, "h.{}.ln_1"},
    {WeightRole::kQuery, Naming::kHfGpt2, "h.{}.attn.c_attn", Holds::kQueryKeyValue},
    {WeightRole::kKey, Naming::kHfGpt2, "h.{}.attn.c_attn", Holds::kQueryKeyValue},
    {WeightRole::kValue, Naming::kHfGpt2, "h.{}.attn.c_attn", Holds::kQueryKeyValue},
    {WeightRole::kAttentionOutput, Naming::kHfGpt2, "h.{}.attn.c_proj"},
    {WeightRole::kFeedForwardNorm, Naming::kHfGpt2, "h.{}.ln_2"},
    {WeightRole::kUp, Naming::kHfGpt2, "h.{}.mlp.c_fc"},
    {WeightRole::kDown, Naming::kHfGpt2, "h.{}.mlp.c_proj"},
};

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
  const auto outputs_of = [&](WeightRole role) {
    return shape_of(d, {.role = role, .block = id.block})[0];
  };
  Place place;
  if (holds == Holds::kQueryKeyValue) {
    const std::size_t query = outputs_of(WeightRole::kQuery);
    const std::size_t key = outputs_of(WeightRole::kKey);
    place.begin = id.role == WeightRole::kQuery ? 0
                  : id.role == WeightRole::kKey ? query
                                                : query + key;
    place.outputs = query + key + outputs_of(WeightRole::kValue);
  } else if (holds == Holds::kGateUp || holds == Holds::kExpertsGateUp) {
    const std::size_t one = outputs_of(id.role);
    const bool is_first = id.role == WeightRole::kGate || id.role == WeightRole::kExpertGate ||
                          id.role == WeightRole::kSharedGate;
    place.begin = is_first ? 0 : one;
    place.outputs = 2 * one;
  } else if (holds == Holds::kExpertsByTurns) {
    place.begin = id.role == WeightRole::kExpertGate ? 0 : 1;
    place.step = 2;
    place.outputs = 2 * outputs_of(id.role);
  } else {
    place.outputs = outputs_of(id.role);
  }
  place.has_experts =
      holds == Holds::kExperts || holds == Holds::kExpertsGateUp || holds == Holds::kExpertsByTurns;
  return place;
}

/// Whether a GGUF file of this recurrence has the name, if it is one of a recurrence.
bool is_of_mixer(const Description& d, const NameRow& row) {
  if (row.role == WeightRole::kMixerSteps) {
    return (row.holds == Holds::kMergedSteps) == d.merges_steps;
  }
  if (row.role != WeightRole::kMixerInput && row.role != WeightRole::kMixerKernel &&
      row.role != WeightRole::kMixerOutput) {
    return true;
  }
  if (row.role == WeightRole::kMixerInput && d.has_mixer(Mixer::kDelta) && !d.merges_gate) {
    return row.holds == Holds::kDelta;
  }
  return row.holds == (d.has_mixer(Mixer::kConvolution) ? Holds::kShort : Holds::kOne);
}

}  // namespace

std::vector<Place> places_of(const Description& whole, Naming naming, const WeightId& id) {
  const Description d = id.role >= WeightRole::kAttentionNorm ? whole.of_block(id.block) : whole;
  std::vector<Place> places;
  const bool transposes_experts = d.architecture == "gpt-oss";
  const auto add = [&](const NameRow& row) {
    const bool is_other_norm = row.holds == Holds::kFeedForwardNorm && d.has_post_norms;
    const bool is_other_query = (row.holds == Holds::kOfQueryLatent) != (d.query_latent_width != 0);
    if (row.role == WeightRole::kQuery && is_other_query) return;
    const bool is_other = !row.architecture.empty() && row.architecture != d.architecture;
    if (row.role != id.role || row.naming != naming || is_other_norm || is_other) return;
    const bool takes_turns = transposes_experts && naming == Naming::kHf;
    const bool has_turns = row.holds == Holds::kExpertsByTurns || row.holds == Holds::kExperts;
    const bool is_expert = id.role >= WeightRole::kExpertGate;
    if (is_expert && (takes_turns ? !has_turns : row.holds == Holds::kExpertsByTurns)) return;
    if (naming == Naming::kGguf && !is_of_mixer(d, row)) return;
    Place place = place_in(d, id, row.holds);
    place.name = filled(row.pattern, id);
    place.is_transposed = naming == Naming::kHfGpt2 && id.role > WeightRole::kHead &&
                          id.part == Part::kWeight && !is_norm(id.role);
    if (takes_turns && place.has_experts) place.is_transposed = id.part == Part::kWeight;
    // Experts in one tensor have no suffix of their own in Hugging Face's files.
    if (place.has_experts && naming == Naming::kHf) {
      if (id.part == Part::kBias) place.name += "_bias";
    } else if (row.holds != Holds::kNamed) {
      place.name += id.part == Part::kBias ? ".bias" : ".weight";
    }
    places.push_back(std::move(place));
  };
  std::ranges::for_each(kGgufNames, add);
  std::ranges::for_each(kHfNames, add);
  return places;
}

Place new_gguf_place(const Description& d, const WeightId& id) {
  std::vector<Place> places = places_of(d, Naming::kGguf, id);
  const bool is_query_key_value =
      id.role == WeightRole::kQuery || id.role == WeightRole::kKey || id.role == WeightRole::kValue;
  const bool is_gate_up =
      d.is_gated && (id.role == WeightRole::kGate || id.role == WeightRole::kUp);
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  const bool is_merged =
      (is_query_key_value && architecture.gguf_merges) ||
      (is_gate_up && (architecture.gguf_merges || architecture.gguf_merges_gates));
  // The merged tensors are the last places; those of one architecture, too.
  const bool is_own =
      (id.role == WeightRole::kFeedForwardNorm || id.role == WeightRole::kFinalNorm) &&
      places.size() > 1;
  return is_merged || is_own ? places.back() : places.front();
}

}  // namespace halftone::lm
