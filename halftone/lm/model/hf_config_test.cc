// SPDX-License-Identifier: Apache-2.0
// Keys and numbers are those of published models.
#include "halftone/lm/model/hf_config.h"

#include <cmath>

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

constexpr std::string_view kLlama32 = R"({"architectures": ["LlamaForCausalLM"],
  "attention_bias": false, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0,
  "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
  "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": true,
  "vocab_size": 128256})";
constexpr std::string_view kMistral = R"({"hidden_act": "silu", "hidden_size": 4096,
  "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
  "tie_word_embeddings": false, "vocab_size": 32000})";
constexpr std::string_view kQwen2 = R"({"hidden_act": "silu", "hidden_size": 896,
  "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 21,
  "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24,
  "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
  "sliding_window": 32768, "tie_word_embeddings": true, "use_sliding_window": false,
  "vocab_size": 151936})";
constexpr std::string_view kGemma2 = R"({"attention_bias": false, "attn_logit_softcapping": 50.0,
  "final_logit_softcapping": 30.0, "head_dim": 128, "hidden_act": "gelu_pytorch_tanh",
  "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 4608, "intermediate_size": 36864,
  "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 32,
  "num_hidden_layers": 46, "num_key_value_heads": 16, "query_pre_attn_scalar": 144,
  "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096, "vocab_size": 256000})";
constexpr std::string_view kGemma3 = R"({"architectures": ["Gemma3ForConditionalGeneration"],
  "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
  "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0,
  "rope_type": "linear"}, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152}})";
constexpr std::string_view kPhi4Mini = R"({"hidden_act": "silu", "hidden_size": 64,
  "intermediate_size": 128, "max_position_embeddings": 131072, "model_type": "phi3",
  "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
  "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75,
  "rms_norm_eps": 1e-05, "rope_scaling": {"long_factor": [1, 1.5, 2, 3, 4, 5],
  "short_factor": [1, 1, 1, 1, 1, 1], "type": "longrope"}, "rope_theta": 10000.0,
  "sliding_window": 262144, "tie_word_embeddings": true, "vocab_size": 200064})";
constexpr std::string_view kGpt2 = R"({"activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"], "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
  "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
  "vocab_size": 50257})";
constexpr std::string_view kQwenMoe = R"({"decoder_sparse_step": 1, "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 5632, "max_position_embeddings": 8192,
  "max_window_layers": 21, "model_type": "qwen2_moe", "moe_intermediate_size": 1408,
  "norm_topk_prob": false, "num_attention_heads": 16, "num_experts": 60,
  "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 16,
  "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "shared_expert_intermediate_size": 5632,
  "sliding_window": 32768, "use_sliding_window": false, "vocab_size": 151936})";
constexpr std::string_view kBitNet = R"({"hidden_act": "relu2", "hidden_size": 2560,
  "intermediate_size": 6912, "max_position_embeddings": 4096, "model_type": "bitnet",
  "num_attention_heads": 20, "num_hidden_layers": 30, "num_key_value_heads": 5,
  "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": true,
  "vocab_size": 128256})";

/// A text with the first `from` replaced.
std::string replaced(std::string_view text, const std::string& from, const std::string& to) {
  std::string result(text);
  const auto at = result.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return result.replace(at, from.size(), to);
}

TEST(Config, DescribesLlama32WithItsFactors) {
  const Description d = describe_config(kLlama32, "c");
  EXPECT_EQ(d.architecture, "llama");
  EXPECT_EQ(d.blocks, 16U);
  EXPECT_EQ(d.width, 2048U);
  EXPECT_EQ(d.heads, 32U);
  EXPECT_EQ(d.kv_heads, 8U);
  EXPECT_EQ(d.head_width, 64U);
  EXPECT_EQ(d.context, 131072U);
  EXPECT_EQ(d.pairing, Pairing::kNeox);
  EXPECT_TRUE(d.ties_embeddings);
  EXPECT_EQ(d.rotary.base, 500000);
  ASSERT_EQ(d.rotary.divisors.size(), 32U);
  // Pair i turns 8192 / (2 pi 500000^(i / 32)) times within the original context: 4.44 times for
  // i = 14, 2.94 for 15, 1.29 for 17, 0.86 for 18.
  EXPECT_EQ(d.rotary.divisors[14], 1);
  EXPECT_EQ(d.rotary.divisors[18], 32);
  const double turns = 8192 / (2 * std::acos(-1.0) * std::pow(500000.0, 15.0 / 32));
  const double share = (turns - 1) / 3;
  EXPECT_DOUBLE_EQ(d.rotary.divisors[15], 1 / ((1 - share) / 32 + share));
}

TEST(Config, ReadsTheKeysOfNewerFiles) {
  const std::string text =
      replaced(replaced(kLlama32, R"("rope_theta": 500000.0, )", ""), R"("rope_scaling": {)",
               R"("rope_parameters": {"rope_theta": 500000.0, )");
  EXPECT_EQ(describe_config(text, "c"), describe_config(kLlama32, "c"));
}

TEST(Config, DescribesWindows) {
  const Description mistral = describe_config(kMistral, "c");
  EXPECT_EQ(mistral.architecture, "llama");
  EXPECT_EQ(mistral.window, 4096U);
  EXPECT_EQ(mistral.windowed, std::vector<bool>(32, true));
  const Description qwen2 = describe_config(kQwen2, "c");
  EXPECT_EQ(qwen2.window, 0U);
  EXPECT_TRUE(qwen2.has_qkv_bias && !qwen2.has_output_bias);
  const Description windowed = describe_config(
      replaced(kQwen2, R"("use_sliding_window": false)", R"("use_sliding_window": true)"), "c");
  EXPECT_TRUE(!windowed.is_windowed(20) && windowed.is_windowed(21));
  const Description listed = describe_config(
      replaced(replaced(kMistral, R"("num_hidden_layers": 32)", R"("num_hidden_layers": 2)"),
               R"("vocab_size")",
               R"("layer_types": ["full_attention", "sliding_attention"], "vocab_size")"),
      "c");
  EXPECT_EQ(listed.windowed, (std::vector<bool>{false, true}));
}

TEST(Config, DescribesQwen3) {
  const Description d =
      describe_config(replaced(replaced(kQwen2, "qwen2", "qwen3"), R"("hidden_size")",
                               R"("head_dim": 128, "attention_bias": false, "hidden_size")"),
                      "c");
  EXPECT_EQ(d.architecture, "qwen3");
  EXPECT_EQ(d.head_width, 128U);
  EXPECT_TRUE(d.normalizes_heads && !d.has_qkv_bias);
}

TEST(Config, DescribesGemma) {
  const Description two = describe_config(kGemma2, "c");
  EXPECT_EQ(two.norm_offset, 1);
  EXPECT_TRUE(two.has_post_norms && two.ties_embeddings);
  EXPECT_EQ(two.score_cap, 50);
  EXPECT_EQ(two.logit_cap, 30);
  EXPECT_DOUBLE_EQ(two.score_scale, 1.0 / 12);
  EXPECT_TRUE(two.is_windowed(0) && !two.is_windowed(1));
  EXPECT_EQ(two.function, FeedForward::kGeluTanh);
  const Description three = describe_config(kGemma3, "c");
  EXPECT_EQ(three.architecture, "gemma3");
  EXPECT_EQ(three.vocabulary, 262208U);
  EXPECT_EQ(three.heads, 8U);
  EXPECT_EQ(three.kv_heads, 4U);
  EXPECT_EQ(three.head_width, 256U);
  EXPECT_EQ(three.window, 1024U);
  EXPECT_EQ(three.score_cap, 0);
  EXPECT_EQ(three.rotary.divisors, std::vector<double>(128, 8));
  EXPECT_EQ(three.rotary.base, 1e6);
  EXPECT_EQ(three.window_rotary, RotaryAngles{});
  EXPECT_DOUBLE_EQ(three.embedding_factor, std::sqrt(2560.0));
  std::string one = replaced(replaced(kGemma2, "gemma2", "gemma"),
                             R"("hidden_activation": "gelu_pytorch_tanh", )", "");
  for (const char* key :
       {R"("attn_logit_softcapping": 50.0,)", R"("final_logit_softcapping": 30.0, )",
        R"("query_pre_attn_scalar": 144,)", R"("sliding_window": 4096, )"}) {
    one = replaced(one, key, "");
  }
  EXPECT_EQ(describe_config(replaced(one, "gelu_pytorch_tanh", "gelu"), "c").function,
            FeedForward::kGeluTanh);
}

TEST(Config, DescribesGemma3OfNewerFiles) {
  const std::string text =
      replaced(kGemma3, R"("rope_scaling": {"factor": 8.0,
  "rope_type": "linear"})",
               R"("rope_parameters": {"full_attention": {"factor": 8.0, "rope_theta": 1000000.0,
  "rope_type": "linear"}, "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}})");
  EXPECT_EQ(describe_config(text, "c"), describe_config(kGemma3, "c"));
  expect_error(ErrorKind::kUnsupported, "c: 'sliding_attention': scaled positions of blocks",
               [&] { describe_config(replaced(text, R"("default")", R"("linear")"), "c"); });
}

TEST(Config, DescribesPhiWithItsFactors) {
  const Description d = describe_config(kPhi4Mini, "c");
  EXPECT_EQ(d.rotary_dims, 12U);
  EXPECT_THAT(d.rotary.long_divisors, ElementsAre(1, 1.5, 2, 3, 4, 5));
  EXPECT_THAT(d.rotary.divisors, ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_EQ(d.original_context, 4096U);
  EXPECT_DOUBLE_EQ(d.rotary_factor, std::sqrt(1 + std::log(32.0) / std::log(4096.0)));
}

TEST(Config, DescribesGpt2AndBitNet) {
  const Description gpt2 = describe_config(kGpt2, "c");
  EXPECT_EQ(gpt2.inner, 3072U);
  EXPECT_EQ(gpt2.context, 1024U);
  EXPECT_TRUE(gpt2.ties_embeddings && gpt2.has_ffn_bias);
  EXPECT_EQ(gpt2.norm, Norm::kLayer);
  EXPECT_EQ(gpt2.function, FeedForward::kGeluTanh);
  const Description bitnet = describe_config(kBitNet, "c");
  EXPECT_EQ(bitnet.function, FeedForward::kReluSquared);
  EXPECT_TRUE(bitnet.has_sub_norms);
  EXPECT_EQ(describe_config(replaced(kBitNet, "relu2", "gelu"), "c").function, FeedForward::kGelu);
  EXPECT_EQ(describe_config(replaced(kBitNet, "relu2", "relu"), "c").function, FeedForward::kRelu);
}

TEST(Config, DescribesExperts) {
  const Description qwen = describe_config(kQwenMoe, "c");
  EXPECT_EQ(qwen.architecture, "qwen2moe");
  EXPECT_EQ(qwen.experts, 60U);
  EXPECT_EQ(qwen.active_experts, 4U);
  EXPECT_EQ(qwen.inner, 1408U);
  EXPECT_EQ(qwen.shared_inner, 5632U);
  EXPECT_TRUE(qwen.has_shared_gate && !qwen.renormalizes && qwen.has_qkv_bias);
  const Description mixtral =
      describe_config(replaced(replaced(kMistral, "mistral", "mixtral"), R"("vocab_size")",
                               R"("num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size")"),
                      "c");
  EXPECT_EQ(mixtral.inner, 14336U);
  EXPECT_TRUE(mixtral.renormalizes && !mixtral.has_shared_gate);
}

/// As the classes of transformers have them.
TEST(Config, UsesTheDefaultsOfTheModelType) {
  const Description llama = describe_config(R"({"model_type": "llama"})", "c");
  EXPECT_EQ(llama.inner, 11008U);
  EXPECT_EQ(llama.norm_epsilon, 1e-6);
  EXPECT_EQ(llama.context, 2048U);
  const Description mixtral = describe_config(R"({"model_type": "mixtral"})", "c");
  EXPECT_EQ(mixtral.rotary.base, 1e6);
  EXPECT_EQ(mixtral.experts, 8U);
  const Description two = describe_config(R"({"model_type": "gemma2"})", "c");
  EXPECT_EQ(two.score_scale, 1.0 / 16);
  EXPECT_EQ(two.score_cap, 50);
  EXPECT_EQ(two.logit_cap, 30);
  EXPECT_EQ(two.window, 4096U);
  const std::string none = R"({"model_type": "gemma2", "attn_logit_softcapping": null})";
  EXPECT_EQ(describe_config(none, "c").score_cap, 0);
  EXPECT_EQ(describe_config(R"({"model_type": "mistral"})", "c").window, 4096U);
  EXPECT_EQ(describe_config(R"({"model_type": "mistral", "sliding_window": null})", "c").window,
            0U);
}

TEST(Config, DescribesScaledPositions) {
  const auto with = [](const std::string& keys) {
    return describe_config(
        replaced(kMistral, R"("vocab_size")", R"("rope_scaling": )" + keys + R"(, "vocab_size")"),
        "c");
  };
  const Description yarn = with(R"({"type": "yarn", "factor": 4.0,
    "original_max_position_embeddings": 8192, "beta_fast": 16})");
  EXPECT_EQ(yarn.rotary.yarn, (Yarn{.factor = 4, .fast_turns = 16}));
  EXPECT_EQ(yarn.original_context, 8192U);
  EXPECT_DOUBLE_EQ(yarn.rotary_factor, 1 + 0.1 * std::log(4.0));
  const Description both = with(R"({"type": "yarn", "factor": 4.0, "mscale": 0.7,
    "mscale_all_dim": 1.0})");
  EXPECT_EQ(both.original_context, 32768U);
  EXPECT_DOUBLE_EQ(both.rotary_factor, (1 + 0.07 * std::log(4.0)) / (1 + 0.1 * std::log(4.0)));
  const Description dynamic = with(R"({"type": "dynamic", "factor": 2.0})");
  EXPECT_EQ(dynamic.rotary.dynamic_factor, 2);
  EXPECT_EQ(dynamic.original_context, 32768U);
  // Older advice: rope_scaling is added to a file that has rope_parameters.
  const std::string text =
      replaced(kMistral, R"("rope_theta": 10000.0)",
               R"("rope_parameters": {"rope_theta": 5000.0, "rope_type": "default"},
    "rope_scaling": {"type": "linear", "factor": 4.0}, "rope_theta": 10000.0)");
  EXPECT_EQ(describe_config(text, "c").rotary.divisors, std::vector<double>(64, 4));
  EXPECT_EQ(describe_config(text, "c").rotary.base, 10000);
}

/// Sizes are those of DeepSeek V2 Lite and of DeepSeek V3.
TEST(Config, DescribesLatentAttention) {
  const Description lite = describe_config(R"({"model_type": "deepseek_v2", "hidden_size": 2048,
    "kv_lora_rank": 512, "q_lora_rank": null, "num_attention_heads": 16, "num_experts_per_tok": 6,
    "num_key_value_heads": 16, "first_k_dense_replace": 1, "topk_method": "greedy",
    "rope_scaling": {"factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
    "original_max_position_embeddings": 4096, "type": "yarn"}})",
                                           "c");
  EXPECT_EQ(lite.latent_width, 512U);
  EXPECT_EQ(lite.query_latent_width, 0U);
  EXPECT_EQ(lite.head_width, 192U);
  EXPECT_EQ(lite.value_width, 128U);
  EXPECT_EQ(lite.rotary_dims, 64U);
  EXPECT_EQ(lite.rotary_factor, 1);
  const double grown = 1 + 0.0707 * std::log(40.0);
  EXPECT_DOUBLE_EQ(lite.score_scale, grown * grown / std::sqrt(192.0));
  EXPECT_TRUE(!lite.has_experts(0) && lite.has_experts(1) && !lite.has_sigmoid_scores);
  EXPECT_EQ(lite.expert_groups, 1U);
  const Description v3 =
      describe_config(R"({"model_type": "deepseek_v3", "scoring_func": "sigmoid"})", "c");
  EXPECT_EQ(v3.query_latent_width, 1536U);
  EXPECT_TRUE(v3.has_sigmoid_scores && v3.has_choice_bias && v3.sums_group_scores);
  EXPECT_EQ(v3.expert_groups, 8U);
  EXPECT_EQ(v3.active_groups, 4U);
  EXPECT_EQ(v3.share_factor, 2.5);
  EXPECT_EQ(v3.shared_inner, 2048U);
  EXPECT_EQ(v3.dense_blocks, 3U);
  EXPECT_EQ(v3.dense_inner, 18432U);
  expect_error(ErrorKind::kUnsupported, "c: 'scoring_func': 'softmax': expected sigmoid", [] {
    describe_config(R"({"model_type": "deepseek_v3", "scoring_func": "softmax"})", "c");
  });
}

TEST(Config, RefusesWhatItWouldComputeWrongly) {
  const auto refuse = [](std::string_view text, const std::string& added, const std::string& why) {
    expect_error(ErrorKind::kUnsupported, why, [&] {
      describe_config(replaced(text, R"("vocab_size")", added + R"(, "vocab_size")"), "c");
    });
  };
  refuse(kBitNet, R"("quantization_config": {"quant_method": "bitnet"})",
         "c: 'quantization_config': weights that a package has quantized");
  refuse(kGpt2, R"("scale_attn_by_inverse_layer_idx": true)",
         "c: 'scale_attn_by_inverse_layer_idx': attention of this kind");
  refuse(kQwenMoe, R"("mlp_only_layers": [0])", "c: 'mlp_only_layers': blocks without experts");
  refuse(kMistral, R"("rope_scaling": {"rope_type": "ntk"})",
         "c: 'rope_scaling': type 'ntk': its angles are not described here");
  refuse(kMistral, R"("rope_scaling": {"type": "linear", "factor": 2, "beta_fast": 8})",
         "c: 'rope_scaling': 'beta_fast': is no key of type 'linear'");
  refuse(kGpt2, R"("rope_scaling": {"type": "linear", "factor": 2})",
         "c: 'rope_scaling': positions of this model_type are learned");
  refuse(kLlama32, R"("sliding_window": 64)",
         "c: 'sliding_window': transformers does not read it for this model_type");
  refuse(kLlama32, R"("partial_rotary_factor": 0.5)",
         "c: 'partial_rotary_factor': transformers does not read it");
  refuse(kMistral, R"("hidden_activation": "tanh")", "c: 'hidden_act': 'tanh': known: silu");
  const std::string gemma4 =
      R"({"model_type": "gemma4_text", "num_hidden_layers": 2, "vocab_size": 9})";
  expect_error(ErrorKind::kFormat, "c: 'num_experts': is missing, though 'enable_moe_block'", [&] {
    describe_config(
        replaced(gemma4, R"("vocab_size")", R"("enable_moe_block": true, "vocab_size")"), "c");
  });
  refuse(gemma4, R"("vocab_size_per_layer_input": 7)", "c: 'vocab_size_per_layer_input': expected");
  refuse(gemma4, R"("per_layer_config": {"0": {"head_dim": 64}})", "c: 'per_layer_config': '0'");
  refuse(gemma4, R"("use_bidirectional_attention": "all")",
         "c: 'use_bidirectional_attention': attention of this kind");
  expect_error(ErrorKind::kUnsupported, "c: architecture 'mamba' (model_type)",
               [] { describe_config(replaced(kMistral, "mistral", "mamba"), "c"); });
}

TEST(Config, NamesWhatIsWrong) {
  expect_error(ErrorKind::kFormat, "c: is no JSON object", [] { describe_config("[1", "c"); });
  expect_error(ErrorKind::kFormat, "c: needs 'model_type'", [] { describe_config("{}", "c"); });
  expect_error(ErrorKind::kFormat, "c: needs 'num_hidden_layers'", [] {
    describe_config(R"({"model_type": "llama", "num_hidden_layers": null})", "c");
  });
  const auto wrong = [](const std::string& from, const std::string& to, const std::string& why) {
    expect_error(ErrorKind::kFormat, why,
                 [&] { describe_config(replaced(kLlama32, from, to), "c"); });
  };
  wrong(R"("vocab_size": 128256)", R"("vocab_size": -1)",
        "c: 'vocab_size': expected a whole number from 0 to 2^32");
  wrong(R"("vocab_size": 128256)", R"("vocab_size": 0)", "c: llama: vocabulary: expected 1");
  wrong(R"("rope_theta": 500000.0)", R"("rope_theta": "x")", "c: 'rope_theta': expected a number");
  wrong(R"("mlp_bias": false)", R"("mlp_bias": 2)", "c: 'mlp_bias': expected a boolean");
  wrong(R"("hidden_act": "silu")", R"("hidden_act": 2)", "c: 'hidden_act': expected a text");
  expect_error(ErrorKind::kFormat,
               "c: 'partial_rotary_factor': expected a number above 0 and at most 1",
               [] { describe_config(replaced(kPhi4Mini, "0.75", "2"), "c"); });
  expect_error(ErrorKind::kFormat, "c: 'long_factor': expected a list of numbers",
               [] { describe_config(replaced(kPhi4Mini, "1.5", "\"a\""), "c"); });
  expect_error(ErrorKind::kFormat, "c: 'layer_types': expected a list", [] {
    describe_config(replaced(kMistral, R"("vocab_size")", R"("layer_types": 1, "vocab_size")"),
                    "c");
  });
}

TEST(Config, SizesNeedAKnownArchitecture) {
  const Description d = config_sizes(kMistral, "c");
  EXPECT_EQ(d.blocks, 32U);
  EXPECT_EQ(d.inner, 14336U);
  EXPECT_EQ(d.window, 4096U);
  expect_error(ErrorKind::kUnsupported, "architecture 'unheard' (model_type)",
               [] { config_sizes(replaced(kMistral, "mistral", "unheard"), "c"); });
}

}  // namespace
}  // namespace halftone::lm
