// SPDX-License-Identifier: Apache-2.0
// Networks whose extents are open: numbers from inputs and samples, sessions, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/api/evaluate.h"
#include "halftone/api/open_form.h"
#include "halftone/api/quantize.h"
#include "halftone/api/run.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/api/sized_sessions.h"
#include "halftone/api/testing.h"
#include "halftone/base/testing.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/text.h"

namespace halftone {
namespace {

using ir::Dim;
using ir::kBatch;
using test::normal_samples;

Dim symbol(const char* name) { return ir::dim_of(ir::Extent::symbol(name)); }

/// Images [N, H, W, 2]: a layer with a stride, its mean over the width, and all rows of that as
/// one.
Network network(Dim rows, Dim cols, Dim batch = kBatch) {
  ir::Graph graph;
  Random random(5);
  const auto x = graph.add_input("x", ir::test::float_type({batch, rows, cols, 2}));
  const auto w = graph.add_constant("w", ir::test::uniform_tensor({8, 3, 3, 2}, random, -1, 1));
  ir::Window window = ir::plain_window(2);
  window.strides = {2, 2};
  window.pads_before = window.pads_after = {1, 1};
  const auto y = graph.add_node("layer", ir::Conv{window, 1, {}}, {x, w});
  const auto z = graph.add_node("mean", ir::Reduce{ir::ReduceKind::kMean, {2}, false}, {y});
  const ir::Extent flat = ir::extent_of(graph.value(z).type.shape[1]) * 8;
  graph.add_output(graph.add_node("rows", ir::Reshape{{batch, ir::dim_of(flat)}}, {z}));
  return Network(std::move(graph), "images");
}

Network open_network() { return network(symbol("H"), symbol("W")); }

ir::Tensor image(Dim samples, Dim rows, Dim cols) {
  Random random(static_cast<std::uint64_t>(rows));
  return ir::test::uniform_tensor({samples, rows, cols, 2}, random, -1, 1);
}

TEST(OpenExtents, TakeTheSizesOfInputs) {
  for (const auto& [rows, cols] : {std::pair{8, 6}, std::pair{5, 9}}) {
    const std::vector<ir::Tensor> x = [&, r = rows, c = cols] {
      std::vector<ir::Tensor> inputs;
      inputs.push_back(image(3, r, c));
      return inputs;
    }();
    const auto open = run(open_network(), x);
    const auto fixed = run(network(rows, cols), x);
    EXPECT_EQ(open[0].type(), fixed[0].type());
    EXPECT_TRUE(std::ranges::equal(open[0].bytes(), fixed[0].bytes()));
  }
  std::vector<ir::Tensor> flat;
  flat.push_back(image(1, 4, 4).reshaped({1, 32}));
  expect_error(ErrorKind::kUsage, "images: input 'x' [N, H, W, 2]: the file leaves extents open",
               [&] { (void)run(open_network(), flat); });
  expect_error(ErrorKind::kUsage, "--shape x=N,H,W,2 with numbers for H and W",
               [] { (void)prepared(open_network(), Purpose::kRun); });
}

TEST(OpenExtents, TakeTheSizesOfSamples) {
  const auto shape_with = [](std::vector<std::size_t> shape) {
    const Network found = with_samples(open_network(), normal_samples(std::move(shape)));
    return found.graph.value(found.graph.inputs()[0]).type.shape;
  };
  EXPECT_EQ(shape_with({4, 6, 5, 2}), (ir::Shape{kBatch, 6, 5, 2}));
  EXPECT_EQ(shape_with({4, 2, 6, 5}), (ir::Shape{kBatch, 6, 5, 2}));  // channels first
  expect_error(ErrorKind::kShape, "images: samples [6, 5, 7] of samples do not fit input 'x'", [&] {
    shape_with({4, 6, 5, 7});
  });
}

TEST(OpenExtents, TakeTheSizesOfSamplesBesideABatchOfFour) {
  const auto open = [] { return network(symbol("H"), symbol("W"), 4); };
  const Network found = with_samples(open(), normal_samples({8, 6, 5, 2}));
  EXPECT_EQ(found.graph.value(found.graph.inputs()[0]).type.shape, (ir::Shape{4, 6, 5, 2}));
  const Network quantized(quantize(open(), normal_samples({16, 8, 6, 2}), {}).graph);
  const Network fixed(quantize(network(8, 6, 4), normal_samples({16, 8, 6, 2}), {}).graph);
  EXPECT_TRUE(is_open(quantized));
  std::vector<ir::Tensor> x;
  x.push_back(image(4, 8, 6));
  EXPECT_TRUE(std::ranges::equal(run(quantized, x)[0].bytes(), run(fixed, x)[0].bytes()));
}

TEST(OpenExtents, StayInWhatIsQuantized) {
  compress::Recipe recipe;
  const Network fixed(quantize(network(8, 6), normal_samples({16, 8, 6, 2}), recipe).graph);
  const Network open(quantize(open_network(), normal_samples({16, 8, 6, 2}), recipe).graph);
  EXPECT_TRUE(is_open(open));
  std::vector<ir::Tensor> x;
  x.push_back(image(2, 8, 6));
  EXPECT_TRUE(std::ranges::equal(run(open, x)[0].bytes(), run(fixed, x)[0].bytes()));
  x[0] = image(2, 13, 4);
  const Network read = load(to_bytes(open, "onnx"), "read");
  EXPECT_EQ(read.graph.value(read.graph.inputs()[0]).type,
            ir::test::float_type({kBatch, symbol("H"), symbol("W"), 2}));
  EXPECT_TRUE(std::ranges::equal(run(open, x)[0].bytes(), run(read, x)[0].bytes()));
  expect_error(ErrorKind::kUnsupported, "no other open extents than the batch",
               [&] { (void)to_bytes(open, "circle"); });
}

/// A layer with a stride whose padding follows the width, behind as many repeats and zeros.
Network padded_network(Dim cols) {
  ir::Graph graph;
  Random random(5);
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 4, cols, 2}));
  const auto w = graph.add_constant("w", ir::test::uniform_tensor({8, 3, 3, 2}, random, -1, 1));
  const ir::Extent width = ir::extent_of(cols);
  const ir::Extent missing = width * -1 - (width * -1).over(4) * 4;  // to a multiple of 4
  const auto extent = [](const ir::Extent& of) { return static_cast<std::size_t>(ir::dim_of(of)); };
  const ir::Pad pad{ir::PadMode::kConstant, {0, 0, 0, 0}, {0, 0, extent(missing), 0}};
  const auto z = graph.add_node("pad", pad, {x});
  const auto more = graph.add_node("tile", ir::Tile{{1, 1, 2, 1}}, {z});
  const ir::Extent last = (width + missing) * 2 - 1;
  const ir::Extent padding = ir::Extent::greatest(0, ir::Extent(2) - last + last.over(2) * 2);
  ir::Window window = ir::plain_window(2);
  window.strides = {1, 2};
  window.pads_after[1] = ir::dim_of(padding);
  graph.add_output(graph.add_node("layer", ir::Conv{window, 1, {}}, {more, w}));
  return Network(std::move(graph), "images");
}

TEST(OpenExtents, ArePaddingOfFittedLayers) {
  const Network open = padded_network(symbol("W"));
  const auto form = open_form(open, normal_samples({4, 4, 6, 2}));
  ASSERT_TRUE(form.has_value());
  ir::Graph graph = form->filled();
  const auto reason = reopen(form, graph);
  EXPECT_FALSE(reason.has_value()) << *reason;
  const Network reopened(std::move(graph), "images");
  const Network read = load(to_bytes(reopened, "onnx"), "read");
  for (const Dim cols : {6, 8, 13}) {
    std::vector<ir::Tensor> x;
    x.push_back(ir::test::counting({2, 4, cols, 2}));
    const auto expected = run(padded_network(cols), x);
    EXPECT_TRUE(std::ranges::equal(run(reopened, x)[0].bytes(), expected[0].bytes()));
    EXPECT_TRUE(std::ranges::equal(run(read, x)[0].bytes(), expected[0].bytes()));
  }
}

TEST(OpenExtents, OfAllAxesTakeSamplesOneByOne) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({symbol("rows"), symbol("steps")}));
  graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kRelu}}, {x}));
  const Network open(std::move(graph), "steps");
  EXPECT_EQ(sizes_of(open, normal_samples({4, 7})), (ir::Sizes{{"rows", 1}, {"steps", 7}}));
}

TEST(OpenExtents, AreRefusedWhereTheyAreThoseOfSamples) {
  const std::optional<OpenForm> form = open_form(open_network(), normal_samples({4, 8, 6, 2}));
  ASSERT_TRUE(form.has_value());
  ir::Graph graph = form->filled();
  const ir::ValueId last = graph.outputs()[0];
  graph.set_outputs({graph.add_node("new", ir::Reshape{{kBatch, 8, 4}}, {last})});
  const auto reason = reopen(form, graph);
  ASSERT_TRUE(reason.has_value());
  EXPECT_THAT(*reason, testing::HasSubstr("node 'new' (Reshape) has extents that are those of the "
                                          "samples"));
  EXPECT_FALSE(open_form(network(8, 6), normal_samples({4, 8, 6, 2})).has_value());
}

TEST(SizedSessions, KeepThePlansOfSizes) {
  SizedSessions sessions(open_network(), {});
  expect_error(ErrorKind::kUsage, "expected the shapes of inputs before a run",
               [&] { (void)sessions.last(); });
  const std::vector<ir::Shape> small = {{1, 4, 4, 2}};
  const std::vector<ir::Shape> large = {{2, 7, 9, 2}};
  const runtime::Session* first = &sessions.at(small);
  EXPECT_NE(&sessions.at(large), first);
  EXPECT_EQ(&sessions.at(small), first);
  EXPECT_EQ(&sessions.last(), first);
  EXPECT_EQ(sessions.count(), 2U);
  const std::vector<ir::Shape> wrong = {{1, 4, 4, 3}};
  expect_error(ErrorKind::kShape, "images: input 'x': expected [1, 4, 4, 2], found [1, 4, 4, 3]",
               [&] { sessions.at(wrong); });
  expect_error(ErrorKind::kShape, "images: expected 1 inputs, found 0", [&] { sessions.at({}); });
}

TEST(SizedSessions, ForgetSizesBeyondTheLimit) {
  SizedSessions sessions(open_network(), {}, 0);
  for (const Dim rows : {4, 5, 6}) {
    const std::vector<ir::Shape> shapes = {{1, rows, 4, 2}};
    EXPECT_EQ(sessions.at(shapes).plan().inputs().size(), 1U);
    EXPECT_EQ(sessions.count(), 1U);
  }
}

TEST(SizedSessions, TakeOtherBatchesOfAPlan) {
  SizedSessions sessions(network(4, 4), {});
  sessions.add(make_plan(network(4, 4), 2));
  EXPECT_EQ(sessions.last().plan().options().batch, 2U);
  const std::vector<ir::Shape> three = {{3, 4, 4, 2}};
  EXPECT_EQ(sessions.at(three).plan().options().batch, 3U);
  EXPECT_EQ(sessions.count(), 2U);
}

}  // namespace
}  // namespace halftone
