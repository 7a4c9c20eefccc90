// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/compress/sensitivity/tied_layers.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::compress {
namespace {

/// Sums of at most 2,048 numbers that are not negative, in two orders: each addition rounds to
/// 2^-53 of the sum.
constexpr double kSums = 2 * 2048 * 0x1p-53;
/// The same in decibels, for two sums: 10 / ln 10 is below 5.
constexpr double kDecibels = 2 * 5 * kSums;

std::vector<std::int64_t> some_labels(std::size_t count) {
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int64_t>(i % 4));
  return labels;
}

data::Dataset labelled(std::size_t count, std::uint64_t seed) {
  return random_dataset(count, 20, seed, some_labels(count));
}

std::vector<LayerChoice> choices_of(const std::vector<std::string>& names) {
  return choices_named(names);
}

/// The divergence that evaluate() finds.
double divergence(const ir::Graph& network, const data::Dataset& data, const ir::Graph& reference) {
  EvaluateSettings options;
  options.execution.float_order = runtime::FloatOrder::kFixed;
  return *evaluate(network, data, &reference, options).reference->divergence;
}

TEST(Sensitivity, IsWhatQuantizingALayerAloneCosts) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(100, 3);
  const Sensitivity found = sensitivity(graph, data, {}, choices_of({"2/3", "4"}));
  EXPECT_EQ(found.loss, "kl");
  EXPECT_EQ(found.samples, 100U);
  ASSERT_EQ(found.layers.size(), 2U);
  ASSERT_EQ(found.choices.size(), 2U);
  EXPECT_EQ(found.choices[0].layers[0].weight_bits, 2);
  EXPECT_EQ(found.choices[0].layers[0].activation_bits, 3);
  EXPECT_EQ(found.layers[1].float_bytes, 4U * 16 * 4);
  for (std::size_t i = 0; i < 2; ++i) {
    Recipe alone = with_choice({}, choice_named("2/3"));
    alone.overrides.push_back({found.layers[1 - i].name, {}});
    alone.overrides[0].settings.skip = true;
    const QuantizedGraph single = quantize(graph, data, alone);
    const ChoiceSensitivity& choice = found.choices[0];
    const double loss = divergence(single.graph, data, graph);
    EXPECT_NEAR(choice.units[i].loss, loss, kSums * loss) << i;
    EXPECT_NEAR(choice.layers[i].sqnr_db.value(), single.layers[i].sqnr_db, kDecibels) << i;
    EXPECT_EQ(choice.layers[i].bytes, single.layers[i].encoded_bytes);
    EXPECT_EQ(choice.units[i].bytes, choice.layers[i].bytes);
  }
}

TEST(Sensitivity, AccumulatesInOrder) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(100, 3);
  const Sensitivity found = sensitivity(graph, data, {}, choices_of({"2"}));
  const QuantizedGraph all = quantize(graph, data, with_choice({}, choice_named("2")));
  const ChoiceSensitivity& choice = found.choices[0];
  const double loss = divergence(all.graph, data, graph);
  EXPECT_NEAR(choice.units[1].accumulated_loss.value(), loss, kSums * loss);
  EXPECT_EQ(choice.units[0].accumulated_loss, choice.units[0].loss) << "the first has none before";
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(choice.layers[i].accumulated_sqnr_db.value(), all.layers[i].sqnr_db, kDecibels);
  }
}

/// Small errors of a layer cost what gradients say, to second order.
TEST(Sensitivity, EstimatesSmallLossesByGradientsAndByNoise) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(512, 3);
  const Sensitivity found = sensitivity(graph, data, {}, choices_of({"6"}));
  EXPECT_EQ(found.weighted_by, "gradients");
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio = found.choices[0].layers[i].weighted_error / found.choices[0].units[i].loss;
    // Squares of 512 products with random signs: their mean deviates by 2 / sqrt(512) at most.
    EXPECT_NEAR(ratio, 1, 5 * 2 / std::sqrt(512.0)) << i;
  }
}

TEST(Sensitivity, IsTheSameForAnyNumberOfThreads) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(150, 3);
  const auto once = [&](int threads) {
    set_num_threads(threads);
    return sensitivity(graph, data, {}, choices_of({"2"})).choices[0];
  };
  const ChoiceSensitivity one = once(1);
  const ChoiceSensitivity four = once(4);
  set_num_threads(0);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one.units[i].loss, four.units[i].loss);
    EXPECT_EQ(one.units[i].accumulated_loss, four.units[i].accumulated_loss);
    EXPECT_EQ(one.layers[i].weighted_error, four.layers[i].weighted_error);
    EXPECT_EQ(one.layers[i].sqnr_db, four.layers[i].sqnr_db);
  }
}

TEST(Sensitivity, IsZeroInFloat) {
  const data::Dataset data = labelled(60, 3);
  const Sensitivity found = sensitivity(perceptron(20, 16, 4, 2), data, {}, choices_of({"float"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.choices[0].units[i].loss, 0);
    EXPECT_EQ(found.choices[0].layers[i].weighted_error, 0);
    EXPECT_TRUE(std::isinf(found.choices[0].layers[i].sqnr_db.value()));
    EXPECT_EQ(found.choices[0].layers[i].bytes, found.layers[i].float_bytes);
  }
}

TEST(Sensitivity, MeasuresOnOtherSamples) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(100, 3);
  const data::Dataset others = labelled(70, 4);
  MeasureSettings options;
  options.evaluation = &others;
  const Sensitivity found = sensitivity(graph, data, {}, choices_of({"2"}), options);
  EXPECT_EQ(found.samples, 70U);
  const QuantizedGraph all = quantize(graph, data, with_choice({}, choice_named("2")));
  const double loss = divergence(all.graph, others, graph);
  EXPECT_NEAR(found.choices[0].units[1].accumulated_loss.value(), loss, kSums * loss);
}

TEST(Sensitivity, SaysWhichLayersHaveNoChoice) {
  Recipe recipe;
  recipe.overrides.push_back({"first", {}});
  recipe.overrides[0].settings.skip = true;
  const Sensitivity found =
      sensitivity(perceptron(20, 16, 4, 2), labelled(60, 3), recipe, choices_of({"2", "3"}));
  EXPECT_FALSE(found.units[0].may_change);
  EXPECT_TRUE(found.units[1].may_change);
  EXPECT_EQ(found.choices[0].layers[0].weight_bits, 32);
}

TEST(Sensitivity, TakesWhatARunBeforeHasMeasured) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(60, 3);
  std::vector<ChoiceSensitivity> kept;
  MeasureSettings options;
  options.measured = [&](const ChoiceSensitivity& choice) { kept.push_back(choice); };
  options.known = [&](const std::string& name) -> std::optional<ChoiceSensitivity> {
    for (const ChoiceSensitivity& choice : kept) {
      if (choice.name == name) return choice;
    }
    return std::nullopt;
  };
  const Sensitivity first = sensitivity(graph, data, {}, choices_of({"2", "3"}), options);
  ASSERT_EQ(kept.size(), 2U);
  kept[0].units[0].loss = 42;
  const Sensitivity second = sensitivity(graph, data, {}, choices_of({"2", "3"}), options);
  EXPECT_EQ(kept.size(), 2U) << "nothing was measured again";
  EXPECT_EQ(second.choices[0].units[0].loss, 42);
  EXPECT_EQ(second.choices[1].units[0].loss, first.choices[1].units[0].loss);
}

TEST(Sensitivity, IsMeasuredOfAQuantizedNetworkToo) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(100, 3);
  const ir::Graph quantized = quantize(graph, data, with_choice({}, choice_named("2"))).graph;
  const Sensitivity found = sensitivity_of(quantized, graph, data);
  ASSERT_EQ(found.choices.size(), 1U);
  EXPECT_EQ(found.choices[0].name, "model");
  const double loss = divergence(quantized, data, graph);
  EXPECT_NEAR(found.choices[0].units[1].accumulated_loss.value(), loss, kSums * loss);
  EXPECT_EQ(found.choices[0].layers[1].weight_bits, 2);
  expect_error(ErrorKind::kShape, "layers do not match",
               [&] { sensitivity_of(perceptron(20, 12, 4, 2), graph, data); });
}

const std::vector<std::string> kBothLayers = {"first", "second"};

Sensitivity alone_with(const std::string& fit, const MeasureSettings& options = {}) {
  return losses_alone(perceptron(20, 16, 4, 2), labelled(96, 3),
                      parse_recipe("[fit]\n" + fit, "r.toml"), choices_of({"1/2", "3/4"}), options);
}

TEST(LossesAlone, AreThoseOfALayerAlone) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(96, 3);
  const LossMeter meter(graph, data, LossKind::kError);
  MeasureSettings options;
  options.loss = LossKind::kError;
  for (const char* fit : {"", "equalize = true", "schedule = \"phases\"",
                          "schedule = \"independent\"", "reconstruct_steps = 3"}) {
    const Sensitivity found = alone_with(fit, options);
    ASSERT_EQ(found.layers.size(), 2U);
    ASSERT_EQ(found.units.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found.layers[i].name, kBothLayers[i]);
      for (const ChoiceSensitivity& choice : found.choices) {
        Recipe alone = with_choice(parse_recipe("[fit]\n" + std::string(fit), "r.toml"),
                                   choice_named(choice.name));
        alone.overrides.push_back({kBothLayers[1 - i], {}});
        alone.overrides[0].settings.skip = true;
        const LossAndDrop single = meter.loss_and_drop(quantize(graph, data, alone).graph);
        EXPECT_EQ(choice.units[i].loss, single.loss) << fit << i << choice.name;
        EXPECT_EQ(choice.units[i].drop, single.drop) << fit << i << choice.name;
      }
      EXPECT_EQ(found.choices[0].layers[i].weight_bits, 1);
      EXPECT_EQ(found.choices[0].layers[i].activation_bits, 2);
      EXPECT_GT(found.choices[0].units[i].loss, found.choices[1].units[i].loss) << fit << i;
      EXPECT_GT(found.choices[1].units[i].loss, 0) << fit << i;
    }
  }
}

TEST(LossesAlone, DoNotDependOnThreadsOrInterruptions) {
  set_num_threads(1);
  const Sensitivity expected = alone_with("");
  set_num_threads(3);
  std::vector<ChoiceSensitivity> kept;
  MeasureSettings options;
  options.measured = [&](const ChoiceSensitivity& choice) { kept.push_back(choice); };
  options.known = [&](const std::string& name) -> std::optional<ChoiceSensitivity> {
    const auto found = std::ranges::find(kept, name, &ChoiceSensitivity::name);
    return found == kept.end() ? std::nullopt : std::optional(*found);
  };
  options.fit.progress = [](double fraction, std::string_view) {
    if (fraction >= 0.5) fail(ErrorKind::kInterrupted, "stopped");
  };
  expect_error(ErrorKind::kInterrupted, "stopped", [&] { alone_with("", options); });
  ASSERT_EQ(kept.size(), 1U) << "it ended after the first choice";
  options.fit.progress = [](double fraction, std::string_view) { EXPECT_GE(fraction, 0.5); };
  const Sensitivity found = alone_with("", options);
  options.fit.progress = [](double, std::string_view activity) { FAIL() << activity; };
  alone_with("", options);
  set_num_threads(0);
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found.choices[c].units[i].loss, expected.choices[c].units[i].loss);
      EXPECT_EQ(found.choices[c].units[i].drop, expected.choices[c].units[i].drop);
    }
  }
}

TEST(LossMeter, MeasuresWhatEvaluateDoes) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  for (const data::Dataset& data : {labelled(100, 3), random_dataset(100, 20, 3)}) {
    const ir::Graph few = quantize(graph, data, with_choice({}, choice_named("1"))).graph;
    const LossAndDrop found = LossMeter(graph, data, LossKind::kError).loss_and_drop(few);
    EvaluateSettings options;
    options.execution.float_order = runtime::FloatOrder::kFixed;
    const Evaluation expected = evaluate(few, data, &graph, options);
    const double noise = std::pow(10, -expected.reference->sqnr_db / 10);
    EXPECT_NEAR(found.loss, noise, 1e-13 * noise);
    const double drop = data.has_labels() ? *expected.reference->value - expected.value
                                          : 1 - expected.reference->agreement;
    // Two shares below one, each rounded, and their difference.
    EXPECT_NEAR(found.drop, drop, 2 * std::numeric_limits<double>::epsilon());
  }
}

TEST(Sensitivity, NeedsChoices) {
  expect_error(ErrorKind::kUsage, "choices: expected one or more, found none",
               [] { sensitivity(perceptron(20, 16, 4, 2), labelled(10, 3), {}, {}); });
}

/// A network with a tied embedding: a table that is looked up, and multiplied at the end; and two
/// layers that share an input.
ir::Graph tied_network() {
  Random random(5);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kInt32, {ir::kBatch, 6}));
  const auto table = graph.add_constant("table", random_tensor({12, 8}, random));
  const auto rows = graph.add_node("embedding", ir::Gather{0}, {table, x});
  const auto a = add_layer(graph, "a", rows, random_tensor({8, 8}, random), random);
  const auto b = add_layer(graph, "b", rows, random_tensor({8, 8}, random), random);
  const auto sum = graph.add_node("sum", ir::Binary{}, {a, b});
  graph.add_output(graph.add_node("head", ir::FullyConnected{}, {sum, table, ir::kAbsent}));
  return graph;
}

data::Dataset tokens() {
  std::vector<float> x;
  for (int i = 0; i < 80 * 6; ++i) x.push_back(static_cast<float>((i * 7 + i / 6) % 12));
  const auto array = data::make_npy(std::span<const float>(x), {80, 6});
  return data::dataset_from_npy("tokens", own_bytes(data::npy_bytes(array)), std::nullopt, {});
}

TEST(Sensitivity, CountsSharedWeightsOnce) {
  const ir::Graph graph = tied_network();
  const auto units = tied_layers(graph, quantizable_layers(graph));
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0], (std::vector<std::size_t>{0, 3})) << "the table and the head";
  EXPECT_EQ(units[1], (std::vector<std::size_t>{1, 2})) << "layers of one input";
  const Sensitivity found = sensitivity(graph, tokens(), {}, choices_of({"4"}));
  EXPECT_EQ(found.loss, "error");
  const ChoiceSensitivity& choice = found.choices[0];
  EXPECT_EQ(choice.units[0].bytes, choice.layers[0].bytes);
  EXPECT_EQ(choice.units[1].bytes, choice.layers[1].bytes + choice.layers[2].bytes);
  EXPECT_GT(choice.units[0].loss, 0);
}

/// Where an operator has no gradient, noise on weights takes the place of gradients.
TEST(Sensitivity, WeighsErrorsByNoiseWithoutGradients) {
  Random random(6);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 20}));
  const auto h = add_layer(graph, "first", x, random_tensor({16, 20}, random, 0.3F), random);
  const auto product = graph.add_node("norm", ir::Reduce{ir::ReduceKind::kProd, {1}, true}, {h});
  const auto joined = graph.add_node("join", ir::Concat{1}, std::vector<ir::ValueId>{h, product});
  graph.add_output(
      add_layer(graph, "second", joined, random_tensor({4, 17}, random, 0.3F), random));
  const Sensitivity found = sensitivity(graph, labelled(400, 3), {}, choices_of({"5"}));
  EXPECT_EQ(found.weighted_by, "noise");
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio = found.choices[0].layers[i].weighted_error / found.choices[0].units[i].loss;
    EXPECT_GT(ratio, 1.0 / 3) << i;
    EXPECT_LT(ratio, 3) << i;
  }
}

/// A perceptron whose hidden values are rounded to 8-bit integers.
ir::Graph with_rounding() {
  Random random(8);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 20}));
  const auto h = add_layer(graph, "first", x, random_tensor({16, 20}, random, 0.3F), random);
  const ir::AffineParameters step{{0.05F}, {0}};
  const auto codes = graph.add_node("codes", ir::QuantizeLinear{step}, {h});
  const auto floats = graph.add_node("floats", ir::DequantizeLinear{step}, {codes});
  graph.add_output(
      add_layer(graph, "second", floats, random_tensor({4, 16}, random, 0.3F), random));
  return graph;
}

TEST(Sensitivity, TakesNetworksThatRoundBetweenLayers) {
  const ir::Graph graph = with_rounding();
  const data::Dataset data = labelled(400, 3);
  const Sensitivity found = sensitivity(graph, data, {}, choices_of({"5"}));
  EXPECT_EQ(found.weighted_by, "noise") << "rounding has none";
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio = found.choices[0].layers[i].weighted_error / found.choices[0].units[i].loss;
    EXPECT_GT(ratio, 1.0 / 3) << i;
    EXPECT_LT(ratio, 3) << i;
  }
}

TEST(Sensitivity, SaysHowAFileStoresWeights) {
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = labelled(60, 3);
  const Sensitivity found = sensitivity_of(graph, graph, data, {}, {StoredWeights{8, 320}});
  const ChoiceSensitivity& choice = found.choices[0];
  EXPECT_EQ(choice.layers[0].weight_bits, 8);
  EXPECT_EQ(choice.layers[0].bytes, 320U);
  EXPECT_EQ(choice.units[0].bytes, 320U);
  EXPECT_EQ(choice.layers[1].weight_bits, 32);
  EXPECT_EQ(choice.layers[1].bytes, found.layers[1].float_bytes);
}

/// Rows of a fixed batch are merged before the first layer: samples cannot be told apart there.
ir::Graph merged_rows(ir::Dim batch) {
  Random random(7);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {batch, 4, 5}));
  const auto rows = graph.add_node("rows", ir::Reshape{{batch * 4, 5}}, {x});
  const auto h = add_layer(graph, "first", rows, random_tensor({6, 5}, random), random);
  const auto back = graph.add_node("back", ir::Reshape{{batch, 24}}, {h});
  graph.add_output(add_layer(graph, "second", back, random_tensor({4, 24}, random, 0.3F), random));
  return graph;
}

TEST(Sensitivity, TakesFixedBatches) {
  const data::Dataset data = labelled(101, 3);  // 20 numbers each; 101 is no multiple of 4
  for (const ir::Dim batch : {1, 4}) {
    const ir::Graph graph = merged_rows(batch);
    const Sensitivity found = sensitivity(graph, data, {}, choices_of({"3"}));
    EXPECT_EQ(found.weighted_by, batch == 1 ? "gradients" : "noise");
    const QuantizedGraph all = quantize(graph, data, with_choice({}, choice_named("3")));
    const double loss = divergence(all.graph, data, graph);
    EXPECT_NEAR(found.choices[0].units[1].accumulated_loss.value(), loss, kSums * loss);
    EXPECT_GT(found.choices[0].layers[0].weighted_error, 0);
  }
  ir::Graph fixed = perceptron(20, 16, 4, 2);
  ir::fill_in_batch(fixed, 4);
  const Sensitivity four = sensitivity(fixed, data, {}, choices_of({"5"}));
  EXPECT_EQ(four.weighted_by, "gradients");
  const ir::Graph all = quantize(fixed, data, with_choice({}, choice_named("5"))).graph;
  const double loss = divergence(all, data, fixed);
  EXPECT_NEAR(four.choices[0].units[1].accumulated_loss.value(), loss, kSums * loss);
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio = four.choices[0].layers[i].weighted_error / four.choices[0].units[i].loss;
    // As above, of 101 products.
    EXPECT_NEAR(ratio, 1, 5 * 2 / std::sqrt(101.0)) << i;
  }
}

}  // namespace
}  // namespace halftone::compress
