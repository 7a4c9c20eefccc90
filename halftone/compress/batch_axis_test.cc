// SPDX-License-Identifier: Apache-2.0
// Networks whose batch is fixed, or lies along another axis than the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone::compress {
namespace {

using ir::test::float_type;

Recipe two_bits() {
  Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  return recipe;
}

/// Samples of any shape, normally distributed.
data::Dataset dataset(std::vector<std::size_t> shape, std::uint64_t seed = 5) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  Random random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random.normal());
  const auto array = data::make_npy(std::span<const float>(x), std::move(shape));
  return data::dataset_from_npy("random", own_bytes(data::npy_bytes(array)), {}, {});
}

/// A projection and a recurrent layer over steps of 6 elements, and states of 4.
ir::Graph recurrent(const ir::Shape& x, bool batch_major) {
  Random random(3);
  ir::Graph graph;
  const auto input = graph.add_input("x", float_type(x));
  const auto gates = add_layer(graph, "gates", input, random_tensor({4, 6}, random, 0.4F), random);
  const auto r = graph.add_constant("r", random_tensor({4, 4}, random, 0.4F));
  ir::Recurrent op;
  op.kind = ir::RecurrentKind::kRnn;
  op.batch_major = batch_major;
  op.activations[0] = {ir::ActivationKind::kTanh, 0, 0};
  graph.add_output(graph.add_node("steps", op, {gates, r}));
  return graph;
}

/// Every level of every encoding of a graph, in order.
std::vector<float> levels_of(const ir::Graph& graph) {
  std::vector<float> levels;
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const ir::Tensor values = to_float(*constant);
    levels.insert(levels.end(), values.as<float>().begin(), values.as<float>().end());
  }
  return levels;
}

TEST(FixedBatch, CalibratesLikeAnOpenOne) {
  // 64 runs of 4 samples, and a last run that is not full.
  for (const std::size_t samples : {256U, 254U, 3U}) {
    const data::Dataset data = random_dataset(samples, 20, 1);
    ir::Graph fixed = perceptron(20, 16, 4, 2);
    fixed.set_input_type(fixed.inputs()[0], float_type({4, 20}));
    for (const ir::NodeId id : fixed.topological_order()) {
      fixed.replace_node(id, ir::with_batch(fixed.node(id).op, 4), fixed.node(id).inputs);
    }
    for (const std::optional<std::uint64_t> memory : {std::optional<std::uint64_t>(), {0}}) {
      QuantizeSettings options;
      options.memory_bytes = memory;
      const QuantizedGraph result = quantize(fixed, data, two_bits(), options);
      ASSERT_EQ(result.layers.size(), 2U);
      EXPECT_EQ(result.graph.value(result.graph.outputs()[0]).type.shape, (ir::Shape{4, 4}));
      if (samples > 4) {
        const QuantizedGraph open = quantize(perceptron(20, 16, 4, 2), data, two_bits());
        for (std::size_t i = 0; i < 2; ++i) {
          EXPECT_GT(result.layers[i].sqnr_db, open.layers[i].sqnr_db - 3);
        }
      }
    }
  }
}

TEST(BatchAxis, OfStepsFirstLayersCalibratesSampleBySample) {
  const data::Dataset data = dataset({40, 5, 6});
  const QuantizedGraph first = quantize(recurrent({ir::kBatch, 5, 6}, true), data, two_bits());
  const QuantizedGraph second = quantize(recurrent({5, ir::kBatch, 6}, false), data, two_bits());
  ASSERT_EQ(first.layers.size(), 2U);
  ASSERT_EQ(second.layers.size(), 2U);
  EXPECT_EQ(second.graph.value(second.graph.outputs()[0]).type.shape,
            (ir::Shape{5, ir::kBatch, 4}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(second.layers[i].sqnr_db, 3) << second.layers[i].name;
    EXPECT_EQ(second.layers[i].weight_bits, 2);
    EXPECT_EQ(second.layers[i].activation_bits, 2);
  }
  // The network fixes the extents, and only the data tells which of them is the batch.
  const QuantizedGraph fixed = quantize(recurrent({5, 4, 6}, false), data, two_bits());
  const QuantizedGraph one = quantize(recurrent({5, 1, 6}, false), data, two_bits());
  EXPECT_EQ(levels_of(one.graph), levels_of(second.graph));
  EXPECT_GT(fixed.layers[1].sqnr_db, 3);
}

TEST(BatchAxis, OfLayersBehindATransposeIsNoObstacle) {
  Random random(4);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 5, 6}));
  const auto steps = graph.add_node("turn", ir::Transpose{{1, 0, 2}}, {x});
  const auto heads = graph.add_node("heads", ir::Reshape{{5, -2, 3}}, {steps});
  graph.add_output(add_layer(graph, "layer", heads, random_tensor({4, 3}, random), random));
  const QuantizedGraph result = quantize(graph, dataset({70, 5, 6}), two_bits());
  EXPECT_GT(result.layers.at(0).sqnr_db, 3);
}

TEST(Feed, FindsTheAxisOfTheBatchInTheSamples) {
  const auto feed = [](const ir::Shape& input, const std::vector<std::size_t>& samples) {
    ir::Graph graph;
    graph.add_output(graph.add_input("x", float_type(input)));
    const data::Dataset data = dataset(samples);
    const Feed found = make_feed(data, graph);
    return std::pair(found.batch_axes.at(0), found.fixed_batch);
  };
  using Found = std::pair<std::size_t, std::optional<std::size_t>>;
  EXPECT_EQ(feed({ir::kBatch, 5, 6}, {9, 5, 6}), (Found{0, std::nullopt}));
  EXPECT_EQ(feed({5, ir::kBatch, 6}, {9, 5, 6}), (Found{1, std::nullopt}));
  EXPECT_EQ(feed({4, 5, 6}, {9, 5, 6}), (Found{0, 4}));
  EXPECT_EQ(feed({5, 4, 6}, {9, 5, 6}), (Found{1, 4}));
  EXPECT_EQ(feed({5, 4, 6}, {9, 5, 4, 6}), (Found{0, 1}));  // a sample is a whole run
  EXPECT_EQ(feed({5, 1, 6}, {9, 5, 6}), (Found{1, 1}));
  ir::test::expect_error(ErrorKind::kShape, "samples of shape [7, 7] do not fit", [&] {
    feed({5, 4, 6}, {9, 7, 7});
  });
}

/// A layer with the inputs x, h and c, whose initial states are given.
ir::Graph with_states() {
  Random random(6);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 5, 16}));
  const auto h = graph.add_input("h", float_type({1, ir::kBatch, 4}));
  const auto c = graph.add_input("c", float_type({1, ir::kBatch, 4}));
  const auto state = [&](const char* name, ir::ValueId id) {
    return graph.add_node(name, ir::Reshape{{ir::kBatch, 4}}, {id});
  };
  ir::Recurrent op;
  op.kind = ir::RecurrentKind::kLstm;
  op.batch_major = true;
  const auto r = graph.add_constant("r", random_tensor({16, 4}, random, 0.4F));
  graph.add_output(graph.add_node("lstm", op, {x, r, ir::kAbsent, state("h0", h), state("c0", c)}));
  return graph;
}

TEST(Feed, StartsMissingStatesAtZero) {
  const data::Dataset data = dataset({9, 5, 16});
  const ir::Graph graph = with_states();
  const Feed feed = make_feed(data, graph);
  EXPECT_EQ(feed.batch_axes, (std::vector<std::size_t>{0, 0, 0}));
  std::vector<float> h(8, 1.0F);
  feed.fill(0, 2, 1, h);
  EXPECT_THAT(h, ::testing::Each(0.0F));
  EXPECT_EQ(quantize(graph, data, two_bits()).layers.size(), 1U);

  ir::Graph read = graph;  // not if the input is more than a state
  read.add_output(read.inputs()[1]);
  ir::test::expect_error(ErrorKind::kShape,
                         "expected samples of 3 inputs, like the network, found 1",
                         [&] { make_feed(data, read); });
}

TEST(Evaluate, ComparesWhereTheBatchIsNotTheFirstExtent) {
  const data::Dataset data = dataset({40, 5, 6});
  const ir::Graph graph = recurrent({5, ir::kBatch, 6}, false);
  const Evaluation same = evaluate(graph, data, &graph);
  EXPECT_EQ(same.samples, 40U);
  EXPECT_EQ(same.reference->agreement, 1);
  const QuantizedGraph result = quantize(graph, data, two_bits());
  EXPECT_GT(evaluate(result.graph, data, &graph).reference->sqnr_db, 3);
}

}  // namespace
}  // namespace halftone::compress
