// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/type_recipe.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone {
namespace {

TEST(TypeRecipe, ReadsToml) {
  const lm::TypeRecipe recipe = parse_type_recipe(
      "[default]\ntype = \"4x8\"\ntable_type = \"2x8\"\n[[layer]]\nname = \"*attn_v*\"\n"
      "type = \"keep\"\n",
      "r.toml");
  EXPECT_EQ(recipe.type, "4x8");
  EXPECT_EQ(recipe.table_type, "2x8");
  ASSERT_EQ(recipe.rules.size(), 1U);
  EXPECT_EQ(recipe.rules[0].pattern, "*attn_v*");
  EXPECT_EQ(recipe.rules[0].where, "r.toml: line 4");
}

/// The words of recipes of other networks say the same.
TEST(TypeRecipe, TakesNumberSystemsAsTypes) {
  const lm::TypeRecipe recipe = parse_type_recipe(
      "[default]\nscheme = \"int\"\nweight_bits = 4\n[ends]\nweight_bits = 8\n"
      "[[layer]]\nname = \"a\"\ngroup_size = 64\n"
      "[[layer]]\nname = \"b\"\nskip = true\n"
      "[[layer]]\nname = \"c\"\nweight_scheme = \"nvfp4\"\n"
      "[[layer]]\nname = \"d\"\ntype = \"Q3_K\"\n"
      "[[layer]]\nname = \"e\"\nscheme = \"2x6\"\n"
      "[[layer]]\nname = \"f\"\nweight_scheme = \"int3/128\"\n"
      "[[layer]]\nname = \"g\"\nscheme = \"float\"\n",
      "r.toml");
  EXPECT_EQ(recipe.type, "int4");
  EXPECT_EQ(recipe.table_type, "int8");
  std::vector<std::string> types;
  for (const lm::TypeRule& rule : recipe.rules) types.push_back(rule.type);
  EXPECT_EQ(types, (std::vector<std::string>{"int4/64", "keep", "nvfp4", "Q3_K", "2x6", "int3/128",
                                             "keep"}));
}

TEST(TypeRecipe, TakesSettingsByName) {
  EXPECT_EQ(load_type_recipe("").type, "");
  EXPECT_EQ(load_type_recipe("", {{.scheme = "nvfp4"}}).type, "nvfp4");
  EXPECT_EQ(load_type_recipe("", {{.weight_bits = 3, .weight_scheme = "int"}}).type, "int3");
  EXPECT_EQ(load_type_recipe("", {{.type = "Q4_K"}}).type, "Q4_K");
  EXPECT_EQ(load_type_recipe("", {{.weight_scheme = "int4/64"}, 4}).table_type, "int4/64");
  const auto parse = [](const v0::LayerSettings& names) {
    return parse_type_recipe("[default]\ntype = \"Q3_K\"\n", "r.toml", {names}).type;
  };
  EXPECT_EQ(parse({.type = "4x8"}), "4x8");
  EXPECT_EQ(parse({.scheme = "nf4"}), "nf4");
  expect_error(ErrorKind::kUsage,
               "beside them, such as weight_scheme = \"int\", found the type Q3_K",
               [&] { parse({.weight_bits = 4}); });
  expect_error(ErrorKind::kUsage, "activation bits: is of other networks",
               [&] { parse({.activation_bits = 8}); });
  expect_error(ErrorKind::kUsage,
               "types: [ends]: weight bits: number system 'nf4': expected 4 to 4", [] {
                 load_type_recipe("", {{.weight_scheme = "nf4"}, 8});
               });
  expect_error(ErrorKind::kUsage, "type of weights 'Q9'", [&] { parse({.type = "Q9"}); });
  expect_error(ErrorKind::kUsage, "has no effect with a type",
               [&] { parse({.weight_bits = 4, .type = "int4"}); });
}

TEST(TypeRecipe, RejectsOtherToml) {
  const auto expect_refused = [](const std::string& toml, const std::string& message) {
    expect_error(ErrorKind::kUsage, message, [&] { (void)parse_type_recipe(toml, "r.toml"); });
  };
  expect_refused("[default]\ntype = \"Q9\"\n", "r.toml: line 2: 'type'");
  expect_refused("[[layer]]\nname = \"a\"\n", "r.toml: line 1: [[layer]]: expected a type");
  expect_refused("[default]\nbits = 2\n", "r.toml: line 2: unknown key 'bits'");
  expect_refused("[default]\nweight_bits = 4\n", "r.toml: bits or groups of weights: expected");
  expect_refused("[default]\nscheme = \"int4\"\ntype = \"Q4_0\"\n",
                 "r.toml: line 3: 'type' says what 'scheme' says");
  expect_refused("[[layer]]\nname = \"a\"\nscheme = \"basis3\"\n",
                 "r.toml: line 1: number system 'basis': in blocks of weights, expected");
  expect_refused("[default]\nscheme = \"int4\"\ngranularity = \"channel\"\n",
                 "granularity: expected group");
  expect_refused("[default]\ntable_type = \"Q8_0\"\n[ends]\ntype = \"Q4_0\"\n",
                 "r.toml: line 3: [ends] says what 'table_type' says");
}

TEST(TypeRecipe, IsNotThatOfAnotherNetwork) {
  const auto expect_refused = [](const std::string& toml, const std::string& key) {
    expect_error(ErrorKind::kUsage, key + " is of a recipe for other networks",
                 [&] { (void)parse_type_recipe(toml, "r.toml"); });
  };
  expect_refused("[default]\nactivation_bits = 4\n", "r.toml: line 2: 'activation_bits'");
  expect_refused("[[layer]]\nname = \"a\"\ncalibrator = \"kl\"\n", "r.toml: line 3: 'calibrator'");
  expect_refused("[fit]\nrefine = true\n", "r.toml: line 1: 'fit'");
}

TEST(TypeRecipe, ReadsWhatIsWritten) {
  const lm::SmallSizes sizes = {
      .width = 64, .inner = 256, .heads = 2, .kv_heads = 1, .head_width = 32};
  lm::RandomWeights weights;
  const lm::ModelParts model = lm::tiny_model(lm::small_description("llama", sizes), weights);
  const lm::TypeChoice choice =
      lm::choose_types(model, {.type = "4x8", .rules = {{"blk.1.*", "2x6"}, {"*ffn_up*", "keep"}}});
  const std::string toml = lm::to_toml(model.description, choice, {"a comment"});
  EXPECT_TRUE(toml.starts_with("# a comment\n"));
  EXPECT_EQ(lm::choose_types(model, parse_type_recipe(toml, "")), choice);
}

}  // namespace
}  // namespace halftone
