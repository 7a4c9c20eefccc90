// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/type_recipe.h"

#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

constexpr SmallSizes kWide = {
    .width = 64, .inner = 256, .heads = 2, .kv_heads = 1, .head_width = 32};

ModelParts wide_model(const SmallSizes& sizes = kWide) {
  RandomWeights weights;
  return tiny_model(small_description(sizes.experts > 0 ? "qwen2moe" : "llama", sizes), weights);
}

const std::string& type_of(const TypeChoice& choice, WeightRole role, std::size_t block = 0) {
  return choice.at({.role = role, .block = block})->name;
}

TEST(TypeRecipe, GivesBlocksAndTablesTheirTypes) {
  const ModelParts model = wide_model();
  const TypeChoice choice = choose_types(model, {.type = "2x6", .table_type = "Q8_0"});
  EXPECT_EQ(choice.size(), 2 * 7 + 1U);
  EXPECT_EQ(type_of(choice, WeightRole::kDown, 1), "2x6");
  EXPECT_EQ(type_of(choice, WeightRole::kTokenEmbedding), "Q8_0");
  EXPECT_EQ(choose_types(model, {.type = "2x6", .table_type = "keep"}).size(), 14U);
  EXPECT_EQ(choose_types(model, {.type = "keep", .table_type = "2x6"}).size(), 1U);
}

TEST(TypeRecipe, LaterRulesOverrideTypes) {
  const TypeChoice choice = choose_types(wide_model(), {.type = "4x8",
                                                        .rules = {{"*attn_v*", "2x8"},
                                                                  {"blk.1.*", "2x6"},
                                                                  {"token_embd.weight", "Q4_0"},
                                                                  {"*.ffn_up.weight", "keep"}}});
  EXPECT_EQ(type_of(choice, WeightRole::kValue, 0), "2x8");
  EXPECT_EQ(type_of(choice, WeightRole::kValue, 1), "2x6");
  EXPECT_EQ(type_of(choice, WeightRole::kQuery, 0), "4x8");
  EXPECT_EQ(type_of(choice, WeightRole::kTokenEmbedding), "Q4_0");
  EXPECT_FALSE(choice.contains({.role = WeightRole::kUp}));
}

TEST(TypeRecipe, TablesHaveFourBitsAtLeast) {
  const auto table_of = [](const char* blocks, std::size_t width) {
    return default_table_type(weight_type(blocks), width).name;
  };
  EXPECT_EQ(table_of("4x8", 576), "2x8");
  EXPECT_EQ(table_of("2x10", 576), "2x10");
  EXPECT_EQ(table_of("Q2_K", 512), "Q4_K");
  EXPECT_EQ(table_of("Q2_0", 576), "Q4_0");
  EXPECT_EQ(table_of("Q5_K", 512), "Q5_K");
}

TEST(TypeRecipe, TablesBesideNestedCodesHaveOnePrecision) {
  EXPECT_EQ(default_table_type(weight_type("nested3+4"), 576).name, "int4/64");
  EXPECT_EQ(default_table_type(weight_type("nested3+4"), 96).name, "Q4_0");
}

/// Scales of a vector basis need the whole table at once.
TEST(TypeRecipe, TablesOfBlockInputsHaveTypesOfGguf) {
  EXPECT_EQ(block_input_type(weight_type("Q8_0"), 512).name, "Q8_0");
  EXPECT_EQ(block_input_type(weight_type("2x8"), 512).name, "Q4_K");
  EXPECT_EQ(block_input_type(weight_type("2x8"), 576).name, "Q4_0");
  Description d = stream_description(kWide);
  d.block_input_width = 64;
  RandomWeights weights;
  const ModelParts model = tiny_model(d, weights);
  const auto type = [&](const TypeRecipe& recipe) {
    return type_of(choose_types(model, recipe), WeightRole::kBlockInputTable);
  };
  EXPECT_EQ(type({.type = "2x6"}), "Q4_K");
  EXPECT_EQ(type({.type = "keep", .table_type = "Q8_0"}), "Q8_0");
  EXPECT_EQ(type({.type = "2x6", .rules = {{"per_layer_token_embd.weight", "Q5_0"}}}), "Q5_0");
  expect_error(ErrorKind::kUsage,
               "per_layer_token_embd.weight: expected a type without a factor of the whole table, "
               "such as Q4_0, found 2x8",
               [&] {
                 type({.type = "2x6", .rules = {{"per_layer*", "2x8"}}});
               });
}

TEST(TypeRecipe, ExpertsShareAType) {
  SmallSizes sizes = kWide;
  sizes.experts = 4;
  const TypeChoice choice = choose_types(wide_model(sizes), {.type = "2x6"});
  EXPECT_TRUE(choice.contains({.role = WeightRole::kExpertUp, .block = 1}));
  EXPECT_FALSE(choice.contains(
      {.role = WeightRole::kExpertUp, .block = 1, .part = Part::kWeight, .expert = 1}));
  EXPECT_FALSE(choice.contains({.role = WeightRole::kRouter}));
}

TEST(TypeRecipe, RejectsTypesThatDoNotHoldRows) {
  const ModelParts model = wide_model();
  expect_error(ErrorKind::kUsage,
               "blk.0.attn_q.weight: Q3_K has blocks of 256 weights, rows have 64; types for such "
               "rows: 4x8, Q2_0, ",
               [&] { (void)choose_types(model, {.type = "Q3_K"}); });
  expect_error(ErrorKind::kUsage, "keep; a rule chooses one: 'blk.*.attn_q.weight=MXFP4'",
               [&] { (void)choose_types(model, {.type = "Q3_K"}); });
  EXPECT_EQ(choose_types(model, {.type = "Q3_K"}, true).size(), 15U);
  const TypeRecipe mixed = {.type = "Q4_0", .rules = {{"*ffn_down*", "Q3_K"}}};
  EXPECT_EQ(type_of(choose_types(model, mixed), WeightRole::kDown), "Q3_K");
}

TEST(TypeRecipe, RejectsRulesWithoutAMatrix) {
  const ModelParts model = wide_model();
  expect_error(ErrorKind::kUsage, "--tensor: pattern 'blk.7.*' matches no matrix", [&] {
    (void)choose_types(model, {.type = "4x8", .rules = {{"blk.7.*", "2x6", "--tensor"}}});
  });
}

TEST(TypeRecipe, NamesTheTypeThatGgufDoesNotHave) {
  const auto require = [](const TypeRecipe& recipe) { return [=] { require_gguf_types(recipe); }; };
  expect_error(ErrorKind::kUsage,
               "matrices in blocks: GGUF has no type 4x8; write a .safetensors file",
               require({.type = "4x8"}));
  expect_error(ErrorKind::kUsage, "embedding and head: GGUF has no type 2x6",
               require({.type = "Q4_0", .table_type = "2x6"}));
  expect_error(ErrorKind::kUsage, "--tensor: '*attn_v*': GGUF has no type 2x7",
               require({.rules = {{"*attn_q*", "keep"}, {"*attn_v*", "2x7", "--tensor"}}}));
  EXPECT_NO_THROW(require_gguf_types({.type = "Q4_0", .table_type = "keep"}));
}

}  // namespace
}  // namespace halftone::lm
