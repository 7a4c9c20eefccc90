// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/layer_choice.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"

namespace halftone::compress {
namespace {

LayerRecipe recipe_of_choice(const std::string& text) {
  return with_choice({}, choice_named(text)).for_layer("any");
}

TEST(LayerChoice, NamesBitsAndSystems) {
  EXPECT_EQ(recipe_of_choice("2").weights->bits, 2);
  EXPECT_EQ(recipe_of_choice("2").activations->bits, 2);
  EXPECT_EQ(recipe_of_choice("2").weights->system->name, "basis");
  EXPECT_EQ(recipe_of_choice("4/8").weights->bits, 4);
  EXPECT_EQ(recipe_of_choice("4/8").activations->bits, 8);
  EXPECT_FALSE(recipe_of_choice("3/none").activations);
  EXPECT_FALSE(recipe_of_choice("none/3").weights);
  EXPECT_EQ(recipe_of_choice("symmetric:8").activations->system->name, "symmetric");
  EXPECT_EQ(recipe_of_choice("nf4:4/symmetric:8").weights->system->name, "nf4");
  EXPECT_EQ(recipe_of_choice("nf4:4/symmetric:8").activations->system->name, "symmetric");
  EXPECT_EQ(recipe_of_choice("2x6").weights->system->name, "2x6");
  EXPECT_EQ(recipe_of_choice("2x6").activations->system->name, "affine");
  EXPECT_EQ(recipe_of_choice("2x6").activations->bits, 8);
  EXPECT_EQ(recipe_of_choice("4x8/4").activations->system->name, "basis");
  EXPECT_FALSE(recipe_of_choice("2x6/none").activations);
  EXPECT_FALSE(recipe_of_choice("float").weights);
  EXPECT_TRUE(choice_named("float").is_float());
}

TEST(LayerChoice, RejectsOtherTexts) {
  for (const char* text : {"", "x", "2/", "/2", "2/3/4", "none", "none/none", "0", "-1", "2.5",
                           "symmetric:", "symmetric", "float/8", "2x6:8", "8/2x6"}) {
    expect_error(ErrorKind::kUsage, "choice: expected float or", [&] { choice_named(text); });
  }
  expect_error(ErrorKind::kUsage, "choice '9': weight bits", [] { choice_named("9"); });
  expect_error(ErrorKind::kUsage, "number system 'nosuch': expected one of",
               [] { choice_named("nosuch:4"); });
  expect_error(ErrorKind::kUsage, "choice '2' is there twice", [] {
    choices_named(std::vector<std::string>{"2", "3", "2"});
  });
  expect_error(ErrorKind::kUsage, "found none", [] { choices_named({}); });
}

TEST(LayerChoice, LeavesWhatTheRecipeSaysOfALayer) {
  const Recipe recipe = parse_recipe(
      "[[layer]]\nname = \"a*\"\nweight_bits = 8\n[[layer]]\nname = \"b\"\ngranularity = "
      "\"tensor\"\n",
      "r");
  Recipe result = recipe;
  for (const char* name : {"a[1]", "b"}) {
    result.overrides.push_back(override_for(recipe, name, choice_named("2/5")));
  }
  EXPECT_EQ(result.for_layer("a[1]").weights->bits, 8);
  EXPECT_EQ(result.for_layer("a[1]").activations->bits, 5);
  EXPECT_EQ(result.for_layer("b").weights->bits, 2);
  EXPECT_EQ(result.for_layer("b").weights->granularity, numerics::Granularity::kTensor);
  EXPECT_EQ(result.for_layer("a1").activations->bits, 3) << "the pattern is literal";
  result.overrides.push_back(override_for(recipe, "a[1]", choice_named("2x6")));
  EXPECT_EQ(result.for_layer("a[1]").weights->bits, 8);
  EXPECT_EQ(result.for_layer("a[1]").weights->system->name, "affine");
}

}  // namespace
}  // namespace halftone::compress
