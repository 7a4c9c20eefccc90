// SPDX-License-Identifier: Apache-2.0
// Networks whose extents depend on data: run, sessions, quantized, compared, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "halftone/api/evaluate.h"
#include "halftone/api/export_c.h"
#include "halftone/api/fixed_part.h"
#include "halftone/api/quantize.h"
#include "halftone/api/run.h"
#include "halftone/api/sensitivity.h"
#include "halftone/api/sized_sessions.h"
#include "halftone/api/testing.h"
#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

using ir::Dim;
using ir::ValueId;
using test::normal_samples;
using testing::HasSubstr;

Dim named_extent(const char* name) { return ir::dim_of(ir::Extent::symbol(name)); }

ir::Tensor whole_zero() { return ir::Tensor(ir::ElementType::kInt64, {}); }

/// The pixels of an image [1, H, W, 2] whose first channel, behind a layer, exceeds a threshold: as
/// rows [count, 4], and multiplied with another layer [count, 3].
Network detector(Dim rows, Dim cols, float threshold = 0.5F) {
  ir::Graph graph;
  Random random(5);
  const auto x = graph.add_input("x", ir::test::float_type({1, rows, cols, 2}));
  const auto w = graph.add_constant("w", ir::test::uniform_tensor({4, 3, 3, 2}, random, -1, 1));
  ir::Window window = ir::plain_window(2);
  window.pads_before = window.pads_after = {1, 1};
  const auto y = graph.add_node("layer", ir::Conv{window, 1, {}}, {x, w});
  const Dim pixels = ir::dim_of(ir::extent_of(rows) * ir::extent_of(cols));
  const auto z = graph.add_node("pixels", ir::Reshape{{pixels, 4}}, {y});
  const auto first = graph.add_node("first", ir::Slice{1, 0, 1, 1}, {z});
  const auto limit =
      graph.add_constant("limit", ir::Tensor::from<float>({}, std::span(&threshold, 1)));
  const auto is_chosen =
      graph.add_node("is_chosen", ir::Binary{ir::BinaryKind::kGreater, {}}, {first, limit});
  const auto all = graph.add_node("all", ir::NonZero{}, {is_chosen});
  const auto line = graph.add_node("line", ir::Slice{0, 0, 1, 1}, {all});
  const auto found = graph.add_node("found", ir::Binary{ir::BinaryKind::kGreaterOrEqual, {}},
                                    {line, graph.add_constant("zero", whole_zero())});
  const auto ones = graph.add_node("ones", ir::Cast{ir::ElementType::kInt64}, {found});
  graph.define("#0",
               graph.add_node("count", ir::Reduce{ir::ReduceKind::kSum, {0, 1}, false}, {ones}));
  const Dim count = named_extent("#0");
  const auto kept =
      graph.add_node("kept", ir::Slice{1, 0, 1, static_cast<std::size_t>(count)}, {line});
  const auto indices = graph.add_node("indices", ir::Reshape{{count}}, {kept});
  const auto chosen = graph.add_node("chosen", ir::Gather{0}, {z, indices});
  graph.add_output(chosen);
  const auto v = graph.add_constant("v", ir::test::uniform_tensor({3, 4}, random, -1, 1));
  graph.add_output(graph.add_node("behind", ir::FullyConnected{}, {chosen, v}));
  return Network(std::move(graph), "chosen");
}

Network open_detector() { return detector(named_extent("H"), named_extent("W")); }

std::vector<ir::Tensor> picture(Dim rows, Dim cols, std::uint64_t seed) {
  Random random(seed);
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::test::uniform_tensor({1, rows, cols, 2}, random, -1, 1));
  return inputs;
}

TEST(DataExtents, RunAsTheReferenceForEachCountAndSize) {
  std::set<Dim> counts;
  for (const auto& [rows, cols] : {std::pair{4, 6}, std::pair{5, 3}, std::pair{8, 8}}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto x = picture(rows, cols, seed);
      const auto found = run(open_detector(), x);
      const auto expected = ir::evaluate_graph(detector(rows, cols).graph, x);
      ASSERT_EQ(found.size(), 2U);
      for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(found[i].type(), expected[i].type());
        for (std::size_t k = 0; k < found[i].size(); ++k) {
          // Sums of 18 products of numbers up to 1, then of 4 products of these.
          EXPECT_NEAR(found[i].as<float>()[k], expected[i].as<float>()[k], 4 * 18 * 40 * 6e-8);
        }
      }
      counts.insert(found[0].shape()[0]);
    }
  }
  EXPECT_GT(counts.size(), 3U);
}

TEST(DataExtents, MayBeZero) {
  const auto found = run(detector(4, 4, 1e9F), picture(4, 4, 1));
  EXPECT_EQ(found[0].shape(), (ir::Shape{0, 4}));
  EXPECT_EQ(found[1].shape(), (ir::Shape{0, 3}));
}

TEST(DataExtents, OfSessionsAreThoseOfEachRun) {
  SizedSessions sessions(open_detector(), {});
  const auto shape_after = [&](const std::vector<ir::Tensor>& x) {
    const std::vector<ir::Shape> shapes = {x[0].shape()};
    return sessions.at(shapes).run(x)[0].shape();
  };
  const auto a = picture(4, 6, 1);
  const auto b = picture(4, 6, 2);
  const ir::Shape first = shape_after(a);
  EXPECT_NE(shape_after(b), first);
  EXPECT_EQ(shape_after(a), first);
  runtime::Session& session = sessions.last();
  EXPECT_EQ(session.output(0).type.shape, first);
  const std::vector<std::span<const std::byte>> in = {a[0].bytes()};
  std::vector<std::span<std::byte>> out(2);
  session.run(in, out);  // outputs of unknown sizes take no memory
  EXPECT_EQ(session.output_tensor(0).shape(), first);
  std::vector<std::byte> memory(64);
  out[0] = memory;
  expect_error(ErrorKind::kUsage, "output 'chosen' float32[#0, 4]: its size depends on data",
               [&] { session.run(in, out); });
}

TEST(DataExtents, OfNegativeNumbersAreAnError) {
  ir::Graph graph;
  const auto n = graph.add_input("n", ir::dense_type(ir::ElementType::kInt64, {}));
  graph.define("#0", n);
  const float one = 1;
  const auto number = graph.add_constant("one", ir::Tensor::from<float>({}, std::span(&one, 1)));
  graph.add_output(graph.add_node("list", ir::BroadcastTo{{named_extent("#0")}}, {number}));
  const auto run_with = [&](std::int64_t value) {
    std::vector<ir::Tensor> inputs;
    inputs.push_back(ir::Tensor::from<std::int64_t>({}, std::span(&value, 1)));
    return run(Network(graph, "list"), inputs)[0].shape();
  };
  EXPECT_EQ(run_with(3), ir::Shape{3});
  EXPECT_EQ(run_with(0), ir::Shape{0});
  expect_error(ErrorKind::kShape, "extent #0, which 'n' is: expected at least 0, found -2",
               [&] { run_with(-2); });
  expect_error(ErrorKind::kMemory, "bytes of memory are needed",
               [&] { run_with(std::int64_t{1} << 39); });
}

TEST(DataExtents, StayInWhatIsQuantizedBehindThemToo) {
  const auto result = quantize(open_detector(), normal_samples({16, 6, 8, 2}), {});
  ASSERT_EQ(result.layers.size(), 2U);
  EXPECT_EQ(result.layers[0].name, "layer");
  EXPECT_EQ(result.layers[1].name, "behind");
  EXPECT_EQ(result.layers[1].weight_bits, 3);
  EXPECT_EQ(result.layers[1].activation_bits, 3);
  EXPECT_GT(result.layers[1].sqnr_db, 10);
  const Network quantized(result.graph);
  EXPECT_TRUE(is_open(quantized));
  const Network read = load(to_bytes(quantized, "onnx"), "read");
  for (const auto& [rows, cols] : {std::pair{4, 6}, std::pair{7, 5}}) {
    const auto x = picture(rows, cols, 4);
    const auto a = run(quantized, x);
    const auto b = run(read, x);
    ASSERT_EQ(a[0].type(), b[0].type());
    EXPECT_TRUE(std::ranges::equal(a[1].bytes(), b[1].bytes()));
  }
}

TEST(DataExtents, ThatNoSampleReachesLeaveLayersFloat) {
  const auto result = quantize(detector(6, 8, 1e9F), normal_samples({16, 6, 8, 2}), {});
  EXPECT_THAT(result.warnings,
              testing::Contains("a layer behind node 'all' (NonZero) stays float32, since it finds "
                                "nothing in any sample: 'behind'"));
  ASSERT_EQ(result.layers.size(), 1U);
  EXPECT_EQ(result.layers[0].name, "layer");
}

/// The first output for a sample, with zeros behind it.
std::vector<float> chosen_in(const Network& network, const data::Dataset& data, std::size_t sample,
                             ir::Shape shape) {
  std::vector<ir::Tensor> inputs;
  inputs.emplace_back(ir::ElementType::kFloat32, shape);
  data.read(0, sample, 1, inputs[0].as<float>());
  const auto outputs = run(network, inputs);
  std::vector<float> all(outputs[0].as<float>().begin(), outputs[0].as<float>().end());
  all.resize(static_cast<std::size_t>(shape[1] * shape[2]) * 4);
  return all;
}

TEST(DataExtents, AreComparedInWholeRuns) {
  const Network plain = open_detector();
  const auto data = normal_samples({8, 6, 8, 2});
  const auto same = evaluate(plain, data, &plain, {});
  EXPECT_EQ(same.value, 1.0);
  const Network quantized(quantize(plain, data, {}).graph);
  const auto found = evaluate(quantized, data, &plain, {});
  ASSERT_TRUE(found.reference.has_value());
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto x = chosen_in(plain, data, i, {1, 6, 8, 2});
    const auto y = chosen_in(quantized, data, i, {1, 6, 8, 2});
    for (std::size_t k = 0; k < x.size(); ++k) {
      signal += double{x[k]} * x[k];
      noise += (double{x[k]} - y[k]) * (double{x[k]} - y[k]);
    }
  }
  // Float layers may sum in another order in batches: 18 roundings of 6e-8 each.
  EXPECT_NEAR(found.reference->sqnr_db, 10 * std::log10(signal / noise), 1e-3);
}

TEST(DataExtents, OfStagesHaveSensitivities) {
  const Network plain = open_detector();
  const auto data = normal_samples({8, 6, 8, 2});
  const auto costs = sensitivity(plain, data, {});
  ASSERT_EQ(costs.layers.size(), 2U);
  EXPECT_EQ(costs.layers[0].name, "layer");
  EXPECT_EQ(costs.layers[1].name, "behind");
  for (const auto& choice : costs.choices) {
    ASSERT_EQ(choice.layers.size(), 2U);
    EXPECT_GT(choice.layers[1].sqnr_db.value_or(0), 0) << choice.name;
    ASSERT_EQ(choice.units.size(), 2U);
    EXPECT_GT(choice.units[0].loss, 0) << choice.name;
    EXPECT_GT(choice.units[1].loss, 0) << choice.name;
  }
  const auto own = sensitivity_of(Network(quantize(plain, data, {}).graph), plain, data, {});
  ASSERT_EQ(own.layers.size(), 2U);
  EXPECT_EQ(own.choices[0].layers[1].weight_bits, 3);
  EXPECT_THAT(sensitivity(detector(6, 8, 1e9F), data, {}).units,
              testing::ElementsAre(testing::Field(&compress::SensitiveUnit::may_change, true),
                                   testing::Field(&compress::SensitiveUnit::may_change, false)));
}

TEST(DataExtents, OfOtherStagesDoNotMatch) {
  const auto data = normal_samples({8, 6, 8, 2});
  Network other = detector(6, 8);
  const auto expect_refused = [&](const char* text) {
    expect_error(ErrorKind::kShape, text,
                 [&] { (void)sensitivity_of(other, detector(6, 8), data, {}); });
  };
  other.graph.set_outputs({other.graph.outputs()[0]});
  expect_refused("layers do not match: expected 1 as in the reference, found 0");
  const ir::NodeId chosen = *other.graph.producer(other.graph.outputs()[0]);
  other.graph.set_outputs({other.graph.node(chosen).inputs[0]});
  expect_refused("layers do not match: expected 2 stages as in the reference, found 1");
}

TEST(DataExtents, InBudgetsCountAllStages) {
  const Network plain = open_detector();
  const auto data = normal_samples({8, 6, 8, 2});
  BudgetSettings settings;
  settings.format = "onnx";
  const std::vector<std::string> limits = {"loss=1e9"};
  settings.budget = budget_named(limits);
  const auto found = quantize_within(plain, data, settings);
  ASSERT_EQ(found.quantized.layers.size(), 2U);
  const auto& chosen = found.tries[found.chosen];
  EXPECT_GT(chosen.values[compress::Measure::kLoss], 0);
  EXPECT_EQ(chosen.predicted.choices.size(), 2U);
  EXPECT_TRUE(is_open(Network(found.quantized.graph)));
}

TEST(DataExtents, OfEverythingLeaveNothingToFit) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({1, 5}));
  const auto all = graph.add_node("all", ir::NonZero{}, {x});
  const auto ones = graph.add_node("ones", ir::Reduce{ir::ReduceKind::kMax, {0, 1}, false}, {all});
  graph.define("#0", ones);
  graph.add_output(graph.add_node(
      "first", ir::Slice{1, 0, 1, static_cast<std::size_t>(named_extent("#0"))}, {x}));
  expect_error(
      ErrorKind::kUnsupported,
      "node 'all' (NonZero): everything lies behind extents that depend on data, so nothing "
      "can be compared",
      [&] { (void)fixed_part(graph); });
}

TEST(DataExtents, StayInTfliteAndCircleFiles) {
  const Network network = detector(4, 6);
  const auto x = picture(4, 6, 4);
  const auto expected = run(network, x);
  for (const char* format : {"tflite", "circle"}) {
    const auto found = run(load(to_bytes(network, format), "read"), x);
    ASSERT_EQ(found[0].type(), expected[0].type());
    EXPECT_TRUE(std::ranges::equal(found[1].bytes(), expected[1].bytes()));
  }
}

TEST(DataExtents, HaveNoPlaceInC) {
  expect_error(ErrorKind::kUnsupported,
               "C cannot have extents that depend on data: node 'all' (NonZero)",
               [] { (void)sizes_as_c(detector(4, 4)); });
}

}  // namespace
}  // namespace halftone
