// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/rewrite.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::Graph;
using ir::kBatch;
using ir::Shape;
using ir::ValueId;
using ir::test::floats;
using ir::test::kRelu;
using testing::ElementsAre;

const Activation kLeaky{ActivationKind::kLeakyRelu, 0.2F};

std::size_t equalize_all(Graph& graph) {
  return equalize(graph, [](const ir::Node&) { return true; });
}

/// A network that grows by one operator at a time.
struct Network {
  Graph graph;
  Random random{7};
  ValueId y;
  std::vector<ir::NodeId> layers{};

  explicit Network(const Shape& shape) : y(graph.add_input("x", ir::test::float_type(shape))) {}

  void then(const ir::Operator& op, std::vector<ValueId> more = {}) {
    more.insert(more.begin(), y);
    y = graph.add_node("n" + std::to_string(graph.num_values()), op, std::move(more));
  }
  /// A layer whose outputs have ranges between e^-3 and e^3.
  void layer(const ir::Operator& op, const Shape& shape) {
    ir::Tensor w = ir::test::random_tensor(shape, random);
    const std::size_t row = w.size() / static_cast<std::size_t>(shape[0]);
    for (std::size_t i = 0; i < w.size(); ++i) {
      w.as<float>()[i] *= std::exp(3 * std::sin(static_cast<float>(i / row)));
    }
    const std::string name = "w" + std::to_string(layers.size());
    const ValueId weights = graph.add_constant(name, std::move(w));
    then(op,
         {weights, graph.add_constant(name + ".b", ir::test::random_tensor({shape[0]}, random))});
    layers.push_back(*graph.producer(y));
  }
  /// Adds the output and runs the pass.
  std::size_t run() {
    graph.add_output(y);
    return equalize_all(graph);
  }
  [[nodiscard]] const ir::Node& node(std::size_t layer) const { return graph.node(layers[layer]); }
  [[nodiscard]] std::vector<float> weights(std::size_t layer) const {
    return test::constant_floats(graph, node(layer).inputs[1]);
  }
  [[nodiscard]] std::vector<float> bias(std::size_t layer) const {
    return test::constant_floats(graph, node(layer).inputs[2]);
  }
};

/// x [N, 2] -> FullyConnected -> FullyConnected, two channels between them.
struct TwoLayers : Network {
  explicit TwoLayers(const Activation& activation, const std::vector<float>& first = {4, -2, 0, 1},
                     const std::vector<float>& second = {1, 0, -0.5F, 4})
      : Network({kBatch, 2}) {
    add(ir::FullyConnected{activation}, first, {8, 8});
    add(ir::FullyConnected{}, second, {1, 2});
  }
  void add(const ir::Operator& op, const std::vector<float>& w, const std::vector<float>& b) {
    const std::string name = "w" + std::to_string(layers.size());
    then(op, {graph.add_constant(name, floats({2, 2}, w)),
              graph.add_constant(name + ".b", floats({2}, b))});
    layers.push_back(*graph.producer(y));
  }
};

/// The network of the absolute values of all constants.
Graph magnitudes_of(const Graph& graph) {
  Graph result = graph;
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ValueId id{static_cast<std::uint32_t>(v)};
    const ir::Tensor* constant = float_constant(graph, id);
    if (constant == nullptr) continue;
    ir::Tensor positive = constant->clone();
    for (float& number : positive.as<float>()) number = std::abs(number);
    result.replace_uses(id, result.add_constant(graph.value(id).name, std::move(positive)));
  }
  return result;
}

/// Expects the same outputs up to rounding.
///
/// A float32 network rounds each output of an operator, and of its activation, once; the equalized
/// network also rounds each weight and bias once. So both together round 5 times per layer and
/// twice per other operator, n times along the longest path. Each rounding changes a value by at
/// most 2^-24 of its magnitude, and later operators amplify the change at most as the network of
/// absolute values A amplifies magnitudes (slopes are at most 1): they differ by at most A ((1 +
/// 2^-24)^n - 1).
void expect_equal_up_to_rounding(const Graph& found, const Graph& expected) {
  Random random(11);
  const Shape shape = expected.value(expected.inputs()[0]).type.shape.with_batch(4);
  const ir::Tensor x = ir::test::random_tensor(shape, random);
  ir::Tensor positive = x.clone();
  for (float& number : positive.as<float>()) number = std::abs(number);
  double roundings = 0;
  for (const ir::NodeId id : expected.topological_order()) {
    roundings += ir::is_layer(expected.node(id).op) ? 5 : 2;
  }
  const auto largest =
      ir::test::run_reference(magnitudes_of(expected), ir::test::list(std::move(positive)));
  const auto a = ir::test::run_reference(found, ir::test::list(x.clone()));
  const auto b = ir::test::run_reference(expected, ir::test::list(x.clone()));
  // Rounding the magnitudes themselves adds as many terms at most.
  const double share = std::expm1(2 * roundings * std::log1p(0x1p-24));
  for (std::size_t i = 0; i < b[0].size(); ++i) {
    EXPECT_NEAR(static_cast<double>(a[0].as<float>()[i]), static_cast<double>(b[0].as<float>()[i]),
                share * static_cast<double>(largest[0].as<float>()[i]))
        << i;
  }
}

/// max |w| over the weights of each channel, which a function of their index names.
std::vector<float> ranges(const std::vector<float>& weights, std::size_t channels,
                          const std::function<std::size_t(std::size_t)>& channel_of) {
  std::vector<float> result(channels, 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    float& range = result[channel_of(i)];
    range = std::max(range, std::abs(weights[i]));
  }
  return result;
}

/// Expects r1 = r2, up to the tolerance of the pass and one rounding of each.
void expect_equal_ranges(const std::vector<float>& r1, const std::vector<float>& r2) {
  const double tolerance = 2 * kEqualizeTolerance + 4 * 0x1p-24;
  for (std::size_t i = 0; i < r1.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(r1[i] / r2[i]), 1, tolerance) << i;
  }
}

TEST(Equalize, GivesBothLayersTheGeometricMeanOfTheirRanges) {
  // r1 = 4, 1 and r2 = 1, 4: s = 2, 1/2.
  for (const Activation& activation : {Activation{}, kRelu.activation, kLeaky}) {
    TwoLayers network(activation);
    EXPECT_EQ(network.run(), 1U);
    EXPECT_THAT(network.weights(0), ElementsAre(2, -1, 0, 2));
    EXPECT_THAT(network.bias(0), ElementsAre(4, 16));
    EXPECT_THAT(network.weights(1), ElementsAre(2, 0, -1, 2));
    EXPECT_THAT(network.bias(1), ElementsAre(1, 2));
    EXPECT_EQ(network.graph.value(network.node(0).inputs[1]).name, "w0");
    EXPECT_EQ(network.graph.value(network.node(0).inputs[2]).name, "w0.b");
    EXPECT_EQ(equalize_all(network.graph), 0U) << "the second run finds equal ranges";
  }
}

/// Equations 9 to 11 of the paper on fully connected layers, in plain loops.
void equalize_plainly(std::vector<std::vector<double>>& w, const std::vector<std::size_t>& widths) {
  double largest = 1;
  while (largest > kEqualizeTolerance) {
    largest = 0;
    for (std::size_t l = 0; l + 1 < w.size(); ++l) {
      const std::size_t before = widths[l];
      const std::size_t channels = widths[l + 1];
      for (std::size_t i = 0; i < channels; ++i) {
        double r1 = 0;
        double r2 = 0;
        for (std::size_t k = 0; k < before; ++k) r1 = std::max(r1, std::abs(w[l][i * before + k]));
        for (std::size_t o = 0; o < widths[l + 2]; ++o) {
          r2 = std::max(r2, std::abs(w[l + 1][o * channels + i]));
        }
        const double s = std::sqrt(r1 * r2) / r2;
        largest = std::max(largest, std::max(s, 1 / s) - 1);
        for (std::size_t k = 0; k < before; ++k) w[l][i * before + k] /= s;
        for (std::size_t o = 0; o < widths[l + 2]; ++o) w[l + 1][o * channels + i] *= s;
      }
    }
  }
}

TEST(Equalize, FindsTheFixedPointOfAPlainLoop) {
  const std::vector<std::size_t> widths = {6, 9, 12, 7, 5};
  Network network({kBatch, 6});
  std::vector<std::vector<double>> expected;
  for (std::size_t l = 0; l < 4; ++l) {
    network.layer(ir::FullyConnected{l % 2 == 0 ? kRelu.activation : kLeaky},
                  {static_cast<ir::Dim>(widths[l + 1]), static_cast<ir::Dim>(widths[l])});
    const std::vector<float> w = network.weights(l);
    expected.emplace_back(w.begin(), w.end());
  }
  const Graph before = network.graph;
  EXPECT_EQ(network.run(), 3U);
  equalize_plainly(expected, widths);
  for (std::size_t l = 0; l < 4; ++l) {
    const std::vector<float> w = network.weights(l);
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(w[i]) / expected[l][i], 1, 0x1p-23) << l;
    }
    if (l + 1 == 4) continue;
    const std::size_t channels = widths[l + 1];
    expect_equal_ranges(
        ranges(w, channels, [&](std::size_t i) { return i / widths[l]; }),
        ranges(network.weights(l + 1), channels, [&](std::size_t i) { return i % channels; }));
  }
  Graph original = before;
  original.add_output(network.y);
  expect_equal_up_to_rounding(network.graph, original);
}

ir::Window window_of(ir::Dim stride, ir::Dim pad) {
  return {{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

/// Convolutions of all kinds, and all operators that may lie between layers.
Network image_network() {
  Network network({kBatch, 8, 8, 2});
  network.layer(ir::Conv{window_of(1, 1), 1, kRelu.activation}, {6, 3, 3, 2});
  network.then(ir::Pad{ir::PadMode::kConstant, {0, 1, 1, 0}, {0, 1, 1, 0}});
  network.layer(ir::Conv{window_of(1, 0), 6, {}}, {6, 3, 3, 1});
  network.then(ir::Binary{ir::BinaryKind::kPRelu, {}},
               {network.graph.add_constant("slopes", floats({6}, {0, 0.5F, 1, -0.5F, 0.25F, -1}))});
  network.then(ir::Pool{ir::PoolKind::kMax, {2, 2}, window_of(2, 0)});
  network.layer(ir::Conv{window_of(1, 1), 2, kLeaky}, {4, 3, 3, 3});
  network.then(kRelu);
  network.then(ir::Pool{ir::PoolKind::kAverage, {2, 2}, window_of(2, 0)});
  network.layer(ir::ConvTranspose{window_of(2, 0), {0, 0}, 1, kRelu.activation}, {5, 2, 2, 4});
  network.then(ir::Reduce{ir::ReduceKind::kMean, {1}, false});
  network.then(ir::Reshape{{kBatch, 20}});
  network.layer(ir::FullyConnected{}, {3, 20});
  return network;
}

TEST(Equalize, TakesConvolutionsAndEverythingThatPassesScales) {
  Network network = image_network();
  Graph original = network.graph;
  original.add_output(network.y);
  EXPECT_EQ(network.run(), 4U);
  const auto row_of = [](std::size_t row) { return [row](std::size_t i) { return i / row; }; };
  expect_equal_ranges(ranges(network.weights(0), 6, row_of(18)),
                      ranges(network.weights(1), 6, row_of(9)));
  // Two groups of two outputs with three inputs each.
  expect_equal_ranges(
      ranges(network.weights(1), 6, row_of(9)),
      ranges(network.weights(2), 6, [](std::size_t i) { return i / 54 * 3 + i % 3; }));
  expect_equal_ranges(ranges(network.weights(2), 4, row_of(27)),
                      ranges(network.weights(3), 4, [](std::size_t i) { return i % 4; }));
  // The channels of four columns follow each other in a row of 20.
  expect_equal_ranges(ranges(network.weights(3), 5, row_of(16)),
                      ranges(network.weights(4), 5, [](std::size_t i) { return i % 5; }));
  expect_equal_up_to_rounding(network.graph, original);
  EXPECT_EQ(equalize_all(network.graph), 0U);
}

/// Whether a pair with operators between its layers is equalized.
bool passes_through(const std::function<void(Network&)>& between) {
  Network network({kBatch, 4, 4, 4});
  network.layer(ir::FullyConnected{}, {4, 4});
  between(network);
  const ir::Dim width = network.graph.value(network.y).type.shape.back();
  network.layer(ir::FullyConnected{}, {3, width});
  return network.run() > 0;
}

TEST(Equalize, EndsAtOperatorsThatMixChannelsOrScales) {
  const auto through = [](const ir::Operator& op) {
    return passes_through([&](Network& network) { network.then(op); });
  };
  const auto applies = [&](const Activation& activation) { return through(ir::Unary{activation}); };
  EXPECT_TRUE(applies({ActivationKind::kClip, 0, kInfinity}));
  EXPECT_FALSE(applies({ActivationKind::kClip, 0, 2}));
  EXPECT_FALSE(applies({ActivationKind::kRelu6}));
  EXPECT_FALSE(applies({ActivationKind::kSigmoid}));
  EXPECT_FALSE(applies({ActivationKind::kElu, 1}));
  using ir::ReduceKind;
  EXPECT_TRUE(through(ir::Reduce{ReduceKind::kMax, {1, 2}, true}));
  EXPECT_FALSE(through(ir::Reduce{ReduceKind::kSumSquare, {1, 2}, true}));
  EXPECT_FALSE(through(ir::Reduce{ReduceKind::kMean, {2, 3}, false})) << "the last axis is space";
  EXPECT_FALSE(through(ir::Softmax{3}));
  EXPECT_FALSE(through(ir::Transpose{{0, 3, 1, 2}}));
  EXPECT_FALSE(through(ir::Pad{ir::PadMode::kConstant, {0, 0, 0, 4}, {0, 0, 0, 0}}));
  EXPECT_TRUE(through(ir::Pad{ir::PadMode::kReflect, {0, 1, 1, 0}, {0, 1, 1, 0}}));
  EXPECT_FALSE(through(ir::Reshape{{kBatch, 4, 8, 2}})) << "rows of half the channels";
  EXPECT_TRUE(through(ir::Reshape{{kBatch, 4, 2, 8}}));
  const auto pads_with = [](float number) {
    return passes_through([&](Network& network) {
      network.then(ir::Pad{ir::PadMode::kConstant, {0, 1, 1, 0}, {0, 1, 1, 0}},
                   {network.graph.add_constant("padding", floats({}, {number}))});
    });
  };
  EXPECT_TRUE(pads_with(0));
  EXPECT_FALSE(pads_with(1));
  EXPECT_FALSE(passes_through([](Network& network) {
    network.then(ir::test::kAdd, {network.graph.add_constant("c", ir::test::counting({4}))});
  }));
}

TEST(Equalize, KeepsValuesWithOtherReaders) {
  TwoLayers read(kRelu.activation);
  read.graph.add_output(read.graph.node(read.layers[0]).output);
  EXPECT_EQ(read.run(), 0U);
  TwoLayers used(kRelu.activation);
  used.graph.add_output(used.graph.add_node("tanh", ir::test::kTanh, {used.node(0).output}));
  EXPECT_EQ(used.run(), 0U);
}

TEST(Equalize, KeepsWhatLayersShare) {
  for (const std::size_t input : {1U, 2U}) {
    for (const std::size_t layer : {0U, 1U}) {
      TwoLayers network(kRelu.activation);
      const ValueId shared = network.node(layer).inputs[input];
      network.graph.add_output(network.graph.add_node("other", kRelu, {shared}));
      // The bias of the second layer does not change.
      EXPECT_EQ(network.run(), input == 2 && layer == 1 ? 1U : 0U) << input << layer;
    }
  }
}

TEST(Equalize, KeepsComputedParametersAndCodes) {
  for (const std::size_t input : {1U, 2U}) {
    TwoLayers network(kRelu.activation);
    std::vector<ValueId> inputs = network.node(0).inputs;
    inputs[input] = network.graph.add_input("p", network.graph.value(inputs[input]).type);
    network.graph.replace_node(network.layers[0], network.node(0).op, inputs);
    EXPECT_EQ(network.run(), 0U) << input;
  }
  TwoLayers network(kRelu.activation);
  std::vector<ValueId> inputs = network.node(1).inputs;
  inputs[1] = network.graph.add_constant(
      "codes", ir::EncodedTensor{{2, 2}, ir::test::odd_encoding(), numerics::BitPlanes(2, 2, 2)});
  network.graph.replace_node(network.layers[1], network.node(1).op, inputs);
  EXPECT_EQ(network.run(), 0U);
}

TEST(Equalize, KeepsALayerWithAResidual) {
  Network network({kBatch, 4, 4, 2});
  network.layer(ir::Conv{window_of(1, 1)}, {2, 3, 3, 2});
  std::vector<ValueId> inputs = network.node(0).inputs;
  inputs.push_back(network.graph.inputs()[0]);
  network.graph.replace_node(network.layers[0], network.node(0).op, inputs);
  network.layer(ir::Conv{window_of(1, 1)}, {2, 3, 3, 2});
  EXPECT_EQ(network.run(), 0U);
}

TEST(Equalize, KeepsChannelsWithoutAUsableRange) {
  const float tiny = std::numeric_limits<float>::min() / 4;
  for (const float range : {0.0F, tiny, kInfinity, kNan}) {
    TwoLayers first(kRelu.activation, {range, 0, 0, 1});
    EXPECT_EQ(first.run(), 1U) << "of the other channel";
    EXPECT_EQ(first.bias(0)[0], 8) << range;
    EXPECT_EQ(first.weights(1)[0], 1) << range;
    EXPECT_EQ(first.weights(1)[3], 2) << range;
    TwoLayers second(kRelu.activation, {4, -2, 0, 1}, {range, 0, 0, 4});
    EXPECT_EQ(second.run(), 1U);
    EXPECT_EQ(second.weights(0)[0], 4) << range;
    EXPECT_EQ(second.weights(0)[3], 2) << range;
  }
}

/// The weights of the second channel after a run with another bias.
void expect_kept_channel(float range1, float range2, float bias) {
  TwoLayers network(kRelu.activation, {4, -2, 0, range1}, {1, 0, 0, range2});
  std::vector<ValueId> inputs = network.node(0).inputs;
  inputs[2] = network.graph.add_constant("large", floats({2}, {8, bias}));
  network.graph.replace_node(network.layers[0], network.node(0).op, inputs);
  EXPECT_EQ(network.run(), 1U);
  EXPECT_THAT(network.weights(0), ElementsAre(2, -1, 0, range1));
  EXPECT_THAT(network.bias(0), ElementsAre(4, bias));
  EXPECT_THAT(network.weights(1), ElementsAre(2, 0, 0, range2));
}

TEST(Equalize, KeepsChannelsWithALargeBias) {
  expect_kept_channel(1e-12F, 1, 0.3F);
  expect_kept_channel(1e36F, 1e38F, 1e38F);  // the bias would become 1e39
}

TEST(Equalize, KeepsLayersThatAreNotWanted) {
  Network network({kBatch, 4});
  for (int i = 0; i < 4; ++i) network.layer(ir::FullyConnected{}, {4, 4});
  network.graph.add_output(network.y);
  const std::vector<float> last = network.weights(3);
  const std::string unwanted = network.node(3).name;
  EXPECT_EQ(equalize(network.graph, [&](const ir::Node& node) { return node.name != unwanted; }),
            2U);
  EXPECT_EQ(network.weights(3), last);
}

TEST(Equalize, IsSafeOnRandomGraphs) {
  test::expect_safe_on_random_graphs([](Graph& graph) { return equalize_all(graph) > 0; }, 600);
}

}  // namespace
}  // namespace halftone::passes
