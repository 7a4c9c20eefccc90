// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/new_gguf.h"

#include "halftone/base/testing.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A description as config.json gives it.
Description described(const std::string& architecture, const SmallSizes& sizes = {}) {
  Description d = small_description(architecture, sizes);
  const bool is_gemma = architecture.starts_with("gemma");
  d.norm_offset = is_gemma ? 1 : 0;
  return d;
}

/// What a file with all tensors of the description says.
Description read_back(const Description& d) {
  std::vector<formats::NewGgufTensor> tensors = new_gguf_divisors(d);
  for (const NewGgufPlace& place : new_gguf_places(d)) {
    tensors.push_back({place.name, place.shape, &formats::gguf_float32(),
                       source_of(counting(place.name, place.shape))});
  }
  const formats::GgufFile file = formats::gguf_of(new_gguf_keys(d, "tiny"), tensors);
  Description read = describe_gguf(file);
  (void)Weights(read, file);  // which finds all tensors
  return read;
}

void expect_read_back(const Description& d) { EXPECT_EQ(read_back(d), described_by_gguf(d)); }

TEST(NewGguf, SaysAllOfEveryArchitecture) {
  for (const char* name :
       {"llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "gpt2", "bitnet"}) {
    SCOPED_TRACE(name);
    const bool has_all_heads = std::string(name) == "gpt2";
    expect_read_back(described(name, {.kv_heads = has_all_heads ? 4U : 2U}));
  }
  for (const char* name : {"llama", "qwen3moe"}) {
    SCOPED_TRACE(name);
    expect_read_back(described(name, {.experts = 4, .ties_embeddings = false}));
  }
  Description shared = described("qwen2moe", {.experts = 4});
  shared.shared_inner = 20;
  shared.has_shared_gate = true;
  expect_read_back(shared);
}

TEST(NewGguf, SaysSizesOfBlocksAndTheirExperts) {
  Description gemma4 = per_block_description();
  gemma4.rotary.divisors = {1, 1, 1e30, 1e30};
  expect_read_back(gemma4);
  gemma4.block_input_width = gemma4.sharing_blocks = gemma4.sharing_inner = 0;
  gemma4.keys_are_values = false;
  gemma4.has_network_beside = gemma4.renormalizes = true;
  gemma4.experts = 4;
  gemma4.active_experts = 2;
  gemma4.dense_inner = 20;
  expect_read_back(gemma4);
  Description clamped = described("gpt-oss", {.experts = 4});
  clamped.has_qkv_bias = clamped.has_output_bias = true;
  clamped.window = 3;
  complete(clamped, architecture_of_gguf("gpt-oss"));
  expect_read_back(clamped);
  clamped.gate_limit = 5;
  expect_error(ErrorKind::kUnsupported, "gate_limit", [&] { new_gguf_keys(clamped, "tiny"); });
}

TEST(NewGguf, SaysWhatModelsOfAnArchitectureDifferIn) {
  Description llama = described("llama", {.ties_embeddings = false});
  llama.has_qkv_bias = llama.has_output_bias = llama.has_ffn_bias = true;
  llama.rotary.divisors = {1, 2.7};
  llama.rotary.base = 500000;
  llama.window_rotary = llama.rotary;
  expect_read_back(llama);
  Description linear = described("qwen2");
  linear.rotary.divisors = {4.1, 4.1};
  linear.window_rotary = linear.rotary;
  expect_read_back(linear);
  Description phi3 = described("phi3");
  phi3.rotary.divisors = {1, 1.1};
  phi3.rotary.long_divisors = {1.2, 40.3};
  phi3.window_rotary = phi3.rotary;
  phi3.original_context = 8;
  phi3.rotary_factor = 1.19;
  expect_read_back(phi3);
  Description gemma3 = described("gemma3");
  gemma3.window = 5;
  gemma3.windowed = {false, true};  // other blocks than those of the architecture
  gemma3.window_rotary.base = 20000;
  gemma3.logit_cap = 20.1;
  expect_read_back(gemma3);
  Description gemma2 = described("gemma2");
  gemma2.windowed = {true, false};
  gemma2.window = 7;
  gemma2.score_cap = 49.9;
  expect_read_back(gemma2);
}

TEST(NewGguf, HasTheKeysOfLlamaCpp) {
  const formats::GgufFile file = formats::gguf_of(new_gguf_keys(described("llama"), "Tiny 1"));
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.text("general.type"), "model");
  EXPECT_EQ(file.text("general.name"), "Tiny 1");
  EXPECT_EQ(file.integer("llama.block_count"), 2);
  EXPECT_EQ(file.integer("llama.attention.head_count_kv"), 2);
  EXPECT_EQ(file.integer("llama.rope.dimension_count"), 4);
  EXPECT_EQ(std::get<double>(*file.find("llama.attention.layer_norm_rms_epsilon")), double{1e-5F});
  EXPECT_EQ(std::get<double>(*file.find("llama.rope.freq_base")), 10000);
  EXPECT_EQ(file.find("llama.expert_count"), nullptr);
  EXPECT_EQ(file.find("llama.attention.sliding_window"), nullptr);
}

TEST(NewGguf, MergesTensorsAsLlamaCppDoes) {
  const auto names_of = [](const Description& d) {
    std::vector<std::string> names;
    for (const NewGgufPlace& place : new_gguf_places(d)) {
      if (place.name.starts_with("blk.1.attn_q") || place.name.starts_with("blk.1.ffn_")) {
        names.push_back(place.name);
      }
    }
    return names;
  };
  EXPECT_THAT(names_of(described("phi3")),
              ElementsAre("blk.1.attn_qkv.weight", "blk.1.ffn_norm.weight", "blk.1.ffn_up.weight",
                          "blk.1.ffn_down.weight"));
  EXPECT_THAT(names_of(described("gpt2")),
              ElementsAre("blk.1.attn_qkv.weight", "blk.1.attn_qkv.bias", "blk.1.ffn_norm.weight",
                          "blk.1.ffn_norm.bias", "blk.1.ffn_up.weight", "blk.1.ffn_up.bias",
                          "blk.1.ffn_down.weight", "blk.1.ffn_down.bias"));
  Description moe = described("qwen2moe", {.experts = 4});
  moe.shared_inner = 20;
  moe.has_shared_gate = true;
  const auto places = new_gguf_places(moe);
  const auto find = [&](const std::string& name) {
    return *std::ranges::find(places, name, &NewGgufPlace::name);
  };
  EXPECT_THAT(find("blk.1.ffn_gate_exps.weight").shape, ElementsAre(4, 12, 8));
  EXPECT_EQ(find("blk.1.ffn_gate_exps.weight").parts.size(), 4U);
  EXPECT_THAT(find("blk.1.ffn_gate_inp_shexp.weight").shape, ElementsAre(8));
}

TEST(NewGguf, PutsRowsThatAreRotatedTogetherSideBySide) {
  Description d = described("llama", {.heads = 2, .kv_heads = 1, .head_width = 8});
  const WeightId key{WeightRole::kKey, 1, Part::kBias, 0};
  EXPECT_THAT(new_gguf_rows(d, key), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_EQ(new_gguf_rows(d, {.role = WeightRole::kQuery})[9], 12U);  // of the second head
  d.rotary_dims = 4;
  EXPECT_THAT(new_gguf_rows(d, key), ElementsAre(0, 2, 1, 3, 4, 5, 6, 7));
  EXPECT_THAT(new_gguf_rows(d, {.role = WeightRole::kValue}), IsEmpty());
  EXPECT_THAT(new_gguf_rows(described("qwen2"), {.role = WeightRole::kQuery}), IsEmpty());
  d.pairing = Pairing::kInterleaved;  // as a checkpoint of llama2.c
  EXPECT_THAT(new_gguf_rows(d, key), IsEmpty());
}

TEST(NewGguf, RefusesWhatFilesCannotSay) {
  const auto expect = [](const std::string& message, const Description& d) {
    expect_error(ErrorKind::kUnsupported, message, [&] { (void)new_gguf_keys(d, "x"); });
  };
  Description d = described("llama");
  d.function = FeedForward::kGelu;
  expect(
      "GGUF files of llama cannot say what this model computes: function is \"gelu\", they mean "
      "\"silu\"; write NAME.safetensors",
      d);
  d = described("gemma2");
  d.score_scale = 0.1;
  expect("score_scale is 0.1, they mean 0.5", d);
  d = described("qwen2moe", {.experts = 4});
  d.shared_inner = 20;
  d.has_shared_gate = d.renormalizes = true;
  expect("renormalizes is true", d);
  d = described("bitnet");
  d.function = FeedForward::kReluSquared;
  expect("function is \"relu_squared\"", d);
  expect("GGUF files of bitnet have no head beside the embedding, which this model has",
         described("bitnet", {.ties_embeddings = false}));
  d = described("qwen2");
  d.rotary.divisors = {1, 2};
  expect("GGUF files of qwen2 have no factors of rotary positions", d);
}

TEST(NewGguf, WarnsOfWindowsThatLlamaCppLeavesOut) {
  Description d = described("phi3");
  EXPECT_EQ(new_gguf_warning(d), "");
  d.window = 9;
  EXPECT_THAT(new_gguf_warning(d), testing::HasSubstr("up to 9 tokens"));
  EXPECT_EQ(new_gguf_warning(described("gemma2")), "");
}

}  // namespace
}  // namespace halftone::lm
