// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/cut.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/text.h"

namespace halftone::compress {
namespace {

using ir::ValueId;

/// y = x + layers of width n in a row, each with a ReLU: x lives to the end.
ir::Graph skipping_network(int num_layers, ir::Dim n) {
  Random random(21);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, n}));
  ValueId y = x;
  for (int i = 0; i < num_layers; ++i) {
    y = add_layer(graph, "layer" + std::to_string(i), y, random_tensor({n, n}, random, 0.4F),
                  random, ir::ActivationKind::kRelu);
  }
  graph.add_output(graph.add_node("sum", ir::Binary{}, {y, x}));
  return graph;
}

/// A layer in front of a recurrent one, and one behind it.
ir::Graph recurrent_network() {
  constexpr ir::Dim kHidden = 6;
  Random random(22);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5, 8}));
  const ValueId gates =
      add_layer(graph, "gates", x, random_tensor({4 * kHidden, 8}, random, 0.5F), random);
  ir::Recurrent lstm;
  lstm.batch_major = true;
  const ValueId r = graph.add_constant("r", random_tensor({4 * kHidden, kHidden}, random, 0.5F));
  const ValueId states = graph.add_node("lstm", lstm, {gates, r});
  graph.add_output(
      add_layer(graph, "top", states, random_tensor({3, kHidden}, random, 0.5F), random));
  return graph;
}

/// y = W a + V b: two inputs.
ir::Graph network_of_two_inputs() {
  Random random(23);
  ir::Graph graph;
  const ValueId a = graph.add_input("a", ir::test::float_type({ir::kBatch, 10}));
  const ValueId b = graph.add_input("b", ir::test::float_type({ir::kBatch, 10}));
  const ValueId first = add_layer(graph, "first", a, random_tensor({7, 10}, random), random);
  const ValueId second = add_layer(graph, "second", b, random_tensor({7, 10}, random), random);
  const ValueId sum = graph.add_node("sum", ir::Binary{}, {first, second});
  graph.add_output(add_layer(graph, "third", sum, random_tensor({4, 7}, random), random));
  return graph;
}

TEST(LiveValues, AreThoseThatLaterNodesRead) {
  const ir::Graph graph = skipping_network(3, 4);
  const LiveValues live(graph);
  const auto nodes = graph.topological_order();
  const ValueId x = graph.inputs()[0];
  const auto output = [&](std::size_t i) { return graph.node(nodes[i]).output; };
  EXPECT_EQ(live.before(nodes[0]), std::vector{x});
  EXPECT_EQ(live.before(nodes[2]), (std::vector{x, output(1)}));
  EXPECT_EQ(live.after(nodes[1]), live.before(nodes[2]));
  EXPECT_TRUE(live.after(nodes[3]).empty());
}

TEST(GraphBehind, ComputesFromTheCut) {
  const ir::Graph graph = skipping_network(3, 4);
  const auto nodes = graph.topological_order();
  Random random(24);
  const auto inputs = ir::test::list(random_tensor({5, 4}, random));
  ir::Graph tapped = graph;
  const std::vector<ValueId> values = LiveValues(graph).before(nodes[2]);
  tapped.set_outputs(values);
  Cut cut(values, 2);
  cut.store(1, ir::test::run_reference(tapped, inputs));
  const auto behind = graph_behind(cut, graph, graph.outputs());
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->graph.topological_order().size(), 2U);
  EXPECT_TRUE(cut.tensors(behind->inputs, 0).empty());
  std::vector<ir::Tensor> kept;
  for (const ir::Tensor* tensor : cut.tensors(behind->inputs, 1)) {
    kept.push_back(tensor->clone());
  }
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(behind->graph, kept),
                                   ir::test::run_reference(graph, inputs)));
}

TEST(GraphBehind, NeedsACutThatSuffices) {
  const ir::Graph graph = skipping_network(2, 4);
  const ValueId first = graph.node(graph.topological_order()[0]).output;
  EXPECT_FALSE(graph_behind(Cut({first}, 1), graph, graph.outputs()));
  EXPECT_FALSE(graph_behind(Cut(), graph, graph.outputs()));
}

Recipe two_bits(Schedule schedule, int reconstruct_steps) {
  Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  recipe.fit.schedule = schedule;
  recipe.fit.reconstruct.steps = reconstruct_steps;
  return recipe;
}

/// The text of a graph and the bits of all constants.
std::string all_bits(const ir::Graph& graph) {
  std::string text = ir::to_text(graph);
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const ir::Tensor values = to_float(*constant);
    const std::span<const std::byte> bytes = values.bytes();
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return text;
}

/// Counts the samples that are read.
class CountingSource : public data::SampleSource {
 public:
  CountingSource(std::size_t n, std::atomic<std::size_t>& count) : n_(n), count_(count) {}
  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    count_ += count;
    for (std::size_t i = 0; i < dst.size(); ++i) {
      Random random(first * n_ + i);
      dst[i] = static_cast<float>(random.normal());
    }
  }
  void read_integers(std::size_t /*first*/, std::size_t /*count*/,
                     std::span<std::int64_t> dst) const override {
    std::ranges::fill(dst, 0);
  }

 private:
  std::size_t n_;
  std::atomic<std::size_t>& count_;
};

data::Dataset counted_samples(const ir::Graph& graph, std::size_t samples,
                              std::atomic<std::size_t>& count) {
  std::vector<data::DatasetInput> inputs;
  for (const ValueId id : graph.inputs()) {
    const std::size_t n = graph.value(id).type.shape.with_batch(1).element_count();
    inputs.push_back({graph.value(id).name,
                      {{n}, data::SampleLayout::kPlain},
                      data::Scalar::kFloat32,
                      std::make_unique<CountingSource>(n, count)});
  }
  return {"counted", samples, std::move(inputs), {}, std::nullopt};
}

TEST(Cuts, ChangeNoBit) {
  constexpr std::size_t kSamples = 150;
  Recipe few_samples = two_bits(Schedule::kLayerwise, 8);
  few_samples.fit.reconstruct.samples = 12;  // fewer than a batch
  few_samples.fit.reconstruct.batch = 4;
  const std::uint64_t kSomeBatches = std::uint64_t{64} * 40 * 4 * 3;
  for (const ir::Graph& graph :
       {skipping_network(4, 10), recurrent_network(), network_of_two_inputs()}) {
    std::atomic<std::size_t> reads = 0;
    const data::Dataset data = counted_samples(graph, kSamples, reads);
    for (const Recipe& recipe : {two_bits(Schedule::kLayerwise, 0), two_bits(Schedule::kPhases, 0),
                                 two_bits(Schedule::kLayerwise, 8), few_samples}) {
      QuantizeSettings options;
      options.memory_bytes = 0;
      const std::string wanted = all_bits(quantize(graph, data, recipe, options).graph);
      for (const std::uint64_t bytes : {std::uint64_t{1} << 30, kSomeBatches}) {
        for (const std::size_t devices : {1U, 2U, 5U}) {
          options.memory_bytes = bytes;
          options.devices = spmd::Devices::emulate(devices);
          EXPECT_TRUE(all_bits(quantize(graph, data, recipe, options).graph) == wanted)
              << bytes << " bytes, " << devices << " devices";
        }
      }
    }
  }
}

/// How many samples quantizing reads.
std::size_t samples_read(int num_layers, std::uint64_t memory_bytes, const Recipe& recipe) {
  const ir::Graph graph = skipping_network(num_layers, 10);
  std::atomic<std::size_t> reads = 0;
  const data::Dataset data = counted_samples(graph, 100, reads);
  QuantizeSettings options;
  options.memory_bytes = memory_bytes;
  quantize(graph, data, recipe, options);
  return reads;
}

TEST(Cuts, MakeCostLinearInLayers) {
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;
  const Recipe recipe = two_bits(Schedule::kLayerwise, 0);
  // To look at them, for the first cut, since x lives to the end, and for the report.
  EXPECT_EQ(samples_read(3, kPlenty, recipe), 300U);
  EXPECT_EQ(samples_read(12, kPlenty, recipe), 300U);
  EXPECT_GT(samples_read(12, 0, recipe), samples_read(3, 0, recipe));
}

}  // namespace
}  // namespace halftone::compress
