// SPDX-License-Identifier: Apache-2.0
// Descriptions of models with recurrences. Keys and numbers are those of published models.
#include <gmock/gmock.h>

#include <set>

#include "halftone/base/testing.h"
#include "halftone/lm/model/description_json.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

constexpr std::string_view kLfm2 = R"({"architectures": ["Lfm2ForCausalLM"],
  "block_auto_adjust_ff_dim": true, "block_dim": 1024, "block_ff_dim": 6656,
  "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "block_norm_eps": 1e-05,
  "conv_L_cache": 3, "conv_bias": false, "full_attn_idxs": [2, 5, 8, 10, 12, 14],
  "hidden_size": 1024, "max_position_embeddings": 128000, "model_type": "lfm2",
  "norm_eps": 1e-05, "num_attention_heads": 16, "num_hidden_layers": 16,
  "num_key_value_heads": 8, "rope_theta": 1000000.0, "vocab_size": 65536})";
constexpr std::string_view kGranite4 = R"({"architectures": ["GraniteMoeHybridForCausalLM"],
  "attention_bias": false, "attention_multiplier": 0.0078125, "embedding_multiplier": 12,
  "hidden_act": "silu", "hidden_size": 1536, "intermediate_size": 512,
  "layer_types": ["mamba", "mamba", "attention", "mamba"], "logits_scaling": 6,
  "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_head": 64,
  "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 48,
  "mamba_proj_bias": false, "max_position_embeddings": 131072, "model_type": "granitemoehybrid",
  "num_attention_heads": 12, "num_experts_per_tok": 6, "num_hidden_layers": 4,
  "num_key_value_heads": 4, "num_local_experts": 64, "position_embedding_type": "nope",
  "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "shared_intermediate_size": 1024,
  "tie_word_embeddings": true, "vocab_size": 100352})";
constexpr std::string_view kQwen3Next = R"({"architectures": ["Qwen3NextForCausalLM"],
  "attention_bias": false, "decoder_sparse_step": 1, "full_attention_interval": 4,
  "head_dim": 256, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 5120,
  "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
  "linear_num_value_heads": 32, "linear_value_head_dim": 128, "max_position_embeddings": 262144,
  "mlp_only_layers": [], "model_type": "qwen3_next", "moe_intermediate_size": 512,
  "norm_topk_prob": true, "num_attention_heads": 16, "num_experts": 512,
  "num_experts_per_tok": 10, "num_hidden_layers": 8, "num_key_value_heads": 2,
  "partial_rotary_factor": 0.25, "rms_norm_eps": 1e-06, "rope_theta": 10000000,
  "shared_expert_intermediate_size": 512, "tie_word_embeddings": false, "vocab_size": 151936})";

constexpr std::string_view kNemotronH = R"({"architectures": ["NemotronHForCausalLM"],
  "attention_bias": false, "attention_head_dim": 128, "conv_kernel": 4, "expand": 2,
  "hidden_size": 4096, "hybrid_override_pattern": "M-M*-M", "intermediate_size": 21504,
  "layer_norm_epsilon": 1e-05, "mamba_head_dim": 64, "mamba_hidden_act": "silu",
  "mamba_num_heads": 128, "mamba_proj_bias": false, "max_position_embeddings": 8192,
  "mlp_bias": false, "mlp_hidden_act": "relu2", "model_type": "nemotron_h", "n_groups": 8,
  "num_attention_heads": 32, "num_hidden_layers": 6, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-06, "rope_theta": 5000, "sliding_window": null, "ssm_state_size": 128,
  "tie_word_embeddings": false, "time_step_limit": [0.0, Infinity], "time_step_min": 0.001,
  "use_bias": false, "use_conv_bias": true, "vocab_size": 131072})";
constexpr std::string_view kNemotron3 = R"({"architectures": ["NemotronHForCausalLM"],
  "head_dim": 128, "hidden_size": 2688, "hybrid_override_pattern": "ME*EM",
  "intermediate_size": 1856, "mamba_head_dim": 64, "mamba_num_heads": 64,
  "model_type": "nemotron_h", "moe_intermediate_size": 1856,
  "moe_shared_expert_intermediate_size": 3712, "n_group": 1, "n_groups": 8,
  "n_routed_experts": 128, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 32, "num_experts_per_tok": 6, "num_hidden_layers": 5,
  "num_key_value_heads": 2, "routed_scaling_factor": 2.5, "topk_group": 1, "vocab_size": 131072})";

constexpr std::string_view kJamba = R"({"architectures": ["JambaForCausalLM"],
  "attn_layer_offset": 4, "attn_layer_period": 8, "expert_layer_offset": 1,
  "expert_layer_period": 2, "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_state": 16, "mamba_dt_rank": 256,
  "mamba_expand": 2, "mamba_proj_bias": false, "max_position_embeddings": 262144,
  "model_type": "jamba", "num_attention_heads": 32, "num_experts": 16, "num_experts_per_tok": 2,
  "num_hidden_layers": 16, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
  "tie_word_embeddings": false, "vocab_size": 65536})";

/// The text with a part replaced, which must be there.
std::string with(std::string_view config, const std::string& part, const std::string& other) {
  std::string text(config);
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

TEST(Recurrences, OfLfm2AreShortConvolutions) {
  const Description d = describe_config(kLfm2, "config.json");
  EXPECT_EQ(d.architecture, "lfm2");
  EXPECT_EQ(d.attention_blocks(), 6U);
  EXPECT_EQ(d.mixer(2), Mixer::kAttention);
  EXPECT_EQ(d.mixer(3), Mixer::kConvolution);
  EXPECT_EQ(d.taps, 3U);
  EXPECT_EQ(d.inner, 4608U);  // two thirds of 6656, in steps of 256
  EXPECT_TRUE(d.ties_embeddings);
  EXPECT_TRUE(d.normalizes_heads);
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kMixerInput}), (std::vector<std::size_t>{3072, 1024}));
}

TEST(Recurrences, OfGraniteAreScans) {
  const Description d = describe_config(kGranite4, "config.json");
  EXPECT_EQ(d.architecture, "granitehybrid");
  EXPECT_THAT(d.mixers, ElementsAre(Mixer::kScan, Mixer::kScan, Mixer::kAttention, Mixer::kScan));
  EXPECT_EQ(d.scan_inner, 3072U);
  EXPECT_EQ(d.scan_heads, 48U);
  EXPECT_TRUE(d.has_kernel_bias);
  EXPECT_FALSE(d.is_rotated(2));
  EXPECT_EQ(d.inner, 512U);
  EXPECT_EQ(d.shared_inner, 1024U);
  EXPECT_FALSE(d.has_shared_gate);
  EXPECT_DOUBLE_EQ(d.score_scale, 0.0078125);
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kMixerInput}),
            (std::vector<std::size_t>{2 * 3072 + 2 * 128 + 48, 1536}));
}

TEST(Recurrences, OfGraniteMayBeNone) {
  const std::string dense =
      with(with(with(kGranite4, R"(["mamba", "mamba", "attention", "mamba"])",
                     R"(["attention", "attention", "attention", "attention"])"),
                R"("nope")", R"("rope")"),
           R"("num_local_experts": 64)", R"("num_local_experts": 0)");
  const Description d = describe_config(dense, "config.json");
  EXPECT_EQ(d.architecture, "granite");
  EXPECT_TRUE(d.mixers.empty());
  EXPECT_TRUE(d.is_rotated(0));
  EXPECT_EQ(d.inner, 1024U);
}

TEST(Recurrences, OfQwenAreDeltaRules) {
  const Description d = describe_config(kQwen3Next, "config.json");
  EXPECT_EQ(d.architecture, "qwen3next");
  EXPECT_EQ(d.attention_blocks(), 2U);
  EXPECT_EQ(d.mixer(6), Mixer::kDelta);
  EXPECT_EQ(d.mixer(7), Mixer::kAttention);
  EXPECT_EQ(d.scan_inner, 4096U);
  EXPECT_EQ(d.rotary_dims, 64U);
  EXPECT_EQ(d.norm_offset, 1);
  EXPECT_TRUE(d.gates_attention);
  EXPECT_TRUE(d.has_shared_gate);
  EXPECT_TRUE(d.merges_gate);
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kQuery}), (std::vector<std::size_t>{8192, 2048}));
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kMixerNorm}), (std::vector<std::size_t>{128}));
}

TEST(Recurrences, OfNemotronAreBlocksOfTheirOwn) {
  const Description d = describe_config(kNemotronH, "config.json");
  EXPECT_EQ(d.architecture, "nemotron_h");
  EXPECT_THAT(d.mixers, ElementsAre(Mixer::kScan, Mixer::kNone, Mixer::kScan, Mixer::kAttention,
                                    Mixer::kNone, Mixer::kScan));
  EXPECT_TRUE(d.has_network(1));
  EXPECT_FALSE(d.has_network(3));
  EXPECT_FALSE(d.is_rotated(3));
  EXPECT_EQ(d.head_width, 128U);
  EXPECT_EQ(d.scan_inner, 8192U);
  EXPECT_EQ(d.experts, 0U);
  EXPECT_EQ(d.norm_epsilon, 1e-05);
  EXPECT_EQ(d.function, FeedForward::kReluSquared);
  std::set<WeightRole> of_network;
  for (const WeightId& id : needed_weights(d)) {
    if (id.block == 1) of_network.insert(id.role);
  }
  EXPECT_THAT(of_network,
              ElementsAre(WeightRole::kFeedForwardNorm, WeightRole::kUp, WeightRole::kDown));
  const std::string list = R"("layers_block_type": ["mlp", "attention", "mamba"])";
  const Description listed = describe_config(
      with(kNemotronH, R"("num_hidden_layers": 6)", R"("num_hidden_layers": 6, )" + list),
      "config.json");
  EXPECT_THAT(listed.mixers, ElementsAre(Mixer::kNone, Mixer::kAttention, Mixer::kScan));
}

TEST(Recurrences, OfNemotronMayHaveExpertsBesideThem) {
  const Description d = describe_config(kNemotron3, "config.json");
  EXPECT_EQ(d.architecture, "nemotron_h_moe");
  EXPECT_EQ(d.expert_blocks(), 2U);
  EXPECT_TRUE(d.has_experts(1));
  EXPECT_FALSE(d.has_experts(2));
  EXPECT_TRUE(d.dense.empty());
  EXPECT_TRUE(d.has_sigmoid_scores && d.has_choice_bias && d.renormalizes);
  EXPECT_EQ(d.shared_inner, 3712U);
  EXPECT_EQ(d.share_factor, 2.5);
  const Description mixed =
      describe_config(with(kNemotron3, R"("ME*EM")", R"("-E*EM")"), "config.json");
  EXPECT_FALSE(mixed.has_experts(0));
  EXPECT_EQ(shape_of(mixed, {.role = WeightRole::kUp}), (std::vector<std::size_t>{1856, 2688}));
  expect_error(ErrorKind::kUnsupported, "have no networks beside those with experts",
               [&] { new_gguf_keys(mixed, "model"); });
}

TEST(Recurrences, OfJambaAreScansOfChannels) {
  const Description d = describe_config(kJamba, "config.json");
  EXPECT_EQ(d.architecture, "jamba");
  EXPECT_EQ(d.attention_blocks(), 2U);
  EXPECT_EQ(d.mixer(4), Mixer::kAttention);
  EXPECT_EQ(d.mixer(5), Mixer::kChannelScan);
  EXPECT_FALSE(d.is_rotated(4));
  EXPECT_EQ(d.expert_blocks(), 8U);
  EXPECT_FALSE(d.has_experts(0));
  EXPECT_TRUE(d.has_experts(1));
  EXPECT_FALSE(d.renormalizes);
  const auto shape = [&](WeightRole role) { return shape_of(d, {.role = role}); };
  EXPECT_THAT(shape(WeightRole::kMixerInput), ElementsAre(16384, 4096));
  EXPECT_THAT(shape(WeightRole::kMixerKernel), ElementsAre(8192, 4));
  EXPECT_THAT(shape(WeightRole::kSelection), ElementsAre(288, 8192));
  EXPECT_THAT(shape(WeightRole::kStepProjection), ElementsAre(8192, 256));
  EXPECT_THAT(shape(WeightRole::kChannelDecay), ElementsAre(8192, 16));
  EXPECT_FALSE(has_norm_offset({.role = WeightRole::kStepNorm}));
  const Description usual = describe_config(
      with(kJamba, R"("mamba_dt_rank": 256)", R"("mamba_dt_rank": "auto")"), "config.json");
  EXPECT_EQ(usual.scan_rank, 256U);
}

TEST(Recurrences, OfJambaMayHaveNoExpertsOrThemAlone) {
  const Description none =
      describe_config(with(kJamba, R"("num_experts": 16)", R"("num_experts": 1)"), "config.json");
  EXPECT_EQ(none.experts, 0U);
  EXPECT_TRUE(none.dense.empty());
  const Description all = describe_config(
      with(with(kJamba, R"("expert_layer_offset": 1)", R"("expert_layer_offset": 0)"),
           R"("expert_layer_period": 2)", R"("expert_layer_period": 1)"),
      "config.json");
  EXPECT_EQ(all.expert_blocks(), 16U);
  EXPECT_TRUE(all.dense.empty());
  const Description behind = describe_config(
      with(with(kJamba, R"("expert_layer_offset": 1)", R"("expert_layer_offset": 20)"),
           R"("expert_layer_period": 2)", R"("expert_layer_period": 32)"),
      "config.json");
  EXPECT_EQ(behind.experts, 0U);
  for (const Description& d : {none, all, behind}) EXPECT_NO_THROW(new_gguf_keys(d, "model"));
}

constexpr std::string_view kAll[] = {kLfm2, kGranite4, kQwen3Next, kNemotronH, kNemotron3, kJamba};

TEST(Recurrences, SurviveJson) {
  for (const std::string_view config : kAll) {
    const Description d = describe_config(config, "config.json");
    EXPECT_EQ(description_from_json(description_to_json(d)), d);
  }
}

TEST(Recurrences, SurviveKeysOfGguf) {
  for (const std::string_view config : kAll) {
    const Description d = describe_config(config, "config.json");
    EXPECT_NO_THROW(new_gguf_keys(d, "model")) << d.architecture;
    const std::vector<NewGgufPlace> places = new_gguf_places(d);
    const auto has = [&](const std::string& name) {
      return std::ranges::find(places, name, &NewGgufPlace::name) != places.end();
    };
    EXPECT_EQ(has("token_embd_norm.weight"), d.architecture == "lfm2");
    EXPECT_EQ(has("blk.0.shortconv.conv.weight"), d.architecture == "lfm2");
    EXPECT_EQ(has("blk.0.ssm_in.weight"), d.architecture != "lfm2");
    EXPECT_EQ(has("blk.0.post_attention_norm.weight"), d.architecture == "qwen3next");
    EXPECT_EQ(has("blk.0.ssm_ba.weight"), d.architecture == "qwen3next");
    EXPECT_EQ(has("blk.0.ssm_d"), d.has_scan() || d.architecture == "jamba");
    EXPECT_EQ(has("blk.0.ssm_x.weight"), d.architecture == "jamba");
    EXPECT_EQ(has("blk.1.ffn_norm.weight"),
              !d.has_single_branches && d.architecture != "qwen3next");
    EXPECT_TRUE(has("blk.1.attn_norm.weight"));
  }
}

TEST(Recurrences, ThatGgufFilesCannotSayAreRefused) {
  const auto refuse = [](const char* message, const std::string& config) {
    expect_error(ErrorKind::kUnsupported, message,
                 [&] { new_gguf_keys(describe_config(config, "config.json"), "model"); });
  };
  refuse("GGUF files of granitehybrid have no recurrence of another width than twice",
         with(with(kGranite4, R"("mamba_expand": 2)", R"("mamba_expand": 1)"),
              R"("mamba_d_head": 64)", R"("mamba_d_head": "auto")"));
  refuse("GGUF files of jamba have no recurrence of another width than twice",
         with(kJamba, R"("mamba_expand": 2)", R"("mamba_expand": 1)"));
  refuse("GGUF files of granitehybrid have no recurrence whose convolution has no bias",
         with(kGranite4, R"("mamba_conv_bias": true)", R"("mamba_conv_bias": false)"));
  refuse("GGUF files of jamba have no recurrence whose convolution has no bias",
         with(kJamba, R"("mamba_conv_bias": true)", R"("mamba_conv_bias": false)"));
  refuse("GGUF files of qwen3next have no keys and values of different widths",
         with(kQwen3Next, R"("linear_value_head_dim": 128)", R"("linear_value_head_dim": 64)"));
}

TEST(Recurrences, NameKeysThatAreNotFollowed) {
  const auto expect_key = [](ErrorKind kind, const char* message, const std::string& config) {
    expect_error(kind, message, [&] { describe_config(config, "config.json"); });
  };
  const auto unsupported = ErrorKind::kUnsupported;
  expect_key(unsupported, "'conv_bias': recurrences with biases are not described here",
             with(kLfm2, R"("conv_bias": false)", R"("conv_bias": true)"));
  expect_key(ErrorKind::kFormat, "'full_attn_idxs': expected numbers of blocks",
             with(kLfm2, "[2, 5, 8, 10, 12, 14]", "[2, 16]"));
  expect_key(ErrorKind::kFormat, "'block_multiple_of': expected a number above 0",
             with(kLfm2, R"("block_multiple_of": 256)", R"("block_multiple_of": 0)"));
  expect_key(unsupported, "'layer_types': 'rwkv': blocks of this kind are not described here",
             with(kGranite4, R"(["mamba", "mamba",)", R"(["rwkv", "mamba",)"));
  expect_key(ErrorKind::kFormat, "'layer_types': expected one entry for each of 4 blocks, found 3",
             with(kGranite4, R"(["mamba", "mamba",)", R"(["mamba",)"));
  expect_key(ErrorKind::kFormat, "'layer_types': expected a list",
             with(kGranite4, R"(["mamba", "mamba", "attention", "mamba"])", R"("mamba")"));
  expect_key(unsupported, "'mamba_proj_bias': recurrences with biases",
             with(kGranite4, R"("mamba_proj_bias": false)", R"("mamba_proj_bias": true)"));
  expect_key(
      unsupported, "'time_step_limit': bounds of the steps",
      with(kGranite4, R"("mamba_expand": 2)", R"("mamba_expand": 2, "time_step_limit": [0.1, 2])"));
  expect_key(ErrorKind::kFormat, "'mamba_d_head': expected heads that are as wide as all channels",
             with(kGranite4, R"("mamba_d_head": 64)", R"("mamba_d_head": 32)"));
  expect_key(unsupported, "'position_embedding_type': 'alibi': known: rope, nope",
             with(kGranite4, R"("nope")", R"("alibi")"));
  expect_key(
      ErrorKind::kFormat, "'full_attention_interval': expected a number above 0",
      with(kQwen3Next, R"("full_attention_interval": 4)", R"("full_attention_interval": 0)"));
}

TEST(Recurrences, OfNemotronNameKeysThatAreNotFollowed) {
  const auto expect_key = [](ErrorKind kind, const char* message, const std::string& config) {
    expect_error(kind, message, [&] { describe_config(config, "config.json"); });
  };
  const auto unsupported = ErrorKind::kUnsupported;
  const auto turned_on = [&](const std::string& key) {
    return with(kNemotronH, '"' + key + R"(": false)", '"' + key + R"(": true)");
  };
  expect_key(unsupported, "'use_bias': recurrences with biases", turned_on("use_bias"));
  expect_key(unsupported, "'attention_bias': biases of attention", turned_on("attention_bias"));
  expect_key(unsupported, "'mamba_hidden_act': 'gelu': recurrences with it",
             with(kNemotronH, R"("mamba_hidden_act": "silu")", R"("mamba_hidden_act": "gelu")"));
  expect_key(unsupported, "'sliding_window': windows of this model_type",
             with(kNemotronH, R"("sliding_window": null)", R"("sliding_window": 64)"));
  expect_key(unsupported, "'time_step_limit': bounds of the steps",
             with(kNemotronH, "[0.0, Infinity]", "[0.001, Infinity]"));
  expect_key(ErrorKind::kFormat, "'hybrid_override_pattern': expected the letters M, *, - and E",
             with(kNemotronH, "M-M*-M", "M-M*-A"));
  expect_key(ErrorKind::kFormat, "'layers_block_type': is missing",
             with(kNemotronH, "hybrid_override_pattern", "pattern"));
  expect_key(unsupported, "'moe_latent_size': experts of this kind",
             with(kNemotron3, R"("n_group": 1)", R"("n_group": 1, "moe_latent_size": 64)"));
  expect_key(unsupported, "'mlp_bias': experts of this kind",
             with(kNemotron3, R"("n_group": 1)", R"("n_group": 1, "mlp_bias": true)"));
}

TEST(Recurrences, OfJambaNameKeysThatAreNotFollowed) {
  const auto expect_key = [](ErrorKind kind, const char* message, const std::string& config) {
    expect_error(kind, message, [&] { describe_config(config, "config.json"); });
  };
  expect_key(ErrorKind::kUnsupported, "'mamba_proj_bias': recurrences with biases",
             with(kJamba, R"("mamba_proj_bias": false)", R"("mamba_proj_bias": true)"));
  expect_key(ErrorKind::kUnsupported, "'hidden_act': 'gelu': recurrences with it",
             with(kJamba, R"("silu")", R"("gelu")"));
  expect_key(ErrorKind::kFormat,
             "'attn_layer_offset': expected a number below that of 'attn_layer_period', 8",
             with(kJamba, R"("attn_layer_offset": 4)", R"("attn_layer_offset": 8)"));
  expect_key(ErrorKind::kFormat,
             "'expert_layer_offset': expected a number below that of 'expert_layer_period', 0",
             with(kJamba, R"("expert_layer_period": 2)", R"("expert_layer_period": 0)"));
  expect_key(ErrorKind::kFormat, "'mamba_dt_rank': expected a whole number",
             with(kJamba, R"("mamba_dt_rank": 256)", R"("mamba_dt_rank": "half")"));
}

TEST(Recurrences, FitTogether) {
  const auto check_with = [](auto change) {
    return [change] {
      Description d = describe_config(kQwen3Next, "config.json");
      change(d);
      check(d);
    };
  };
  expect_error(ErrorKind::kFormat, "mixers: expected one entry for each of 8 blocks, found 7",
               check_with([](Description& d) { d.mixers.pop_back(); }));
  expect_error(ErrorKind::kFormat, "mixers: expected a block with attention, found none",
               check_with([](Description& d) { d.mixers.assign(8, Mixer::kDelta); }));
  expect_error(ErrorKind::kFormat, "heads of values: 32 are no multiple of 5 heads of keys",
               check_with([](Description& d) { d.scan_groups = 5; }));
  expect_error(ErrorKind::kFormat, "channels of a recurrence: 4095 are no multiple of 32 heads",
               check_with([](Description& d) { d.scan_inner = 4095; }));
}

TEST(Recurrences, FitTogetherWithNetworks) {
  const auto check_with = [](auto change) {
    return [change] {
      Description d = describe_config(kNemotronH, "config.json");
      change(d);
      check(d);
    };
  };
  expect_error(ErrorKind::kFormat, "mixers: expected one in each block",
               check_with([](Description& d) { d.has_single_branches = false; }));
  expect_error(ErrorKind::kFormat, "blocks of one branch: expected mixers",
               check_with([](Description& d) { d.mixers.clear(); }));
  expect_error(ErrorKind::kFormat, "channels of a recurrence: expected a head each", [] {
    Description d = describe_config(kJamba, "config.json");
    d.scan_heads = 64;
    check(d);
  });
  expect_error(ErrorKind::kFormat, "numbers of the steps of a recurrence: expected 1 to", [] {
    Description d = describe_config(kJamba, "config.json");
    d.scan_rank = 0;
    check(d);
  });
  expect_error(ErrorKind::kFormat, "blocks without experts: expected one entry for each of 5", [] {
    Description d = describe_config(kNemotron3, "config.json");
    d.dense = {true, false};
    d.dense_inner = 8;
    check(d);
  });
}

/// Keys of a small GGUF file of LFM2, with heads of keys and values by block.
GgufModel lfm2_keys(const std::vector<std::int32_t>& kv_heads) {
  GgufModel model("lfm2");
  model.whole("block_count", 3).whole("context_length", 16).whole("embedding_length", 8);
  model.whole("feed_forward_length", 12).whole("attention.head_count", 4).whole("vocab_size", 11);
  model.number("attention.layer_norm_rms_epsilon", 1e-5F).whole("shortconv.l_cache", 3);
  model.set("attention.head_count_kv", kv_heads);
  return model;
}

TEST(Recurrences, AreBlocksWithoutHeadsOfKeysInGguf) {
  const Description d = describe_gguf(lfm2_keys({0, 2, 0}).file());
  EXPECT_THAT(d.mixers, ElementsAre(Mixer::kConvolution, Mixer::kAttention, Mixer::kConvolution));
  EXPECT_EQ(d.kv_heads, 2U);
  EXPECT_EQ(d.taps, 3U);
  expect_error(ErrorKind::kUnsupported,
               "key 'lfm2.attention.head_count_kv': blocks of different sizes", [] {
                 describe_gguf(lfm2_keys({4, 2, 0}).file());
               });
  expect_error(ErrorKind::kFormat, "mixers: expected one entry for each of 3 blocks, found 2", [] {
    describe_gguf(lfm2_keys({2, 0}).file());
  });
}

/// Keys of a small GGUF file of Nemotron-H, with widths of networks by block.
GgufModel nemotron_keys(const std::vector<std::int32_t>& widths) {
  GgufModel model("nemotron_h");
  model.whole("block_count", 3).whole("context_length", 16).whole("embedding_length", 8);
  model.whole("attention.head_count", 4).whole("vocab_size", 11).whole("ssm.conv_kernel", 4);
  model.whole("ssm.inner_size", 16).whole("ssm.state_size", 4).whole("ssm.time_step_rank", 4);
  model.whole("ssm.group_count", 1).number("attention.layer_norm_epsilon", 1e-5F);
  model.set("attention.head_count_kv", std::vector<std::int32_t>{0, 2, 0});
  model.set("feed_forward_length", widths);
  return model;
}

TEST(Recurrences, AreBlocksWithoutKeysAndNetworksInGguf) {
  const Description d = describe_gguf(nemotron_keys({12, 0, 0}).file());
  EXPECT_THAT(d.mixers, ElementsAre(Mixer::kNone, Mixer::kAttention, Mixer::kScan));
  EXPECT_EQ(d.inner, 12U);
  EXPECT_FALSE(d.is_rotated(1));
  expect_error(ErrorKind::kUnsupported,
               "key 'nemotron_h.feed_forward_length': block 1 has attention and a width", [] {
                 describe_gguf(nemotron_keys({12, 12, 0}).file());
               });
  expect_error(ErrorKind::kUnsupported, "key 'nemotron_h.feed_forward_length': blocks of one kind",
               [] {
                 describe_gguf(nemotron_keys({12, 0, 16}).file());
               });
  expect_error(ErrorKind::kFormat, "key 'nemotron_h.feed_forward_length': expected 3 numbers", [] {
    describe_gguf(nemotron_keys({12, 0}).file());
  });
}

TEST(Recurrences, AreOnePerBlockInGguf) {
  const auto read = [](std::uint32_t blocks) {
    return [blocks] {
      GgufModel model = nemotron_keys({12, 0, 0});
      model.whole("block_count", blocks).whole("expert_count", 4).whole("expert_used_count", 2);
      describe_gguf(model.file());
    };
  };
  expect_error(ErrorKind::kFormat, "blocks: expected 1 to 4096", read(std::uint32_t{1} << 31));
  expect_error(ErrorKind::kFormat, "mixers: expected one entry for each of 4 blocks, found 3",
               read(4));
}

}  // namespace
}  // namespace halftone::lm
