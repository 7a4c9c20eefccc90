// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/stream.h"

#include "halftone/api/tensor_files.h"
#include "halftone/base/testing.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using ir::test::list;

const RunOptions kFixed{.execution = {.float_order = runtime::FloatOrder::kFixed}};

/// x [steps, 2, 5] through an LSTM of 4 to y [steps, 2, 3].
Network recurrent(Dim steps) {
  Random random(4);
  ir::Graph graph;
  const auto weight = [&](const char* name, const Shape& shape) {
    return graph.add_constant(name, ir::test::uniform_tensor(shape, random, -1, 1));
  };
  const ValueId x = graph.add_input("x", ir::test::float_type({steps, 2, 5}));
  const ValueId gates =
      graph.add_node("gates", ir::FullyConnected{}, {x, weight("gates/w", {16, 5})});
  const ValueId h = graph.add_node("lstm", ir::Recurrent{}, {gates, weight("lstm/w", {16, 4})});
  graph.add_output(graph.add_node("y", ir::FullyConnected{}, {h, weight("y/w", {3, 4})}));
  return {std::move(graph), "recurrent"};
}

/// x [1, 3] and a state [1, 3]: both outputs are their sum, of which the first is halved.
Network with_state() {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({1, 3}));
  const ValueId sum = graph.add_input("sum", ir::test::float_type({3}));
  const ValueId next =
      graph.add_node("next", ir::Reshape{{3}}, {graph.add_node("add", ir::Binary{}, {x, sum})});
  const float half = 0.5F;
  const ValueId factor = graph.add_constant("half", Tensor::from<float>({}, {&half, 1}));
  graph.add_output(graph.add_node("y", ir::Binary{ir::BinaryKind::kMul, {}},
                                  {graph.add_node("row", ir::Reshape{{1, 3}}, {next}), factor}));
  graph.add_output(next);
  return {std::move(graph), "sums"};
}

class Stream : public WithFolder {};

TEST_F(Stream, OfARecurrentNetworkIsOneLongRun) {
  Random random(2);
  const std::vector<Tensor> x = list(ir::test::random_tensor({12, 2, 5}, random));
  const std::vector<Tensor> expected = run(recurrent(12), x, kFixed);
  for (const Dim steps : {1, 3, 4, 12}) {
    EXPECT_TRUE(ir::test::same_bytes(run_stream(recurrent(steps), x, {{}, kFixed}), expected))
        << steps;
  }
}

TEST_F(Stream, FindsTheStateOfAnInputThatIsNotGiven) {
  const Tensor x = Tensor::from<float>({1, 9}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor rows = x.reshaped({3, 3});
  for (const StreamOptions& options : {StreamOptions{}, StreamOptions{{{"sum", "next"}}, {}}}) {
    const std::vector<Tensor> y = run_stream(with_state(), list(rows.clone()), options);
    ASSERT_EQ(y.size(), 1U);
    EXPECT_EQ(y[0].shape(), (Shape{3, 3}));
    EXPECT_EQ(ir::test::elements<float>(y[0]),
              (std::vector<float>{0.5F, 1, 1.5F, 2.5F, 3.5F, 4.5F, 6, 7.5F, 9}));
  }
}

TEST_F(Stream, RunsOnFiles) {
  write_tensor(path("x.npy"), Tensor::from<float>({2, 3}, std::vector<float>{2, 4, 6, 8, 10, 12}));
  save(with_state(), path("sums.onnx"));
  RunJob job{path("sums.onnx"), {path("x.npy")}, path("out")};
  job.stream.emplace();
  const std::vector<OutputFile> files = run_files(job);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(ir::test::elements<float>(read_tensor(files[0].file, ElementType::kFloat32)),
            (std::vector<float>{1, 2, 3, 5, 7, 9}));
}

TEST_F(Stream, DescribesWhatIsWrong) {
  const auto stream = [](Network network, const Shape& shape, std::vector<TiedNames> states) {
    return [network = std::move(network), shape, states = std::move(states)] {
      run_stream(network, list(Tensor(ElementType::kFloat32, shape)), {states, {}});
    };
  };
  expect_error(ErrorKind::kShape,
               "recurrent: input 'x': expected one or more parts of [5, 2, 5], found [12, 2, 5]",
               stream(recurrent(5), {12, 2, 5}, {}));
  expect_error(ErrorKind::kUsage, "sums: no output is named 'none'",
               stream(with_state(), {3, 3}, {{"sum", "none"}}));
  expect_error(ErrorKind::kUsage, "sums: no input is named 'none'",
               stream(with_state(), {3, 3}, {{"none", "next"}}));
  expect_error(ErrorKind::kFormat, "state 'sum': expected float32[3], found float32[1, 3]",
               stream(with_state(), {3, 3}, {{"sum", "y"}}));
  expect_error(ErrorKind::kUsage, "sums: expected at least one input",
               [] { run_stream(with_state(), {}); });
}

/// One second of noise in frames of 257 numbers, the states passed by hand.
TEST_F(Stream, OfANoiseSuppressorIsItsFramesOneByOne) {
  const std::string file =
      std::string(HALFTONE_SOURCE_DIR) + "/../shared/data/models/dtln_1.tflite";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const Network network = load(file);
  Random random(5);
  constexpr Dim kFrames = 20;
  const Tensor x = ir::test::uniform_tensor({kFrames, 1, 257}, random, 0, 1);
  ASSERT_EQ(network.graph.inputs().size(), 2U);
  Tensor state(ElementType::kFloat32,
               network.graph.value(network.graph.inputs()[1]).type.shape.with_batch(1));
  std::vector<float> expected;
  for (Dim frame = 0; frame < kFrames; ++frame) {
    Tensor part =
        ir::test::evaluate(ir::Slice{0, static_cast<std::size_t>(frame), 1, 1}, x.clone());
    std::vector<Tensor> outputs = run(network, list(std::move(part), std::move(state)), kFixed);
    const auto rows = outputs[0].as<float>();
    expected.insert(expected.end(), rows.begin(), rows.end());
    state = std::move(outputs[1]);
  }
  const std::vector<Tensor> found = run_stream(network, list(x.clone()), {{}, kFixed});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(ir::test::elements<float>(found[0]), expected);
}

}  // namespace
}  // namespace halftone
