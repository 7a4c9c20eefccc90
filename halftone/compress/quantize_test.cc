// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/report_testing.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/text.h"
#include "halftone/ir/verify.h"
#include "halftone/numerics/basis.h"

namespace halftone::compress {
namespace {

std::size_t count_operators(const ir::Graph& graph, std::string_view name) {
  std::size_t count = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    if (name_of(graph.node(id).op) == name) ++count;
  }
  return count;
}

/// Codes, bases and biases of every constant, for comparing graphs.
std::string fingerprint(const ir::Graph& graph) {
  std::string text = ir::to_text(graph);
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const ir::Tensor values = to_float(*constant);
    for (const float value : values.as<float>()) text += std::to_string(value) + " ";
  }
  return text;
}

TEST(Quantize, EncodesWeightsAndInputsOfEveryLayer) {
  const data::Dataset data = random_dataset(200, 20, 1);
  const QuantizedGraph result = quantize(perceptron(20, 16, 4, 2), data, recipe_of(3, 4));
  EXPECT_EQ(count_operators(result.graph, "Encode"), 2u);
  expect_two_layers(result, 3, 4, 8);
  EXPECT_EQ(result.graph.value(result.graph.outputs()[0]).name, "second");
}

std::vector<ir::Arithmetic> arithmetics(const ir::Graph& graph) {
  std::vector<ir::Arithmetic> found;
  for (const ir::NodeId id : graph.topological_order()) {
    if (const ir::Arithmetic* stored = ir::arithmetic(graph.node(id).op)) found.push_back(*stored);
  }
  return found;
}

TEST(Quantize, FixesTheArithmeticOfEveryLayer) {
  using ir::Arithmetic;
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(100, 20, 1);
  const auto fixed = [&](const Recipe& recipe) {
    return arithmetics(quantize(graph, data, recipe).graph);
  };
  const auto both = [](Arithmetic each) { return std::vector<Arithmetic>{each, each}; };
  EXPECT_EQ(fixed(recipe_of(2, 2)), both(Arithmetic::kBits));
  EXPECT_EQ(fixed(recipe_of(3, 2)), both(Arithmetic::kIntegers));
  EXPECT_EQ(fixed(recipe_of(0, 2)), both(Arithmetic::kFloat));
  EXPECT_EQ(fixed(recipe_of(0, 0)), both(Arithmetic::kAuto)) << "no layer has codes";
  Recipe recipe = recipe_of(3, 2);
  recipe.defaults.arithmetic = Arithmetic::kBits;
  recipe.overrides.push_back({"second", {}});
  recipe.overrides[0].settings.arithmetic = Arithmetic::kFloat;
  for (const auto schedule : {Schedule::kLayerwise, Schedule::kPhases}) {
    recipe.fit.schedule = schedule;
    EXPECT_THAT(fixed(recipe), ::testing::ElementsAre(Arithmetic::kBits, Arithmetic::kFloat));
  }
}

TEST(Quantize, RejectsAnArithmeticThatALayerCannotHave) {
  Recipe recipe = recipe_of(2, 0);
  recipe.defaults.arithmetic = ir::Arithmetic::kBits;
  expect_error(
      ErrorKind::kUsage,
      "node 'first' (FullyConnected): arithmetic bits: the input is not encoded; give this "
      "layer another arithmetic, such as auto",
      [&] { quantize(perceptron(20, 16, 4, 2), random_dataset(50, 20, 1), recipe); });
}

TEST(Quantize, LosesLessWithMoreBits) {
  const data::Dataset data = random_dataset(300, 20, 3);
  double last = -1;
  for (int bits = 1; bits <= 6; ++bits) {
    const QuantizedGraph result = quantize(perceptron(20, 16, 4, 4), data, recipe_of(bits, bits));
    EXPECT_GT(result.layers.back().sqnr_db, last) << bits;
    last = result.layers.back().sqnr_db;
  }
  EXPECT_GT(last, 25);
}

TEST(Quantize, GivesTheSameNetworkForAnyNumberOfThreadsAndTwice) {
  const data::Dataset data = random_dataset(150, 30, 5);
  const auto once = [&](int threads) {
    set_num_threads(threads);
    return fingerprint(quantize(perceptron(30, 40, 5, 6), data, recipe_of(2, 2)).graph);
  };
  const std::string one = once(1);
  EXPECT_TRUE(once(2) == one);
  EXPECT_TRUE(once(4) == one);
  EXPECT_TRUE(once(1) == one);
  set_num_threads(0);
}

TEST(Quantize, SharesTheCodesOfASharedInput) {
  Random random(7);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 12}));
  const auto a = add_layer(graph, "a", x, random_tensor({6, 12}, random), random);
  const auto b = add_layer(graph, "b", x, random_tensor({6, 12}, random), random);
  graph.add_output(graph.add_node("sum", ir::Binary{}, {a, b}));
  const QuantizedGraph result = quantize(graph, random_dataset(100, 12, 8), recipe_of(4, 4));
  EXPECT_EQ(count_operators(result.graph, "Encode"), 1u);
  for (const LayerReport& layer : result.layers) EXPECT_GT(layer.sqnr_db, 12);
}

TEST(Quantize, TakesConstantLayersDeadInputsAndOneOutput) {
  Random random(9);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 10}));
  ir::Tensor constant(ir::ElementType::kFloat32, {8, 10});
  std::ranges::fill(constant.as<float>(), 0.25F);
  const auto h = add_layer(graph, "constant", x, std::move(constant), random);
  graph.add_output(add_layer(graph, "single", h, random_tensor({1, 8}, random), random));
  const QuantizedGraph result = quantize(graph, random_dataset(100, 10, 10), recipe_of(4, 4));
  ir::verify(result.graph);
  for (const LayerReport& layer : result.layers) EXPECT_GT(layer.sqnr_db, 6) << layer.name;
}

TEST(Quantize, LeavesSkippedLayersAndFloatSidesAlone) {
  const data::Dataset data = random_dataset(100, 10, 11);
  const auto recipe = parse_recipe(
      "[default]\nweight_bits = 2\nactivation_bits = \"none\"\n[[layer]]\nname = \"second\"\nskip "
      "= true",
      "test");
  const QuantizedGraph result = quantize(perceptron(10, 8, 3, 12), data, recipe);
  EXPECT_EQ(count_operators(result.graph, "Encode"), 0u);
  EXPECT_EQ(result.layers[0].weight_bits, 2);
  EXPECT_EQ(result.layers[0].activation_bits, 32);
  EXPECT_EQ(result.layers[1].weight_bits, 32);
  const QuantizedGraph only_inputs = quantize(perceptron(10, 8, 3, 12), data, recipe_of(0, 4));
  EXPECT_EQ(only_inputs.layers[0].weight_bits, 32);
  EXPECT_EQ(only_inputs.layers[0].activation_bits, 4);
  EXPECT_GT(only_inputs.layers[1].sqnr_db, 15);
}

TEST(Quantize, AlsoWorksInPhases) {
  const data::Dataset data = random_dataset(200, 20, 13);
  Recipe recipe = recipe_of(3, 3);
  const double layerwise = quantize(perceptron(20, 16, 4, 14), data, recipe).layers[1].sqnr_db;
  recipe.fit.schedule = Schedule::kPhases;
  recipe.fit.weights.levels.solver = LevelSolver::kGradient;
  recipe.fit.weights.feedback = false;
  recipe.fit.weights.refine = false;
  recipe.fit.weights.bias_correction = false;
  const QuantizedGraph phases = quantize(perceptron(20, 16, 4, 14), data, recipe);
  EXPECT_EQ(count_operators(phases.graph, "Encode"), 2u);
  EXPECT_EQ(phases.layers[1].weight_bits, 3);
  EXPECT_GT(phases.layers[1].sqnr_db, 2);
  EXPECT_LT(phases.layers[1].sqnr_db, layerwise);
}

TEST(Quantize, TakesInputsWithMoreAxes) {
  Random random(15);
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3, 5}));
  graph.add_output(add_layer(graph, "rows", x, random_tensor({4, 5}, random), random));
  const QuantizedGraph result = quantize(graph, random_dataset(60, 15, 16), recipe_of(4, 4));
  EXPECT_GT(result.layers[0].sqnr_db, 12);
}

/// How many digits the basis of the only Encode has.
std::size_t count_input_digits(const QuantizedGraph& result) {
  for (const ir::NodeId id : result.graph.topological_order()) {
    const auto* encode = std::get_if<ir::Encode>(&result.graph.node(id).op);
    if (encode == nullptr) continue;
    return numerics::split_digits(encode->encoding->basis(0), 1).size();
  }
  return 0;
}

TEST(Quantize, GivesTwoBitsThatConvolutionsReadASmallRatio) {
  Random random(17);
  ir::Graph conv;
  const auto image =
      conv.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4, 4, 3}));
  const auto w = conv.add_constant("w", random_tensor({5, 1, 1, 3}, random));
  ir::Conv op;
  op.window = {{1, 1}, {1, 1}, {0, 0}, {0, 0}};
  conv.add_output(conv.add_node("conv", op, {image, w}));
  const data::Dataset data = random_dataset(60, 48, 18);
  Recipe recipe = recipe_of(2, 2);
  EXPECT_EQ(count_input_digits(quantize(conv, data, recipe)), 1u);
  recipe.fit.small_ratios = false;
  EXPECT_EQ(count_input_digits(quantize(conv, data, recipe)), 2u);

  ir::Graph linear;
  const auto x =
      linear.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 16, 3}));
  linear.add_output(add_layer(linear, "rows", x, random_tensor({4, 3}, random), random));
  EXPECT_EQ(count_input_digits(quantize(linear, data, recipe_of(2, 2))), 2u);
}

/// x [N, 4, 6, 8] - a matrix for each of 4 heads - mixed over positions by a matrix on the left.
ir::Graph network_of_products() {
  Random random(40);
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4, 6, 8}));
  const auto w = graph.add_constant("heads.w", random_tensor({4, 8, 5}, random, 0.4F));
  const auto heads = graph.add_node("heads", ir::MatMul{}, {x, w});
  const auto m = graph.add_constant("mix.w", random_tensor({7, 6}, random, 0.4F));
  graph.add_output(graph.add_node("mix", ir::MatMul{}, {m, heads}));
  return graph;
}

TEST(Quantize, EncodesConstantsOfProductsWhereverTheyStand) {
  const data::Dataset data = random_dataset(100, 192, 41);
  const ir::Graph network = network_of_products();
  double last = 0;
  for (const int bits : {2, 4, 6}) {
    const QuantizedGraph result = quantize(network, data, recipe_of(bits, 0));
    EXPECT_EQ(count_operators(result.graph, "MatMul"), 0u);
    ASSERT_EQ(result.layers.size(), 2u);
    EXPECT_EQ(result.layers[0].name, "heads");
    EXPECT_EQ(result.layers[0].op, "Conv");
    EXPECT_EQ(result.layers[1].name, "mix");
    EXPECT_EQ(result.layers[1].op, "FullyConnected");
    EXPECT_EQ(result.layers[1].weight_bits, bits);
    const auto& outputs = result.graph.outputs();
    EXPECT_EQ(result.graph.value(outputs[0]).type, network.value(network.outputs()[0]).type);
    EXPECT_GT(result.layers[1].sqnr_db, last + 5);
    last = result.layers[1].sqnr_db;
  }
}

TEST(Quantize, LeavesProductsAsTheyAreThatStayFloat) {
  const data::Dataset data = random_dataset(50, 192, 42);
  const ir::Graph network = network_of_products();
  const auto skip = [](const std::string& name) {
    return parse_recipe("[[layer]]\nname = \"" + name + "\"\nskip = true", "test");
  };
  EXPECT_EQ(count_operators(quantize(network, data, skip("heads")).graph, "MatMul"), 1u);
  const QuantizedGraph all = quantize(network, data, skip("*"));
  EXPECT_EQ(count_operators(all.graph, "MatMul"), 2u);
  EXPECT_TRUE(all.layers.empty());
}

TEST(Quantize, RefusesNetworksWithoutLinearLayers) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4}));
  graph.add_output(graph.add_node("t", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x}));
  expect_error(ErrorKind::kUnsupported, "no layer to quantize",
               [&] { quantize(graph, random_dataset(10, 4, 17), recipe_of(2, 2)); });
}

TEST(Quantize, RefusesNumbersThatAreNotFinite) {
  ir::Graph graph = perceptron(6, 4, 2, 18);
  ir::Tensor weights(ir::ElementType::kFloat32, {2, 4});
  weights.as<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  const auto w = graph.add_constant("bad", std::move(weights));
  const ir::NodeId second = *graph.producer(graph.outputs()[0]);
  std::vector<ir::ValueId> inputs = graph.node(second).inputs;
  inputs[1] = w;
  graph.replace_node(second, graph.node(second).op, inputs);
  expect_error(ErrorKind::kFormat, "node 'second' (FullyConnected): output 1 has a weight",
               [&] { quantize(graph, random_dataset(10, 6, 19), recipe_of(2, 2)); });

  ir::Graph overflow;
  const auto x =
      overflow.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6}));
  const auto log = overflow.add_node("log", ir::Unary{{ir::ActivationKind::kLog, 0, 0}}, {x});
  Random random(20);
  overflow.add_output(add_layer(overflow, "layer", log, random_tensor({2, 6}, random), random));
  expect_error(ErrorKind::kFormat, "value 'log' becomes NaN or infinite",
               [&] { quantize(overflow, random_dataset(10, 6, 21), recipe_of(2, 2)); });
}

TEST(Quantize, RefusesANetworkWhoseAnswersOverflow) {
  ir::Graph graph;
  auto value = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6}));
  Random random(26);
  for (const char* name : {"large", "huge"}) {
    ir::Tensor weights = random_tensor({6, 6}, random);
    for (float& weight : weights.as<float>()) weight *= 1e30F;
    value = add_layer(graph, name, value, std::move(weights), random);
  }
  graph.add_output(value);
  expect_error(ErrorKind::kFormat, "calibration: value 'huge' becomes NaN or infinite",
               [&] { quantize(graph, random_dataset(10, 6, 27), recipe_of(2, 2)); });
}

/// x, all of it replaced by one number - 10 relu units, which are dead - 3.
ir::Graph blank_network(float number) {
  Random random(28);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6}));
  const auto blank =
      graph.add_node("blank", ir::Unary{{ir::ActivationKind::kClip, number, number}}, {x});
  const auto first = add_layer(graph, "first", blank, random_tensor({10, 6}, random), random);
  ir::Tensor dead = random_tensor({10, 10}, random, 0.01F);
  const auto w = graph.add_constant("dead.w", std::move(dead));
  ir::Tensor bias(ir::ElementType::kFloat32, {10});
  std::ranges::fill(bias.as<float>(), -100.0F);
  const auto b = graph.add_constant("dead.b", std::move(bias));
  const auto hidden = graph.add_node(
      "dead", ir::FullyConnected{{ir::ActivationKind::kRelu, 0, 0}, {}}, {first, w, b});
  graph.add_output(add_layer(graph, "last", hidden, random_tensor({3, 10}, random), random));
  return graph;
}

TEST(Quantize, RejectsActivationsThatAreConstant) {
  const data::Dataset data = random_dataset(50, 6, 29);
  expect_error(
      ErrorKind::kUnsupported,
      "node 'first' (FullyConnected): value 'blank' cannot be encoded: it is 0 at all "
      "300 positions sampled from the calibration data; use other data, or keep the layer's "
      "activations float (activation_bits = \"none\" in a recipe)",
      [&] { quantize(blank_network(0), data, recipe_of(2, 2)); });
  Recipe phases = recipe_of(2, 2);
  phases.fit.schedule = Schedule::kPhases;
  expect_error(ErrorKind::kUnsupported, "value 'blank' cannot be encoded: it is -2.5 at all",
               [&] { quantize(blank_network(-2.5F), data, phases); });
  const auto first_stays = parse_recipe(
      "[default]\nactivation_bits = 2\n[[layer]]\nname = \"first\"\nactivation_bits = \"none\"",
      "test");
  expect_error(ErrorKind::kUnsupported,
               "node 'last' (FullyConnected): value 'dead' cannot be encoded: it is 0 at all",
               [&] { quantize(blank_network(0), data, first_stays); });
  // Weights can be fitted to inputs that do not vary.
  EXPECT_EQ(quantize(blank_network(0), data, recipe_of(2, 0)).layers[2].weight_bits, 2);
}

TEST(Quantize, NamesTheValueThatIsTooLargeForAnyBasis) {
  std::vector<float> x(300, 0.5F);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  for (std::size_t i = 3; i < x.size(); i += 30) x[i] = 3e38F;  // too many for glitches
  const auto array = data::make_npy(std::span<const float>(x), {50, 6});
  const data::Dataset data =
      data::dataset_from_npy("bright", own_bytes(data::npy_bytes(array)), {}, {});
  Recipe recipe = recipe_of(2, 6);
  // Evenly spaced levels reach that far.
  for (const char* scheme : {"affine", "symmetric"}) {
    recipe.defaults.activation_system = &numerics::find_system(scheme);
    EXPECT_EQ(quantize(perceptron(6, 5, 3, 33), data, recipe).layers[0].activation_bits, 6);
  }
  recipe.defaults.activation_system = nullptr;
  expect_error(ErrorKind::kFormat,
               "node 'first' (FullyConnected): value 'x' cannot be encoded: it is 0 to 3e+38 in "
               "the calibration data",
               [&] { quantize(perceptron(6, 5, 3, 33), data, recipe); });
}

TEST(Quantize, RefusesLevelsOfWhichOneIsNearestToAllValues) {
  Random random(34);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 6}));
  const auto h = add_layer(graph, "first", x, random_tensor({20, 6}, random), random,
                           ir::ActivationKind::kRelu);
  graph.add_output(add_layer(graph, "last", h, random_tensor({3, 20}, random), random));
  Recipe recipe = recipe_of(2, 1);
  recipe.defaults.weight_system = recipe.defaults.activation_system =
      &numerics::find_system("fixed");
  expect_error(ErrorKind::kUnsupported,
               "node 'last' (FullyConnected): value 'first' cannot be encoded in 1 bit of the "
               "scheme fixed: its values, 0 to ",
               [&] { quantize(graph, random_dataset(50, 6, 35), recipe); });
}

/// Vectors for weights and 8 bits for inputs.
Recipe vector_recipe() {
  return parse_recipe("[default]\nweight_scheme = \"2x6\"\nactivation_bits = 8\n", "vectors");
}

TEST(Quantize, FitsVectorsOfWeights) {
  const ir::Graph graph = perceptron(20, 70, 5, 3);
  const data::Dataset samples = random_dataset(300, 20, 4);
  const QuantizedGraph result = quantize(graph, samples, vector_recipe());
  EXPECT_NO_THROW(ir::verify(result.graph));
  for (const LayerReport& layer : result.layers) {
    EXPECT_GT(layer.sqnr_db, 10) << layer.name;
  }
  const ir::Graph rule = with_rule_codes(graph, vector_recipe());
  EXPECT_NO_THROW(ir::verify(rule));
}

TEST(Quantize, RefusesToRefineVectors) {
  Recipe recipe = vector_recipe();
  recipe.fit.reconstruct.steps = 10;
  expect_error(ErrorKind::kUsage,
               "reconstruct_steps: expected 0 with weights in the scheme 2x6, whose vectors no "
               "gradient refines, found 10; set 0 or give the layer another scheme",
               [&] { quantize(perceptron(20, 30, 5, 3), random_dataset(50, 20, 4), recipe); });
}

TEST(Quantize, RefusesTwoBatchAxes) {
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, ir::kBatch, 6}));
  Random random(36);
  graph.add_output(add_layer(graph, "first", x, random_tensor({3, 6}, random), random));
  expect_error(ErrorKind::kUnsupported,
               "network input 'x': expected one batch axis, found [N, N, 6]",
               [&] { quantize(graph, random_dataset(50, 120, 37), recipe_of(2, 2)); });
}

TEST(Quantize, RefusesToEncodeStatesThatNeverChange) {
  Random random(30);
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4, 12}));
  const auto blank = graph.add_node("blank", ir::Unary{{ir::ActivationKind::kClip, 0, 0}}, {x});
  ir::Recurrent lstm;
  lstm.batch_major = true;
  const auto r = graph.add_constant("r", random_tensor({12, 3}, random));
  graph.add_output(graph.add_node("lstm", lstm, {blank, r}));
  expect_error(ErrorKind::kUnsupported,
               "node 'lstm' (Recurrent): value 'lstm' cannot be encoded: it is 0 at all 240",
               [&] { quantize(graph, random_dataset(20, 48, 31), recipe_of(2, 2)); });
}

TEST(Quantize, RefusesDataOfAnotherShape) {
  expect_error(ErrorKind::kShape, "network input 'x'", [&] {
    quantize(perceptron(6, 4, 2, 22), random_dataset(10, 7, 23), recipe_of(2, 2));
  });
}

TEST(Quantize, ReportsProgressUpwards) {
  const data::Dataset data = random_dataset(100, 10, 24);
  double last = 0;
  QuantizeSettings options;
  options.progress = [&](double fraction, std::string_view activity) {
    EXPECT_GE(fraction, last);
    EXPECT_LE(fraction, 1);
    EXPECT_FALSE(activity.empty());
    last = fraction;
  };
  quantize(perceptron(10, 8, 3, 25), data, recipe_of(2, 2), options);
  EXPECT_GT(last, 0.9);
}

}  // namespace
}  // namespace halftone::compress
