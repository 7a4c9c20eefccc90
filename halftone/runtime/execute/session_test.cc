// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "halftone/base/error.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using ::testing::HasSubstr;

void expect_shape_error(Session& session, const std::vector<ir::Tensor>& inputs,
                        const std::string& text) {
  expect_error(ErrorKind::kShape, text, [&] { session.run(inputs); });
}

TEST(Session, RejectsInputsThatDoNotFit) {
  Session session(make_plan(testing::make_perceptron({.inputs = 6, .hidden = 5}), {.batch = 2}));
  Random random(1);
  expect_shape_error(session, {}, "inputs of the graph: expected 1, found 0");
  expect_shape_error(session, ir::test::list(testing::random_tensor({2, 7}, random)),
                     "input 'pixels': expected float32[2, 6], found float32[2, 7]");
  expect_shape_error(session, ir::test::list(testing::random_tensor({1, 6}, random)),
                     "input 'pixels': expected float32[2, 6], found float32[1, 6]");
  expect_shape_error(session, ir::test::list(ir::Tensor(ir::ElementType::kInt8, {2, 6})),
                     "input 'pixels': expected float32[2, 6], found int8[2, 6]");
}

TEST(Session, RunsOnItsOwnBuffers) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 20, .bits = 2});
  const auto plan = make_plan(graph, {.batch = 2});
  Random random(1);
  const auto inputs = ir::test::list(testing::random_tensor({2, 30}, random));
  const auto expected = Session(plan).run(inputs);
  Session session(plan);
  std::ranges::copy(inputs[0].as<float>(), session.input_as<float>(0).begin());
  // Twice, because a run must not change its input.
  for (int i = 0; i < 2; ++i) {
    session.run();
    EXPECT_TRUE(std::ranges::equal(session.output(0).bytes, expected[0].bytes()));
  }
  EXPECT_EQ(session.output(0).type, float_type({2, 10}));
}

TEST(Session, RunsOnTheCallersMemoryWithoutACopy) {
  Session session(make_plan(testing::make_perceptron({.inputs = 6, .hidden = 5}), {.batch = 2}));
  std::vector<float> x(12, 0.5F);
  std::vector<float> y(20);
  const std::span<const std::byte> in = std::as_bytes(std::span(x));
  const std::span<std::byte> out = std::as_writable_bytes(std::span(y));
  session.run(std::span(&in, 1), std::span(&out, 1));
  EXPECT_EQ(static_cast<const void*>(session.output(0).bytes.data()), y.data());
  EXPECT_EQ(static_cast<const void*>(session.input_view(0).bytes.data()), x.data());
  session.run();
  EXPECT_NE(static_cast<const void*>(session.output(0).bytes.data()), y.data());
}

TEST(Session, RefusesMemoryThatDoesNotFit) {
  Session session(make_plan(testing::make_perceptron({.inputs = 6, .hidden = 5}), {.batch = 2}));
  std::vector<std::byte> bytes(200);
  const auto run = [&](std::size_t in_bytes, std::size_t out_first, std::size_t out_bytes) {
    const std::span<const std::byte> in = std::span(bytes).first(in_bytes);
    const std::span<std::byte> out = std::span(bytes).subspan(out_first, out_bytes);
    session.run(std::span(&in, 1), std::span(&out, 1));
  };
  run(48, 48, 80);
  expect_error(ErrorKind::kShape, "input 'pixels': expected 48 bytes, found 47",
               [&] { run(47, 48, 80); });
  expect_error(ErrorKind::kShape, "expected 80 bytes, found 81", [&] { run(48, 48, 81); });
  expect_error(ErrorKind::kUsage, "its memory overlaps that of input 'pixels'",
               [&] { run(48, 47, 80); });
  expect_error(ErrorKind::kShape, "inputs of the graph: expected 1, found 0",
               [&] { session.run({}, {}); });
}

TEST(Session, DecodesEncodedOutputs) {
  Random random(4);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 70}));
  graph.add_output(
      graph.add_node("codes", ir::Encode{testing::activation_encoding(3, true, random)}, {x}));
  graph.add_output(graph.add_constant("weights", testing::random_weights(5, 9, {2, true}, random)));
  testing::expect_reference_result(graph, {.batch = 2}, 0);
}

TEST(Session, PassesInputsConstantsAndAliasesThrough) {
  Random random(4);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 6}));
  const auto c = graph.add_constant("c", testing::random_tensor({3, 2}, random));
  graph.add_output(x);
  graph.add_output(c);
  graph.add_output(graph.add_node("reshaped", ir::Reshape{{6}}, {c}));
  graph.add_output(graph.add_node("input", ir::Reshape{{ir::kBatch, 2, 3}}, {x}));
  graph.add_output(x);
  testing::expect_reference_result(graph, {.batch = 2}, 0);
}

TEST(Session, TakesEveryElementType) {
  for (const auto element :
       {ir::ElementType::kInt8, ir::ElementType::kUint8, ir::ElementType::kInt32,
        ir::ElementType::kInt64, ir::ElementType::kBool}) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::dense_type(element, {ir::kBatch, 5}));
    graph.add_output(graph.add_node("turned", ir::Transpose{{1, 0}}, {x}));
    testing::expect_reference_result(graph, {.batch = 3}, 0);
  }
}

TEST(Session, TellsObserversEveryStepInOrder) {
  const auto plan =
      make_plan(testing::make_perceptron({.inputs = 30, .hidden = 20, .bits = 1}), {.batch = 2});
  Session session(plan);
  Random random(1);
  const auto inputs = ir::test::list(testing::random_tensor({2, 30}, random));
  const auto unobserved = session.run(inputs);
  std::vector<std::string> names;
  std::size_t second_observer = 0;
  session.add_observer([&](const StepEvent& event) {
    EXPECT_EQ(event.step, names.size());
    EXPECT_LE(event.start, event.stop);
    EXPECT_EQ(event.output.type, plan->graph().value(event.node.output).type);
    EXPECT_EQ(event.output.bytes.size(), value_bytes(event.output.type));
    names.push_back(event.node.name);
    if (event.node.name == "probabilities") {
      EXPECT_TRUE(std::ranges::equal(to_tensor(event.output).bytes(), unobserved[0].bytes()));
    }
    if (event.node.name == "dense1.encode") {
      const ir::Tensor levels = to_tensor(event.output);
      const auto& op = std::get<ir::Encode>(event.node.op);
      const ir::Tensor* operand = inputs.data();
      EXPECT_TRUE(
          std::ranges::equal(levels.bytes(), ir::evaluate_operator(op, {&operand, 1}).bytes()));
    }
  });
  session.add_observer([&](const StepEvent&) { ++second_observer; });
  EXPECT_TRUE(testing::same_bytes(session.run(inputs), unobserved));
  EXPECT_EQ(names, (std::vector<std::string>{"dense1.encode", "dense1", "dense2.encode", "dense2",
                                             "probabilities"}));
  EXPECT_EQ(second_observer, names.size());
}

TEST(Session, ShowsIntegerCodesAsTheirReadersUseThem) {
  const auto plan = make_plan(testing::make_perceptron({.bits = 3}));
  Session session(plan);
  Random random(4);
  const auto inputs = testing::random_inputs(plan->graph(), random);
  std::size_t seen = 0;
  session.add_observer([&](const StepEvent& event) {
    if (event.node.name != "dense1.encode") return;
    ++seen;
    const auto& op = std::get<ir::Encode>(event.node.op);
    const ir::Tensor* operand = inputs.data();
    const ir::Tensor exact = ir::evaluate_operator(op, {&operand, 1});
    float range = 0;
    const numerics::Basis basis = op.encoding->basis(0);
    for (const float a : basis.a()) range += 2 * std::abs(a);
    const ir::Tensor levels = to_tensor(event.output);
    for (std::size_t i = 0; i < exact.as<float>().size(); ++i) {
      EXPECT_NEAR(levels.as<float>()[i], exact.as<float>()[i], range / 480);
    }
  });
  session.run(inputs);
  EXPECT_EQ(seen, 1U);
}

TEST(Session, SeveralRunOnePlanConcurrently) {
  for (const std::optional<int> bits : {std::optional<int>(), std::optional<int>(2)}) {
    const auto plan =
        make_plan(testing::make_perceptron({.inputs = 100, .hidden = 60, .bits = bits}));
    Random random(1);
    const auto inputs = ir::test::list(testing::random_tensor({1, 100}, random));
    const auto expected = Session(plan).run(inputs);
    std::vector<int> failures(4, 0);
    std::vector<std::thread> threads;
    for (int& count : failures) {
      threads.emplace_back([&] {
        Session session(plan);
        for (int i = 0; i < 50; ++i) {
          if (!testing::same_bytes(session.run(inputs), expected)) ++count;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, std::vector<int>(4, 0));
  }
}

std::size_t count_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Session, OneThreadMeansTheCallingThreadAlone) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 512, .hidden = 512});
  // A separate thread, whose pool of oneDNN threads is empty at first.
  std::thread([&] {
    const auto started = [&](int threads) {
      const std::size_t before = count_threads();
      Session session(make_plan(graph, {.batch = 256, .threads = threads}));
      session.run();
      return count_threads() - before;
    };
    EXPECT_EQ(started(1), 0U);
    EXPECT_EQ(started(2), 1U);
  }).join();
}

}  // namespace
}  // namespace halftone::runtime
