// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/tensor_names.h"

#include <set>

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

Description of_sizes() {
  Description d;
  d.architecture = "llama";
  d.blocks = 2;
  d.width = 8;
  d.vocabulary = 20;
  d.heads = 4;
  d.kv_heads = 2;
  d.head_width = 3;
  d.value_width = 5;
  d.inner = 7;
  return d;
}

std::vector<std::string> names_of(const Description& d, Naming naming, const WeightId& id) {
  std::vector<std::string> names;
  for (const TensorPlace& place : places_of(d, naming, id)) names.push_back(place.name);
  return names;
}

TEST(TensorNames, EveryRoleHasNamesInBothKindsOfFiles) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(WeightRole::kCount); ++i) {
    const WeightId id{.role = static_cast<WeightRole>(i)};
    EXPECT_THAT(names_of(of_sizes(), Naming::kGguf, id), testing::Not(testing::IsEmpty()))
        << to_string(id);
    if (id.role == WeightRole::kPositionEmbedding) continue;  // gpt2's alone
    if (id.role == WeightRole::kFinalTransform) continue;     // of Halftone's own files
    EXPECT_THAT(names_of(of_sizes(), Naming::kHf, id), testing::Not(testing::IsEmpty()))
        << to_string(id);
  }
}

TEST(TensorNames, HaveBlocksAndExperts) {
  Description d = of_sizes();
  d.experts = 4;
  EXPECT_THAT(names_of(d, Naming::kGguf, {.role = WeightRole::kDown, .block = 11}),
              ElementsAre("blk.11.ffn_down.weight"));
  EXPECT_THAT(names_of(d, Naming::kGguf, {.role = WeightRole::kExpertUp, .block = 1, .expert = 3}),
              ElementsAre("blk.1.ffn_up_exps.weight", "blk.1.ffn_up.3.weight",
                          "blk.1.ffn_gate_up_exps.weight"));
  EXPECT_THAT(
      names_of(d, Naming::kHf, {.role = WeightRole::kExpertDown, .block = 1, .expert = 3}),
      ElementsAre("layers.1.mlp.experts.3.down_proj.weight",
                  "layers.1.block_sparse_moe.experts.3.w2.weight", "layers.1.mlp.experts.down_proj",
                  "layers.1.block_sparse_moe.output_linear.weight"));
  EXPECT_THAT(names_of(d, Naming::kGguf, {.role = WeightRole::kQuery, .part = Part::kBias}),
              ElementsAre("blk.0.attn_q.bias", "blk.0.attn_qkv.bias"));
}

TEST(TensorNames, FeedForwardNormDependsOnPostNorms) {
  Description d = of_sizes();
  const WeightId id{.role = WeightRole::kFeedForwardNorm};
  EXPECT_EQ(names_of(d, Naming::kHf, id)[0], "layers.0.post_attention_layernorm.weight");
  d.has_post_norms = true;
  EXPECT_THAT(names_of(d, Naming::kHf, id),
              ElementsAre("layers.0.pre_feedforward_layernorm.weight"));
}

TEST(TensorNames, PartsOfFusedTensorsFollowEachOther) {
  const Description d = of_sizes();
  const auto fused = [&](WeightRole role) {
    return places_of(d, Naming::kGguf, {.role = role}).back();
  };
  EXPECT_EQ(fused(WeightRole::kQuery).begin, 0U);
  EXPECT_EQ(fused(WeightRole::kKey).begin, 12U);
  EXPECT_EQ(fused(WeightRole::kValue).begin, 18U);
  EXPECT_EQ(fused(WeightRole::kValue).outputs, 28U);
  EXPECT_EQ(fused(WeightRole::kGate).begin, 0U);
  EXPECT_EQ(fused(WeightRole::kUp).begin, 7U);
  EXPECT_EQ(fused(WeightRole::kUp).outputs, 14U);
}

TEST(TensorNames, MatricesOfGpt2AreTransposed) {
  const auto is_transposed = [](const WeightId& id) {
    return places_of(of_sizes(), Naming::kHfGpt2, id)[0].is_transposed;
  };
  EXPECT_TRUE(is_transposed({.role = WeightRole::kUp}));
  EXPECT_TRUE(is_transposed({.role = WeightRole::kValue}));
  EXPECT_FALSE(is_transposed({.role = WeightRole::kValue, .part = Part::kBias}));
  EXPECT_FALSE(is_transposed({.role = WeightRole::kAttentionNorm}));
  EXPECT_FALSE(is_transposed({.role = WeightRole::kTokenEmbedding}));
  EXPECT_FALSE(is_transposed({.role = WeightRole::kPositionEmbedding}));
}

TEST(TensorNames, ShapesAreOutputsByInputs) {
  Description d = of_sizes();
  d.experts = 6;
  EXPECT_THAT(shape_of(d, {.role = WeightRole::kHead}), ElementsAre(20, 8));
  EXPECT_THAT(shape_of(d, {.role = WeightRole::kQuery}), ElementsAre(12, 8));
  EXPECT_THAT(shape_of(d, {.role = WeightRole::kValue, .part = Part::kBias}), ElementsAre(10));
  EXPECT_THAT(shape_of(d, {.role = WeightRole::kAttentionOutput}), ElementsAre(8, 20));
  EXPECT_THAT(shape_of(d, {.role = WeightRole::kQueryNorm}), ElementsAre(3));
  EXPECT_THAT(shape_of(d, {.role = WeightRole::kRouter}), ElementsAre(6, 8));
}

TEST(TensorNames, NeededAreThoseOfTheDescriptionOnce) {
  Description d = of_sizes();
  d.ties_embeddings = true;
  EXPECT_EQ(needed_weights(d).size(), 2 + 2 * 9U);
  d.ties_embeddings = false;
  d.has_qkv_bias = true;
  EXPECT_EQ(needed_weights(d).size(), 3 + 2 * 12U);
  d.experts = 4;
  d.shared_inner = 6;
  d.has_shared_gate = true;
  const auto ids = needed_weights(d);
  EXPECT_EQ(ids.size(), 3 + 2 * (9 + 1 + 12 + 4U));
  EXPECT_EQ(std::set<WeightId>(ids.begin(), ids.end()).size(), ids.size());
}

TEST(TensorNames, MessagesNameBlockAndExpert) {
  EXPECT_EQ(to_string(WeightId{.role = WeightRole::kHead, .block = 3}), "head");
  EXPECT_EQ(to_string(WeightId{.role = WeightRole::kKey, .block = 3, .part = Part::kBias}),
            "bias of the attention key of block 3");
  EXPECT_EQ(to_string(WeightId{.role = WeightRole::kExpertUp, .block = 3, .expert = 2}),
            "up of an expert of block 3, expert 2");
  EXPECT_TRUE(is_norm(WeightRole::kFeedForwardSubNorm));
  EXPECT_FALSE(is_norm(WeightRole::kRouter));
}

}  // namespace
}  // namespace halftone::lm
