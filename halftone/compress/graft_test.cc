// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/graft.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/verify.h"

namespace halftone::compress {
namespace {

Recipe graft_recipe(Schedule schedule) {
  Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 3;
  recipe.fit.schedule = schedule;
  return recipe;
}

/// Whether two networks give the same outputs on random samples.
void expect_equal_outputs(const ir::Graph& a, const ir::Graph& b) {
  const Evaluation evaluation = evaluate(a, random_dataset(100, 20, 1), &b);
  EXPECT_EQ(evaluation.reference->sqnr_db, std::numeric_limits<double>::infinity());
}

TEST(Graft, OfAllLayersIsTheQuantizedNetwork) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  for (const Schedule schedule : {Schedule::kLayerwise, Schedule::kIndependent}) {
    const QuantizedGraph result =
        quantize(reference, random_dataset(200, 20, 3), graft_recipe(schedule));
    const auto pairs = paired_layers(reference, result.graph);
    ASSERT_EQ(pairs.size(), 2U);
    const ir::Graph all = graft(reference, result.graph, pairs);
    ir::verify(all);
    expect_equal_outputs(all, result.graph);
    expect_equal_outputs(graft(reference, result.graph, {}), reference);
  }
}

/// A perceptron that rounds its input and its hidden values to 8-bit integers.
ir::Graph rounded_perceptron() {
  const ir::Graph floats = perceptron(20, 16, 4, 2);
  ir::Graph graph = floats;
  std::vector<ir::NodeId> layers;
  for (const ir::NodeId id : floats.topological_order()) layers.push_back(id);
  const std::vector<float> steps = {0.03F, 0.01F};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ir::AffineParameters step{{steps[i]}, {3}};
    std::vector<ir::ValueId> inputs = graph.node(layers[i]).inputs;
    const auto codes = graph.add_node("codes", ir::QuantizeLinear{step}, {inputs[0]});
    inputs[0] = graph.add_node("floats", ir::DequantizeLinear{step}, {codes});
    graph.replace_node(layers[i], graph.node(layers[i]).op, inputs);
  }
  return graph;
}

TEST(Graft, RoundsInputsTo8BitIntegersAsTheQuantizedNetworkDoes) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const ir::Graph rounded = rounded_perceptron();
  const auto pairs = paired_layers(reference, rounded);
  expect_equal_outputs(graft(reference, rounded, pairs), rounded);
  const ir::Graph first = graft(reference, rounded, {pairs.data(), 1});
  const Evaluation found = evaluate(first, random_dataset(100, 20, 1), &reference);
  EXPECT_LT(found.reference->sqnr_db, 60);
  // Values that are integers of the same step already are not rounded again.
  const auto own = paired_layers(rounded, rounded);
  const ir::Graph same = graft(rounded, rounded, own);
  EXPECT_EQ(same.topological_order().size(), rounded.topological_order().size());
  expect_equal_outputs(same, rounded);
}

TEST(Graft, OfAnIndependentLayerIsWhatQuantizingItAloneGives) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const data::Dataset data = random_dataset(200, 20, 3);
  const QuantizedGraph all = quantize(reference, data, graft_recipe(Schedule::kIndependent));
  const auto pairs = paired_layers(reference, all.graph);
  const std::vector<std::string> names = {"first", "second"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    Recipe alone = graft_recipe(Schedule::kLayerwise);
    alone.overrides.push_back({names[1 - i], {}});
    alone.overrides[0].settings.skip = true;
    const QuantizedGraph single = quantize(reference, data, alone);
    expect_equal_outputs(graft(reference, all.graph, {&pairs[i], 1}), single.graph);
    EXPECT_EQ(all.layers[i].sqnr_db, single.layers[i].sqnr_db) << names[i];
    EXPECT_EQ(all.layers[i].weight_sqnr_db, single.layers[i].weight_sqnr_db) << names[i];
  }
}

TEST(Graft, KeepsScalesThatAreComputedAtRunTime) {
  Recipe recipe = graft_recipe(Schedule::kIndependent);
  recipe.defaults.activation_bits = 8;
  recipe.defaults.activation_system = &numerics::find_system("symmetric");
  recipe.defaults.activation_scales = ActivationScales::kRow;
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  const QuantizedGraph result = quantize(reference, random_dataset(200, 20, 3), recipe);
  expect_equal_outputs(graft(reference, result.graph, paired_layers(reference, result.graph)),
                       result.graph);
}

TEST(Graft, RejectsNetworksThatDoNotMatch) {
  const ir::Graph reference = perceptron(20, 16, 4, 2);
  expect_error(ErrorKind::kShape,
               "layers do not match: expected node 'first' (FullyConnected) with weights [16, 20]",
               [&] { paired_layers(reference, perceptron(20, 15, 4, 2)); });
  ir::Graph shorter = reference;
  shorter.set_outputs({shorter.node(quantizable_layers(shorter)[0]).output});
  shorter.remove_unused_nodes();
  expect_error(ErrorKind::kShape, "expected 2 as in the reference, found 1",
               [&] { paired_layers(reference, shorter); });
}

}  // namespace
}  // namespace halftone::compress
