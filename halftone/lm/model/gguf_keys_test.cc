// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/gguf_keys.h"

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

/// The keys that all files have, with the numbers of SmolLM2-135M.
GgufModel with_sizes(const std::string& architecture) {
  GgufModel model(architecture);
  model.whole("block_count", 30).whole("context_length", 8192).whole("embedding_length", 576);
  model.whole("feed_forward_length", 1536).whole("attention.head_count", 9);
  model.whole("attention.head_count_kv", 3).whole("vocab_size", 49152);
  const bool is_gpt2 = architecture == "gpt2";
  model.number(is_gpt2 ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
               1e-5F);
  return model;
}

TEST(GgufKeys, DescribeSmolLM2) {
  const Description d = describe_gguf(with_sizes("llama")
                                          .number("rope.freq_base", 100000)
                                          .whole("rope.dimension_count", 64)
                                          .file());
  EXPECT_EQ(d.architecture, "llama");
  EXPECT_EQ(d.blocks, 30U);
  EXPECT_EQ(d.width, 576U);
  EXPECT_EQ(d.vocabulary, 49152U);
  EXPECT_EQ(d.context, 8192U);
  EXPECT_TRUE(d.ties_embeddings);
  EXPECT_EQ(d.norm, Norm::kRms);
  EXPECT_EQ(d.norm_epsilon, 1e-5F);
  EXPECT_EQ(d.norm_offset, 0);
  EXPECT_EQ(d.heads, 9U);
  EXPECT_EQ(d.kv_heads, 3U);
  EXPECT_EQ(d.head_width, 64U);
  EXPECT_EQ(d.score_scale, 0.125);
  EXPECT_FALSE(d.has_qkv_bias || d.has_output_bias || d.has_ffn_bias || d.normalizes_heads);
  EXPECT_EQ(d.positions, Positions::kRotary);
  EXPECT_EQ(d.pairing, Pairing::kInterleaved);
  EXPECT_EQ(d.rotary_dims, 64U);
  EXPECT_EQ(d.rotary.base, 100000);
  EXPECT_THAT(d.rotary.divisors, testing::IsEmpty());
  EXPECT_EQ(d.function, FeedForward::kSilu);
  EXPECT_TRUE(d.is_gated);
  EXPECT_EQ(d.inner, 1536U);
  EXPECT_EQ(d.experts, 0U);
}

TEST(GgufKeys, FactorsOfPositionsAreTensorsOrKeys) {
  EXPECT_THAT(describe_gguf(with_sizes("llama")
                                .whole("rope.dimension_count", 4)
                                .tensor({"rope_freqs.weight", {2}, {1, 8}})
                                .file())
                  .rotary.divisors,
              ElementsAre(1, 8));
  const Description linear = describe_gguf(with_sizes("llama")
                                               .whole("rope.dimension_count", 4)
                                               .set("rope.scaling.type", "linear")
                                               .number("rope.scaling.factor", 4)
                                               .file());
  EXPECT_THAT(linear.rotary.divisors, ElementsAre(4, 4));
  const Description phi = describe_gguf(with_sizes("phi3")
                                            .whole("rope.dimension_count", 4)
                                            .whole("rope.scaling.original_context_length", 4096)
                                            .number("rope.scaling.attn_factor", 1.25F)
                                            .tensor({"rope_factors_short.weight", {2}, {1, 2}})
                                            .tensor({"rope_factors_long.weight", {2}, {3, 4}})
                                            .file());
  EXPECT_THAT(phi.rotary.divisors, ElementsAre(1, 2));
  EXPECT_THAT(phi.rotary.long_divisors, ElementsAre(3, 4));
  EXPECT_EQ(phi.original_context, 4096U);
  EXPECT_EQ(phi.rotary_factor, 1.25);
  EXPECT_EQ(phi.pairing, Pairing::kNeox);
}

TEST(GgufKeys, GemmaHasCapsAndWindows) {
  const Description two = describe_gguf(with_sizes("gemma2")
                                            .whole("attention.key_length", 256)
                                            .whole("attention.value_length", 256)
                                            .whole("attention.sliding_window", 100)
                                            .number("attn_logit_softcapping", 40)
                                            .file());
  EXPECT_EQ(two.head_width, 256U);
  EXPECT_EQ(two.score_cap, 40);
  EXPECT_EQ(two.logit_cap, 30);
  EXPECT_EQ(two.window, 100U);
  EXPECT_TRUE(two.is_windowed(0) && !two.is_windowed(1) && two.is_windowed(2));
  EXPECT_EQ(two.embedding_factor, 24);
  EXPECT_EQ(two.norm_offset, 0);
  EXPECT_TRUE(two.has_post_norms);
  EXPECT_EQ(two.window_rotary, two.rotary);
  const Description three = describe_gguf(with_sizes("gemma3")
                                              .whole("attention.sliding_window", 512)
                                              .set("rope.scaling.type", "linear")
                                              .number("rope.scaling.factor", 8)
                                              .number("rope.freq_base", 1e6)
                                              .file());
  EXPECT_EQ(three.rotary.base, 1e6);
  EXPECT_EQ(three.rotary.divisors.size(), 32U);
  EXPECT_EQ(three.window_rotary.base, 10000);
  EXPECT_THAT(three.window_rotary.divisors, testing::IsEmpty());
  EXPECT_TRUE(three.is_windowed(4) && !three.is_windowed(5));
  EXPECT_TRUE(three.normalizes_heads);
}

/// As llama.cpp: a factor without a type is a linear one.
TEST(GgufKeys, ScalesPositionsByOneNumber) {
  const std::vector<double> four(32, 4);
  for (const std::string key : {"rope.scaling.factor", "rope.scale_linear"}) {
    EXPECT_EQ(describe_gguf(with_sizes("llama").number(key, 4).file()).rotary.divisors, four);
    EXPECT_THAT(describe_gguf(with_sizes("llama").number(key, 0).file()).rotary.divisors,
                testing::IsEmpty());
    const auto none = with_sizes("llama").number(key, 4).set("rope.scaling.type", "none").file();
    EXPECT_THAT(describe_gguf(none).rotary.divisors, testing::IsEmpty());
  }
}

TEST(GgufKeys, ReadsYarn) {
  const Description d = describe_gguf(with_sizes("qwen2")
                                          .set("rope.scaling.type", "yarn")
                                          .number("rope.scaling.factor", 4)
                                          .number("rope.scaling.attn_factor", 0.5)
                                          .whole("rope.scaling.original_context_length", 512)
                                          .file());
  EXPECT_EQ(d.rotary.yarn, (Yarn{.factor = 4}));
  EXPECT_EQ(d.original_context, 512U);
  EXPECT_DOUBLE_EQ(d.rotary_factor, 0.5 * (1 + 0.1 * std::log(4.0)));
}

TEST(GgufKeys, WindowsOfBlocksAreAPeriodOrAList) {
  const std::string key = "attention.sliding_window_pattern";
  const Description period = describe_gguf(
      with_sizes("gemma3").whole("attention.sliding_window", 512).whole(key, 3).file());
  EXPECT_TRUE(period.is_windowed(1) && !period.is_windowed(2));
  std::vector<std::uint8_t> listed(30, 0);
  listed[7] = 1;
  const Description list = describe_gguf(
      with_sizes("gemma3").whole("attention.sliding_window", 512).set(key, listed).file());
  EXPECT_TRUE(list.is_windowed(7) && !list.is_windowed(8));
}

/// Gemma 2 27B: 46 blocks whose scores are divided by sqrt(4608 / 32).
TEST(GgufKeys, LargestGemmaHasAnotherScale) {
  GgufModel model("gemma2");
  model.whole("block_count", 46).whole("context_length", 8192).whole("embedding_length", 4608);
  model.whole("feed_forward_length", 36864).whole("attention.head_count", 32);
  model.whole("vocab_size", 256000).number("attention.layer_norm_rms_epsilon", 1e-6F);
  EXPECT_DOUBLE_EQ(describe_gguf(model.whole("attention.key_length", 128).file()).score_scale,
                   1 / std::sqrt(144.0));
}

TEST(GgufKeys, Gpt2HasLearnedPositionsAndBiases) {
  const Description d = describe_gguf(with_sizes("gpt2").file());
  EXPECT_EQ(d.norm, Norm::kLayer);
  EXPECT_EQ(d.positions, Positions::kLearned);
  EXPECT_TRUE(d.has_qkv_bias && d.has_output_bias && d.has_ffn_bias);
  EXPECT_FALSE(d.is_gated);
  EXPECT_EQ(d.function, FeedForward::kGeluTanh);
}

TEST(GgufKeys, BiasesAndNormsOfHeadsAreSeenFromTensors) {
  const Description d = describe_gguf(with_sizes("llama")
                                          .tensor(counting("blk.0.attn_q.bias", {576}))
                                          .tensor(counting("blk.0.attn_output.bias", {576}))
                                          .tensor(counting("blk.0.attn_q_norm.weight", {64}))
                                          .tensor(counting("output.weight", {3, 576}))
                                          .tensor(counting("token_embd.weight", {3, 576}))
                                          .file());
  EXPECT_TRUE(d.has_qkv_bias && d.has_output_bias && d.normalizes_heads);
  EXPECT_FALSE(d.has_ffn_bias);
  EXPECT_FALSE(d.ties_embeddings);
  EXPECT_EQ(d.vocabulary, 3U);
}

TEST(GgufKeys, ExpertsAreDescribed) {
  const Description mixtral = describe_gguf(
      with_sizes("llama").whole("expert_count", 8).whole("expert_used_count", 2).file());
  EXPECT_EQ(mixtral.experts, 8U);
  EXPECT_EQ(mixtral.active_experts, 2U);
  EXPECT_EQ(mixtral.inner, 1536U);
  EXPECT_TRUE(mixtral.renormalizes);
  const Description qwen = describe_gguf(with_sizes("qwen2moe")
                                             .whole("expert_count", 60)
                                             .whole("expert_used_count", 4)
                                             .whole("expert_feed_forward_length", 140)
                                             .whole("expert_shared_feed_forward_length", 560)
                                             .file());
  EXPECT_EQ(qwen.inner, 140U);
  EXPECT_EQ(qwen.shared_inner, 560U);
  EXPECT_TRUE(qwen.has_shared_gate && qwen.has_qkv_bias && !qwen.renormalizes);
  const auto qwen3 = with_sizes("qwen3moe").whole("expert_count", 8).whole("expert_used_count", 2);
  EXPECT_TRUE(describe_gguf(GgufModel(qwen3).file()).renormalizes);
  EXPECT_FALSE(
      describe_gguf(GgufModel(qwen3).set("expert_weights_norm", false).file()).renormalizes);
}

TEST(GgufKeys, BitNetNamesItsFunction) {
  EXPECT_EQ(describe_gguf(with_sizes("bitnet").file()).function, FeedForward::kSilu);
  const Description d = describe_gguf(with_sizes("bitnet").set("hidden_act", "relu2").file());
  EXPECT_EQ(d.function, FeedForward::kReluSquared);
  EXPECT_TRUE(d.has_sub_norms);
  expect_error(ErrorKind::kUnsupported,
               "key 'bitnet.hidden_activation': 'tanh': known: silu, relu2",
               [] { describe_gguf(with_sizes("bitnet").set("hidden_activation", "tanh").file()); });
}

TEST(GgufKeys, ListsOfEqualNumbersAreOneNumber) {
  const auto with_heads = [](const std::vector<std::int32_t>& heads) {
    GgufModel model("qwen3");
    model.whole("block_count", 2).whole("context_length", 64).whole("embedding_length", 32);
    model.whole("feed_forward_length", 64).whole("attention.head_count", 4).whole("vocab_size", 9);
    model.number("attention.layer_norm_rms_epsilon", 1e-6F);
    return model.set("attention.head_count_kv", heads).file();
  };
  EXPECT_EQ(describe_gguf(with_heads({2, 2})).kv_heads, 2U);
  expect_error(ErrorKind::kUnsupported,
               "key 'qwen3.attention.head_count_kv': blocks of different sizes", [&] {
                 describe_gguf(with_heads({2, 4}));
               });
}

TEST(GgufKeys, NameWhatIsWrong) {
  expect_error(ErrorKind::kFormat, "key 'general.architecture': is missing",
               [] { describe_gguf(formats::gguf_of({})); });
  expect_error(ErrorKind::kUnsupported, "architecture 'rwkv7'",
               [] { describe_gguf(GgufModel("rwkv7").file()); });
  expect_error(ErrorKind::kFormat, "key 'llama.block_count': is missing",
               [] { describe_gguf(GgufModel("llama").file()); });
  expect_error(ErrorKind::kFormat, "key 'llama.block_count': expected an integer",
               [] { describe_gguf(GgufModel("llama").set("block_count", "2").file()); });
  expect_error(ErrorKind::kFormat, "key 'llama.rope.freq_base': expected a number",
               [] { describe_gguf(with_sizes("llama").set("rope.freq_base", "2").file()); });
  expect_error(ErrorKind::kFormat, "key 'qwen3moe.expert_weights_norm': expected a boolean", [] {
    describe_gguf(with_sizes("qwen3moe")
                      .whole("expert_count", 2)
                      .whole("expert_used_count", 2)
                      .whole("expert_weights_norm", 2)
                      .file());
  });
  expect_error(ErrorKind::kUnsupported, "key 'llama.rope.scaling.type': 'ntk'",
               [] { describe_gguf(with_sizes("llama").set("rope.scaling.type", "ntk").file()); });
  for (const std::string key : {"rope.scaling.yarn_log_multiplier", "rope.scaling.alpha"}) {
    expect_error(ErrorKind::kUnsupported, "key 'llama." + key + "': angles of this kind",
                 [&] { describe_gguf(with_sizes("llama").number(key, 0.5).file()); });
  }
  expect_error(ErrorKind::kUnsupported, "key 'olmo.attention.clamp_kqv': bounded queries", [] {
    describe_gguf(with_sizes("olmo")
                      .number("attention.layer_norm_epsilon", 1e-5F)
                      .number("attention.clamp_kqv", 8)
                      .file());
  });
  expect_error(ErrorKind::kFormat, "sliding_window_pattern': expected a number above 0", [] {
    describe_gguf(with_sizes("gemma3")
                      .whole("attention.sliding_window", 512)
                      .whole("attention.sliding_window_pattern", 0)
                      .file());
  });
  expect_error(ErrorKind::kFormat, "llama: factors of rotary positions: expected 32, found 2", [] {
    describe_gguf(with_sizes("llama").tensor({"rope_freqs.weight", {2}, {1, 8}}).file());
  });
}

}  // namespace
}  // namespace halftone::lm
