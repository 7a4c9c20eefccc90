// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/recipe.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/compress/recipe_fields.h"

namespace halftone::compress {
namespace {

TEST(Recipe, HasDefaultsWithoutAWord) {
  const LayerRecipe recipe = Recipe().for_layer("dense1");
  ASSERT_TRUE(recipe.weights && recipe.activations);
  EXPECT_EQ(recipe.weights->bits, 3);
  EXPECT_EQ(recipe.weights->system->name, "basis");
  EXPECT_EQ(recipe.weights->granularity, numerics::Granularity::kChannel);
  EXPECT_TRUE(recipe.weights->offset);
  EXPECT_EQ(recipe.activations->bits, 3);
}

TEST(Recipe, LetsActivationsOverflowButNotWeights) {
  const LayerRecipe recipe = parse_recipe("[default]\nscheme = \"e4m3_nan\"", "r").for_layer("a");
  ASSERT_TRUE(recipe.weights && recipe.activations);
  EXPECT_EQ(recipe.weights->system->name, "e4m3");
  EXPECT_EQ(recipe.activations->system->name, "e4m3_nan");
  EXPECT_EQ(recipe.activations->scales, ActivationScales::kFitted);
}

/// Has every key.
constexpr const char* kFullRecipe = R"(
    [default]
    weight_bits = 2
    activation_bits = "none"
    scheme = "affine"
    granularity = "tensor"
    weight_offset = false
    activation_offset = false
    arithmetic = "float"
    [ends]
    weight_bits = 8
    activation_scheme = "int"
    [fit]
    basis_solver = "gradient"
    iterations = 7
    learning_rate = 0.25
    l2_penalty = 1e-3
    input_weighted = false
    error_feedback = false
    refine = true
    refine_sweeps = 9
    bias_correction = false
    damping = 0.5
    equalize = true
    schedule = "layerwise"
    refit_activations = false
    activation_samples = 1000
    input_rows = 2000
    small_ratios = false
    reconstruct_steps = 12
    reconstruct_rounding = "adaptive"
    reconstruct_unit = "layer"
    reconstruct_batch = 8
    reconstruct_samples = 64
    drop = 0.25
    weight_rate = 0.5
    level_rate = 0.125
    bias_rate = 0
    rounding_penalty = 0.75
    [[layer]]
    name = "head"
    skip = true
    [[layer]]
    name = "f"
    scheme = "float"
    [[layer]]
    name = "g*"
    granularity = "group"
    group_size = 32
    weight_bits = 4
    activation_bits = 8
    activation_scheme = "int8"
    arithmetic = "integers"
    calibrator = "percentile"
    percentile = 99.9
    [[layer]]
    name = "h"
    calibrator = "moving-average"
    momentum = 0.5
  )";

TEST(Recipe, WritesWhatItReads) {
  const Recipe recipe = parse_recipe(kFullRecipe, "test");
  const std::string text = to_toml(recipe);
  EXPECT_EQ(to_toml(parse_recipe(text, "written")), text);
  for (const char* line :
       {"weight_bits = 2\n", "activation_bits = \"none\"\n", "l2_penalty = 0.001\n",
        "refit_activations = false\n", "name = \"g*\"\n", "skip = true\n"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(line));
  }
  EXPECT_EQ(to_toml(Recipe()), "");
  Recipe odd;
  odd.overrides.push_back({"a\\*\"b", {}});
  odd.overrides[0].settings.weight_bits = 5;
  const Recipe again = parse_recipe(to_toml(odd), "odd");
  ASSERT_EQ(again.overrides.size(), 1u);
  EXPECT_EQ(again.overrides[0].pattern, "a\\*\"b");
}

class EveryKey : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Recipe, EveryKey, testing::Bool());

TEST_P(EveryKey, IsReadAndWritten) {
  const Recipe first = parse_recipe(kFullRecipe, "test");
  const Recipe recipe = GetParam() ? parse_recipe(to_toml(first), "written") : first;
  EXPECT_EQ(recipe.defaults.weight_bits, 2);
  EXPECT_EQ(recipe.defaults.activation_bits, 0);
  EXPECT_EQ(recipe.defaults.weight_system->name, "affine");
  EXPECT_EQ(recipe.defaults.granularity, numerics::Granularity::kTensor);
  EXPECT_EQ(recipe.defaults.weight_offset, false);
  EXPECT_EQ(recipe.defaults.activation_offset, false);
  EXPECT_EQ(recipe.defaults.arithmetic, ir::Arithmetic::kFloat);
  EXPECT_EQ(recipe.ends.weight_bits, 8);
  EXPECT_EQ(recipe.ends.activation_system->name, "int");
  const MatrixFitOptions& weights = recipe.fit.weights;
  EXPECT_EQ(weights.levels.solver, LevelSolver::kGradient);
  EXPECT_EQ(weights.levels.iterations, 7);
  EXPECT_EQ(weights.levels.learning_rate, 0.25);
  EXPECT_EQ(weights.levels.l2_penalty, 1e-3);
  EXPECT_FALSE(weights.input_weighted || weights.feedback || weights.bias_correction ||
               recipe.fit.refit_activations || recipe.fit.small_ratios);
  EXPECT_TRUE(weights.refine);
  EXPECT_EQ(weights.refine_sweeps, 9);
  EXPECT_EQ(weights.damping.uniform, 0.5);
  EXPECT_TRUE(recipe.fit.equalize);
  EXPECT_FALSE(Recipe().fit.equalize);
  EXPECT_EQ(recipe.fit.schedule, Schedule::kLayerwise);
  EXPECT_EQ(recipe.fit.activation_samples, 1000u);
  EXPECT_EQ(recipe.fit.input_rows, 2000u);
  const ReconstructOptions& reconstruct = recipe.fit.reconstruct;
  EXPECT_EQ(reconstruct.steps, 12);
  EXPECT_EQ(reconstruct.rounding, ReconstructRounding::kAdaptive);
  EXPECT_EQ(reconstruct.unit, ReconstructUnit::kLayer);
  EXPECT_EQ(reconstruct.batch, 8u);
  EXPECT_EQ(reconstruct.samples, 64u);
  EXPECT_EQ(reconstruct.drop, 0.25);
  EXPECT_EQ(reconstruct.weight_rate, 0.5);
  EXPECT_EQ(reconstruct.level_rate, 0.125);
  EXPECT_EQ(reconstruct.bias_rate, 0);
  EXPECT_EQ(reconstruct.rounding_penalty, 0.75);
  ASSERT_EQ(recipe.overrides.size(), 4u);
  EXPECT_EQ(recipe.overrides[0].settings.skip, true);
  EXPECT_EQ(recipe.overrides[1].settings.skip, true);
  const LayerSettings& g = recipe.overrides[2].settings;
  EXPECT_EQ(g.calibrator, Calibrator::kPercentile);
  EXPECT_EQ(g.percentile, 99.9);
  EXPECT_EQ(g.granularity, numerics::Granularity::kGroup);
  EXPECT_EQ(g.group_size, 32u);
  EXPECT_EQ(g.weight_bits, 4);
  EXPECT_EQ(g.activation_bits, 8);
  EXPECT_EQ(g.activation_system->name, "int");
  EXPECT_EQ(g.arithmetic, ir::Arithmetic::kIntegers);
  EXPECT_EQ(recipe.overrides[3].settings.calibrator, Calibrator::kMovingAverage);
  EXPECT_EQ(recipe.overrides[3].settings.momentum, 0.5);
}

/// What the reference says that keys usually are is what they are.
TEST(Recipe, IsThatOfTheUsualValuesWithoutKeys) {
  v0::Recipe text;
  std::string lines;
  for (const Field& field : fields_of(text.defaults)) {
    // Number systems of one kind of value, and sizes of groups that there are not.
    if (field.usual.empty() || field.name.ends_with("group_size")) continue;
    if (field.name == "percentile" || field.name == "momentum") continue;
    const bool is_word = field.kind() == "str";
    lines += field.name + " = " + (is_word ? "\"" + field.usual + "\"" : field.usual) + "\n";
  }
  const LayerRecipe given = parse_recipe("[default]\n" + lines, "test").for_layer("a");
  const LayerRecipe usual = Recipe().for_layer("a");
  EXPECT_EQ(given.weights, usual.weights);
  EXPECT_EQ(given.activations, usual.activations);
  EXPECT_EQ(given.arithmetic, usual.arithmetic);
  EXPECT_THAT(lines, ::testing::HasSubstr("weight_bits = 3\n"));
  const auto group = [](const std::string& key) {
    return "[default]\n" + key + " = \"group\"\nweight_scheme = \"int\"\n" +
           "activation_scheme = \"int\"";
  };
  const auto usual_of = [&](const char* key) {
    return find_field(fields_of(text.defaults), key)->usual;
  };
  EXPECT_EQ(
      std::to_string(parse_recipe(group("granularity"), "t").for_layer("a").weights->group_size),
      usual_of("group_size"));
  EXPECT_EQ(
      std::to_string(
          parse_recipe(group("activation_scales"), "t").for_layer("a").activations->group_size),
      usual_of("activation_group_size"));
  EXPECT_EQ(find_field(fields_of(text.fit), "damping")->usual, "0.01");
  EXPECT_EQ(find_field(fields_of(text.fit), "schedule")->usual, "layerwise");
}

TEST(Recipe, SaysWhatKeysNeed) {
  EXPECT_THAT(needs_of("percentile"), ::testing::ElementsAre("activation_bits other than \"none\"",
                                                             "calibrator = \"percentile\""));
  EXPECT_THAT(needs_of("damping"), ::testing::ElementsAre("refine or error_feedback"));
  EXPECT_THAT(needs_of("equalize"), ::testing::IsEmpty());
}

TEST(Recipe, LetsTheLastMatchingPatternWin) {
  const Recipe recipe = parse_recipe(
      "[default]\nweight_bits = 2\n"
      "[[layer]]\nname = \"dense*\"\nweight_bits = 4\nactivation_bits = 5\n"
      "[[layer]]\nname = \"dense[23]\"\nweight_bits = 8\n"
      "[[layer]]\nname = \"head\"\nskip = true\n",
      "test");
  EXPECT_EQ(recipe.for_layer("conv").weights->bits, 2);
  EXPECT_EQ(recipe.for_layer("dense1").weights->bits, 4);
  EXPECT_EQ(recipe.for_layer("dense2").weights->bits, 8);
  EXPECT_EQ(recipe.for_layer("dense2").activations->bits, 5);
  EXPECT_FALSE(recipe.for_layer("head").weights);
  EXPECT_FALSE(recipe.for_layer("head").activations);
}

TEST(Recipe, TakesAGroupSizeForAWishForGroups) {
  const Recipe recipe = parse_recipe("[default]\ngroup_size = 32", "test");
  EXPECT_EQ(recipe.for_layer("a").weights->granularity, numerics::Granularity::kGroup);
  EXPECT_EQ(recipe.for_layer("a").weights->group_size, 32u);
}

TEST(Recipe, NamesThePatternThatMatchesNothing) {
  Recipe recipe = parse_recipe("\n[[layer]]\nname = \"dnse1\"\nskip = true", "r.toml");
  const std::vector<std::string> layers = {"dense1", "dense2"};
  expect_error(ErrorKind::kUsage,
               "r.toml: line 2: pattern 'dnse1' matches no layer; the layers are: dense1, dense2",
               [&] { recipe.check_patterns(layers); });
  recipe.overrides = {{"none", {}}};
  expect_error(ErrorKind::kUsage, "recipe: pattern 'none' matches no layer",
               [&] { recipe.check_patterns(layers); });
  const Recipe fits = parse_recipe("[[layer]]\nname = \"d*2\"", "test");
  fits.check_patterns(layers);
}

struct BadRecipe {
  const char* toml;
  const char* message;
};

class RecipeError : public testing::TestWithParam<BadRecipe> {};

TEST_P(RecipeError, NamesLineAndKey) {
  expect_error(ErrorKind::kUsage, GetParam().message,
               [] { parse_recipe(GetParam().toml, "r.toml"); });
}

INSTANTIATE_TEST_SUITE_P(
    All, RecipeError,
    testing::Values(
        BadRecipe{"[default", "r.toml: line 1: "},
        BadRecipe{"[defaults]", "unknown key 'defaults' in the recipe"},
        BadRecipe{"\n[default]\nbits = 2", "line 3: unknown key 'bits' in [default]; known are: "},
        BadRecipe{"[default]\nweight_bits = 0", "'weight_bits': expected 1 to 16, found 0"},
        BadRecipe{"[default]\nweight_bits = 17", "'weight_bits': expected 1 to 16, found 17"},
        BadRecipe{"[default]\nweight_bits = \"two\"", "expected 1 to 16, or \"none\""},
        BadRecipe{"[default]\nweight_bits = 2.5", "'weight_bits': expected a whole number"},
        BadRecipe{
            "[default]\nscheme = \"ints4\"",
            "line 2: 'scheme': number system 'ints4': expected one of learned: basis; integers: "},
        BadRecipe{"[default]\nscheme = \"int8\"\nweight_bits = 4",
                  "line 1: [default]: weight bits: expected 8, as the scheme int8 says, found 4"},
        BadRecipe{"[default]\nscheme = \"int17\"", "number system 'int17': expected 2 to 16 bits"},
        BadRecipe{"[default]\nscheme = 4", "'scheme': expected a string, found integer"},
        BadRecipe{"[default]\narithmetic = \"int8\"",
                  "expected one of auto, bits, integers, float, found 'int8'"},
        BadRecipe{"[default]\ncalibrator = \"entropy\"",
                  "line 2: 'calibrator': expected one of fit, min-max, "
                  "moving-average, percentile, mse, kl, found 'entropy'"},
        BadRecipe{"[default]\npercentile = 101", "'percentile': expected 50 to 100, found 101"},
        BadRecipe{"[default]\npercentile = 0.9999",
                  "'percentile': expected 50 to 100, found 0.9999"},
        BadRecipe{"[default]\nmomentum = 1.5", "'momentum': expected 0 to 1, found 1.5"},
        BadRecipe{"[default]\ngranularity = \"row\"", "expected one of tensor, channel, group"},
        BadRecipe{"[default]\ngroup_size = 0", "'group_size': expected 1 to"},
        BadRecipe{"[default]\nskip = 1", "'skip': expected true or false, found integer"},
        BadRecipe{"[fit]\ndamping = 0", "'damping': expected 1e-09 to 1000, found 0"},
        BadRecipe{"[fit]\ndamping = \"x\"", "'damping': expected a number"},
        BadRecipe{"[fit]\nschedule = \"random\"", "expected one of layerwise, phases, independent"},
        BadRecipe{"[fit]\nbasis_solver = \"adam\"", "expected one of least-squares, gradient"},
        BadRecipe{"[fit]\nlearning_rate = 0.1",
                  "line 2: 'learning_rate' is for basis_solver = \"gradient\" only: set that, or "
                  "leave the key out"},
        BadRecipe{"[fit]\nl2_penalty = 0.1\nbasis_solver = \"least-squares\"",
                  "line 2: 'l2_penalty' is for basis_solver"},
        BadRecipe{"[fit]\nreconstruct_rounding = \"nearest\"",
                  "expected one of straight-through, adaptive, found 'nearest'"},
        BadRecipe{"[fit]\nreconstruct_unit = \"network\"",
                  "line 2: 'reconstruct_unit': expected one of block, layer, found 'network'"},
        BadRecipe{"[fit]\nreconstruct_steps = 9\nrounding_penalty = 0.1",
                  "line 3: 'rounding_penalty' is for reconstruct_rounding = \"adaptive\" only: set "
                  "that, or leave the key out"},
        BadRecipe{"[fit]\nreconstruct_steps = 9\nreconstruct_rounding = "
                  "\"adaptive\"\nrounding_penalty = -1",
                  "'rounding_penalty': expected 0 to 1000, found -1"},
        BadRecipe{"fit = 3", "'fit': expected a table"},
        BadRecipe{"layer = 3", "'layer': expected [[layer]] tables"},
        BadRecipe{"layer = [3]", "'layer': expected a table"},
        BadRecipe{"[[layer]]\nskip = true", "[[layer]] needs a name"}));

TEST(Recipe, RefusesOffsetsThatTheSchemeDoesNotLeaveOpen) {
  Recipe recipe;
  recipe.defaults.weight_system = recipe.defaults.activation_system =
      &numerics::find_system("affine");
  recipe.defaults.weight_offset = false;
  expect_error(ErrorKind::kUsage, "weight offset: the scheme affine always has one",
               [&] { (void)recipe.for_layer("a"); });
  recipe.defaults.weight_offset = true;
  (void)recipe.for_layer("a");
  recipe.defaults.weight_system = recipe.defaults.activation_system =
      &numerics::find_system("symmetric");
  expect_error(ErrorKind::kUsage, "weight offset: the scheme symmetric never has one",
               [&] { (void)recipe.for_layer("a"); });
}

TEST(Recipe, PassesTheSettingsOfACalibratorToNoOtherOne) {
  const Recipe recipe = parse_recipe(
      "[default]\nactivation_bits = 8\ncalibrator = \"percentile\"\npercentile = 90\n"
      "[[layer]]\nname = \"a\"\nactivation_bits = 4\n"
      "[[layer]]\nname = \"b\"\ncalibrator = \"kl\"\n"
      "[[layer]]\nname = \"c\"\ncalibrator = \"percentile\"\n"
      "[[layer]]\nname = \"d\"\npercentile = 95\n",
      "test");
  const auto range = [&](const char* name) { return recipe.for_layer(name).activations->range; };
  EXPECT_EQ(range("a"), (RangeOptions{Calibrator::kPercentile, 90, 0.99}));
  EXPECT_EQ(range("b"), (RangeOptions{Calibrator::kKl, 99.99, 0.99}));
  EXPECT_EQ(range("c"), (RangeOptions{Calibrator::kPercentile, 90, 0.99}));
  EXPECT_EQ(range("d"), (RangeOptions{Calibrator::kPercentile, 95, 0.99}));
  EXPECT_EQ(Recipe().for_layer("a").activations->range, RangeOptions());
}

TEST(Recipe, RefusesCalibratorsThatHaveNoEffectOrOverflow) {
  const auto layer = [](const std::string& text) {
    return parse_recipe("[default]\n" + text, "test").for_layer("a");
  };
  expect_error(
      ErrorKind::kUsage,
      "calibrator kl: it has no effect on activations whose scales are computed at run "
      "time; use the calibrator fit, or activation_scales = \"fitted\"",
      [&] { layer("calibrator = \"kl\"\nscheme = \"int\"\nactivation_scales = \"row\""); });
  expect_error(ErrorKind::kUsage, "calibrator mse: it has no effect",
               [&] { layer("calibrator = \"mse\"\nscheme = \"mxfp4\""); });
  EXPECT_TRUE(layer("calibrator = \"fit\"\nscheme = \"mxfp4\"").activations);
  expect_error(ErrorKind::kUsage,
               "calibrator mse: numbers beyond its range would overflow in the scheme e4m3_nan; "
               "use fit, min-max or a scheme that saturates",
               [&] { layer("calibrator = \"mse\"\nscheme = \"e4m3_nan\""); });
  EXPECT_TRUE(layer("calibrator = \"min-max\"\nscheme = \"e4m3_nan\"").activations);
  expect_error(ErrorKind::kUsage,
               "percentile: it is for the calibrator percentile only: set that, or leave it out",
               [&] { layer("percentile = 90"); });
  expect_error(ErrorKind::kUsage, "momentum: it is for the calibrator moving-average only",
               [&] { layer("momentum = 0.5"); });
}

TEST(Recipe, RefusesKeysOfChoicesThatWereNotMade) {
  const auto refuse = [](const std::string& section, const std::string& choice,
                         std::initializer_list<const char*> keys, const std::string& needed) {
    for (const std::string key : keys) {
      const std::string name = key.substr(0, key.find(' '));
      expect_error(ErrorKind::kUsage, "'" + name + "' is for " + needed + " only: set that, or",
                   [&] { parse_recipe(section + "\n" + choice + "\n" + key, "test"); });
    }
  };
  refuse("[fit]", "refine = false", {"refine_sweeps = 5"}, "refine = true");
  refuse("[fit]", "reconstruct_steps = 0",
         {"drop = 0", "weight_rate = 0.1", "level_rate = 0.1", "bias_rate = 0.1",
          "reconstruct_unit = \"layer\"", "reconstruct_batch = 8", "reconstruct_samples = 8",
          "reconstruct_rounding = \"adaptive\""},
         "reconstruct_steps above 0");
  refuse("[fit]", "", {"drop = 0"}, "reconstruct_steps above 0");
  refuse("[fit]", "schedule = \"phases\"", {"refit_activations = true", "reconstruct_steps = 9"},
         "schedule = \"layerwise\"");
  EXPECT_NO_THROW(parse_recipe("[fit]\nschedule = \"phases\"\nreconstruct_steps = 0", "test"));
  for (const std::string section : {"[default]", "[[layer]]\nname = \"a\""}) {
    refuse(section, "granularity = \"tensor\"", {"group_size = 8"}, "granularity = \"group\"");
    refuse(section, "activation_scales = \"row\"", {"activation_group_size = 8"},
           "activation_scales = \"group\"");
    refuse(section, "calibrator = \"kl\"", {"percentile = 99"}, "calibrator = \"percentile\"");
    refuse(section, "calibrator = \"kl\"", {"momentum = 0.9"}, "calibrator = \"moving-average\"");
    refuse(section, "weight_bits = \"none\"",
           {"weight_scheme = \"int\"", "weight_offset = true", "granularity = \"tensor\"",
            "group_size = 32"},
           "weight_bits other than \"none\"");
    refuse(section, "activation_bits = \"none\"",
           {"activation_scheme = \"int\"", "activation_offset = true", "calibrator = \"mse\"",
            "activation_scales = \"row\"", "activation_group_size = 8", "percentile = 99",
            "momentum = 0.5"},
           "activation_bits other than \"none\"");
    refuse(section, "skip = true",
           {"weight_bits = 3", "activation_bits = 3", "scheme = \"int\"", "arithmetic = \"bits\""},
           "skip = false");
    refuse(section, "scheme = \"float\"", {"weight_bits = 3", "arithmetic = \"bits\""},
           "scheme other than \"float\"");
  }
}

TEST(Recipe, RefusesKeysOfStepsThatAreLeftOut) {
  const auto fit = [](const std::string& lines) {
    return [lines] { parse_recipe("[fit]\n" + lines, "test"); };
  };
  expect_error(ErrorKind::kUsage,
               "line 4: 'damping' is for refine or error_feedback only: set one of them to true, "
               "or leave the key out",
               fit("refine = false\nerror_feedback = false\ndamping = 0.1"));
  EXPECT_NO_THROW(fit("refine = false\ndamping = 0.1")());
  const std::string none =
      "refine = false\nerror_feedback = false\ninput_weighted = false\nbias_correction = ";
  expect_error(ErrorKind::kUsage, "'input_rows' is for refine or error_feedback or input_weighted",
               fit(none + "false\ninput_rows = 300"));
  EXPECT_NO_THROW(fit(none + "true\ninput_rows = 300")());
}

TEST(Recipe, LooksAtTheChoicesOfEndsAsAtThoseOfALayer) {
  expect_error(ErrorKind::kUsage, "line 3: 'percentile' is for calibrator = \"percentile\" only",
               [] { parse_recipe("[ends]\ncalibrator = \"kl\"\npercentile = 99", "test"); });
  expect_error(ErrorKind::kUsage, "line 4: 'group_size' is for granularity = \"group\" only", [] {
    parse_recipe(
        "[default]\ngranularity = \"channel\"\n[ends]\ngroup_size = 8\n"
        "granularity = \"tensor\"",
        "test");
  });
  EXPECT_NO_THROW(
      parse_recipe("[default]\ncalibrator = \"percentile\"\n[ends]\npercentile = 99", "test"));
  EXPECT_NO_THROW(parse_recipe(
      "[default]\ncalibrator = \"kl\"\nmomentum = 0.5\n[ends]\ncalibrator = \"moving-average\"",
      "test"));
}

TEST(Recipe, TakesKeysOfDefaultWhoseChoiceALayerMakes) {
  EXPECT_NO_THROW(
      parse_recipe("[default]\nskip = true\nweight_bits = 2\n"
                   "[[layer]]\nname = \"a\"\nskip = false",
                   "test"));
  EXPECT_NO_THROW(
      parse_recipe("[default]\nactivation_bits = \"none\"\ncalibrator = \"mse\"\n"
                   "[[layer]]\nname = \"a\"\nactivation_bits = 8",
                   "test"));
  expect_error(ErrorKind::kUsage, "line 5: 'calibrator' is for activation_bits other than", [] {
    parse_recipe(
        "[default]\nactivation_bits = \"none\"\n[[layer]]\nname = \"a\"\n"
        "calibrator = \"mse\"",
        "test");
  });
}

TEST(Recipe, IsWrittenWithoutSettingsThatHaveNoEffect) {
  Recipe recipe;
  LayerSettings settings;
  settings.weight_bits = 3;
  settings.activation_bits = 0;
  settings.activation_system = &numerics::find_system("basis");
  settings.calibrator = Calibrator::kMse;
  recipe.overrides = {{"a", settings}};
  recipe.fit.schedule = Schedule::kPhases;
  recipe.fit.reconstruct.steps = 5;
  recipe.fit.input_rows = 300;
  MatrixFitOptions& weights = recipe.fit.weights;
  weights.damping.uniform = 0.5;
  weights.refine = weights.feedback = weights.input_weighted = weights.bias_correction = false;
  const Recipe again = parse_recipe(to_toml(recipe), "test");
  EXPECT_EQ(again.overrides[0].settings.activation_bits, 0);
  EXPECT_EQ(again.overrides[0].settings.weight_bits, 3);
}

TEST(Recipe, TakesBitsFromTheNamesOfSystems) {
  const auto layer = [](const std::string& text) {
    return parse_recipe("[default]\n" + text, "test").for_layer("a");
  };
  EXPECT_EQ(layer("scheme = \"int8\"").weights->bits, 8);
  EXPECT_EQ(layer("scheme = \"int8\"").activations->bits, 8);
  const LayerRecipe mixed =
      layer("weight_scheme = \"int4\"\nactivation_scheme = \"UINT8\"\ngroup_size = 32");
  EXPECT_EQ(mixed.weights->bits, 4);
  EXPECT_EQ(mixed.weights->system->name, "int");
  EXPECT_EQ(mixed.activations->bits, 8);
  EXPECT_EQ(mixed.activations->system->name, "asymmetric");
  EXPECT_FALSE(layer("scheme = \"int8\"\nactivation_bits = \"none\"").activations);
}

TEST(Recipe, NamesVectorsForWeightsWithoutBits) {
  const Recipe recipe = parse_recipe(
      "[default]\nweight_scheme = \"2x6\"\nactivation_bits = 8\n"
      "[[layer]]\nname = \"b*\"\nweight_bits = 4\n"
      "[[layer]]\nname = \"b2\"\nweight_scheme = \"4x8\"\ngroup_size = 32\n",
      "test");
  const LayerRecipe usual = recipe.for_layer("a");
  EXPECT_EQ(usual.weights->system->name, "2x6");
  EXPECT_EQ(usual.weights->granularity, numerics::Granularity::kGroup);
  EXPECT_EQ(usual.weights->group_size, 64U);
  EXPECT_EQ(usual.activations->bits, 8);
  EXPECT_EQ(recipe.for_layer("b").weights->system->name, "basis") << "bits leave vectors";
  EXPECT_EQ(recipe.for_layer("b").weights->bits, 4);
  EXPECT_EQ(recipe.for_layer("b2").weights->system->name, "4x8") << "vectors leave bits";
  EXPECT_EQ(recipe.for_layer("b2").weights->group_size, 32U);
  const Recipe again = parse_recipe(to_toml(recipe), "test");
  EXPECT_EQ(again.for_layer("b2").weights, recipe.for_layer("b2").weights);
  EXPECT_EQ(to_toml(again), to_toml(recipe));
  const auto expect = [](const std::string& text, const std::string& message) {
    expect_error(ErrorKind::kUsage, message,
                 [&] { (void)parse_recipe("[default]\n" + text, "test").for_layer("a"); });
  };
  expect("weight_scheme = \"2x6\"\nweight_bits = 8",
         "weight bits: expected none beside the scheme 2x6, whose vectors say them, found 8");
  expect("scheme = \"2x6\"", "activation scheme: expected a scheme of single numbers, found 2x6");
  expect("activation_scheme = \"4x8\"", "activation scheme: expected a scheme of single numbers");
  expect("weight_scheme = \"2x6\"\nweight_offset = true", "the scheme 2x6 never has one");
  expect("weight_scheme = \"2x6\"\ngranularity = \"channel\"",
         "scheme 2x6: expected granularity group, found channel");
  expect("weight_scheme = \"2x5\"", "number system '2x5': expected one of");
}

TEST(Recipe, RefusesEveryIntegerOutOfTheRangeOfAKey) {
  for (const std::string key :
       {"learning_rate", "l2_penalty", "damping", "drop", "weight_rate", "level_rate", "bias_rate",
        "rounding_penalty", "iterations", "refine_sweeps", "activation_samples", "input_rows",
        "reconstruct_steps", "reconstruct_batch", "reconstruct_samples"}) {
    for (const std::string number : {"9223372036854775807", "-9223372036854775808"}) {
      expect_error(ErrorKind::kUsage, "r.toml: line 2: '" + key + "': expected ",
                   [&] { parse_recipe("[fit]\n" + key + " = " + number, "r.toml"); });
    }
  }
  EXPECT_EQ(parse_recipe("[fit]\nreconstruct_steps = 1\ndrop = 1", "r.toml").fit.reconstruct.drop,
            1);
}

TEST(Recipe, RefusesDeepNesting) {
  const auto repeated = [](const std::string& text) {
    std::string all;
    for (int i = 0; i < 50000; ++i) all += text;
    return all;
  };
  for (const std::string& text :
       {repeated("a.") + "a = 1", "[" + repeated("a.") + "a]", "[[" + repeated("a.") + "a]]",
        repeated("\"a\" . ") + "a = 1", "a = " + repeated("["), "a = " + repeated("{a="),
        "a = " + repeated("{a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=[\n")}) {
    expect_error(ErrorKind::kUsage, "r.toml: line ", [&] { parse_recipe(text, "r.toml"); });
  }
  const std::string name = "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p";
  EXPECT_EQ(parse_recipe("# " + repeated(".") + "\n[[layer]]\nname = \"" + name + "\"", "r.toml")
                .overrides.front()
                .pattern,
            name);
}

TEST(Recipe, RefusesBitsOutOfRangeFromElsewhere) {
  Recipe recipe;
  recipe.defaults.weight_bits = 9;
  expect_error(ErrorKind::kUsage,
               "weight bits: number system 'basis': expected 1 to 8 bits, found 9",
               [&] { (void)recipe.for_layer("a"); });
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = -1;
  expect_error(ErrorKind::kUsage, "activation bits", [&] { (void)recipe.for_layer("a"); });
  recipe.defaults.activation_bits = 2;
  recipe.defaults.group_size = 0;
  expect_error(ErrorKind::kUsage, "group size: expected at least 1",
               [&] { (void)recipe.for_layer("a"); });
}

TEST(Recipe, IsNotThatOfALanguageModel) {
  expect_error(ErrorKind::kUsage,
               "r.toml: line 2: 'table_type' is of a recipe for language models; other networks",
               [&] { (void)parse_recipe("[default]\ntable_type = \"nf4\"\n", "r.toml"); });
  expect_error(ErrorKind::kUsage, "r.toml: line 2: 'type': number system 'Q4_K'",
               [&] { (void)parse_recipe("[default]\ntype = \"Q4_K\"\n", "r.toml"); });
}

TEST(Recipe, TakesTypesAsNumberSystemsOfWeights) {
  const Recipe recipe = parse_recipe("[default]\ntype = \"int4/64\"\nactivation_bits = 8\n", "r");
  EXPECT_EQ(recipe.defaults,
            parse_recipe("[default]\nweight_scheme = \"int\"\nweight_bits = 4\ngroup_size = 64\n"
                         "granularity = \"group\"\nactivation_bits = 8\n",
                         "r")
                .defaults);
  EXPECT_EQ(recipe.for_layer("a").weights->group_size, 64U);
  EXPECT_EQ(parse_recipe("[default]\ntype = \"2x6\"\n", "r").defaults.weight_system->name, "2x6");
  const auto expect_refused = [](const char* toml, const char* message) {
    expect_error(ErrorKind::kUsage, message, [&] { (void)parse_recipe(toml, "r.toml"); });
  };
  expect_refused("[default]\ntype = \"nf4\"\nweight_bits = 4\n",
                 "r.toml: line 2: 'type' says what 'weight_bits' says: leave one of them out");
  expect_refused("[default]\nweight_scheme = \"int4/64\"\ngroup_size = 32\n",
                 "group size: expected 64, as the scheme int4/64 says, found 32");
  expect_refused("[default]\nweight_scheme = \"int4/64\"\ngranularity = \"channel\"\n",
                 "granularity: expected group, as the scheme int4/64 says");
  expect_refused("[default]\ntype = \"int4/0\"\n", "expected the size of groups behind the slash");
  expect_refused("[[layer]]\nname = \"a\"\nskip = true\ntype = \"nf4\"\n", "'type' is for skip");
}

}  // namespace
}  // namespace halftone::compress
