// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using ::testing::HasSubstr;

/// Runs with several threads end as they began.
class RunStream : public ::testing::Test {
 protected:
  void TearDown() override { set_num_threads(0); }
};

/// Sample i of a data set: 30 numbers that depend on i alone.
void fill_sample(std::size_t sample, std::span<float> values) {
  Random random(sample);
  for (float& value : values) value = static_cast<float>(random.normal());
}

struct Record {
  std::vector<std::size_t> fill_firsts;
  std::vector<std::size_t> firsts;
  std::vector<std::size_t> counts;
  std::vector<float> outputs;
};

Record stream(const ir::Graph& graph, const StreamOptions& options) {
  Record record;
  run_stream(
      graph, options,
      [&](std::size_t first, std::size_t count, std::size_t input, std::span<float> values) {
        if (input == 0) record.fill_firsts.push_back(first);
        const std::size_t width = values.size() / count;
        for (std::size_t i = 0; i < count; ++i) {
          fill_sample(first + i + 1000 * input, values.subspan(i * width, width));
        }
      },
      [&](std::size_t first, std::size_t count, std::span<const ir::Tensor> outputs) {
        record.firsts.push_back(first);
        record.counts.push_back(count);
        const auto values = outputs[0].as<float>();
        record.outputs.insert(record.outputs.end(), values.begin(), values.end());
      });
  return record;
}

TEST_F(RunStream, CallsInOrderWithTheSameBitsForAnyNumberOfThreads) {
  for (const std::optional<int> bits : {std::optional<int>(), std::optional<int>(2)}) {
    const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 40, .bits = bits});
    set_num_threads(1);
    const Record one = stream(graph, {.num_samples = 150});
    EXPECT_EQ(one.firsts, (std::vector<std::size_t>{0, 64, 128}));
    EXPECT_EQ(one.counts, (std::vector<std::size_t>{64, 64, 22}));
    EXPECT_EQ(one.fill_firsts, one.firsts);
    EXPECT_EQ(one.outputs.size(), 1500U);
    for (const int threads : {2, 5}) {
      set_num_threads(threads);
      const Record many = stream(graph, {.num_samples = 150});
      EXPECT_EQ(many.firsts, one.firsts);
      EXPECT_EQ(many.fill_firsts, one.firsts);
      EXPECT_EQ(many.counts, one.counts);
      EXPECT_EQ(many.outputs, one.outputs);
    }
  }
}

TEST_F(RunStream, ComputesWhatASessionComputes) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 40, .bits = 2});
  const Record record = stream(graph, {.num_samples = 11, .batch = 4});
  Session session(make_plan(graph));
  for (std::size_t i = 0; i < 11; ++i) {
    fill_sample(i, session.input_as<float>(0));
    session.run();
    const ir::Tensor expected = session.output_tensor(0);
    EXPECT_TRUE(
        std::ranges::equal(expected.as<float>(), std::span(record.outputs).subspan(i * 10, 10)));
  }
}

TEST_F(RunStream, ASampleInTheLastBatchIsNoDifferent) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 40});
  const Record whole = stream(graph, {.num_samples = 64, .batch = 32});
  const Record cut = stream(graph, {.num_samples = 37, .batch = 32});
  ASSERT_EQ(cut.outputs.size(), 370U);
  EXPECT_TRUE(std::ranges::equal(cut.outputs, std::span(whole.outputs).first(370)));
}

TEST_F(RunStream, GoesByTheBatchOfAGraphThatHasOne) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({4, 30}));
  const auto y = graph.add_input("y", float_type({4, 30}));
  graph.add_output(graph.add_node("sum", ir::Binary{}, {x, y}));
  const Record record = stream(graph, {.num_samples = 10, .batch = 64});
  EXPECT_EQ(record.counts, (std::vector<std::size_t>{4, 4, 2}));
  std::vector<float> a(30);
  std::vector<float> b(30);
  fill_sample(9, a);
  fill_sample(1009, b);
  ASSERT_EQ(record.outputs.size(), 300U);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(record.outputs[270 + i], a[i] + b[i]);
}

TEST_F(RunStream, NoSamplesNoCalls) {
  const Record record =
      stream(testing::make_perceptron({.inputs = 30, .hidden = 4}), {.num_samples = 0});
  EXPECT_TRUE(record.firsts.empty());
  EXPECT_TRUE(record.fill_firsts.empty());
}

TEST_F(RunStream, HoldsAtMostABatchPerThread) {
  set_num_threads(3);
  std::atomic<int> in_flight = 0;
  int most = 0;
  run_stream(
      testing::make_perceptron({.inputs = 30, .hidden = 4}), {.num_samples = 400, .batch = 4},
      [&](std::size_t, std::size_t, std::size_t, std::span<float> values) {
        most = std::max(most, ++in_flight);
        std::ranges::fill(values, 1.0F);
      },
      [&](std::size_t, std::size_t, std::span<const ir::Tensor>) { --in_flight; });
  EXPECT_EQ(in_flight, 0);
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3);
}

TEST_F(RunStream, PassesOnTheFirstExceptionAfterAllThatCameBefore) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 4});
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    for (const bool in_fill : {true, false}) {
      std::vector<std::size_t> consumed;
      const auto maybe_throw = [](bool here, std::size_t first) {
        if (here && first >= 12) fail(ErrorKind::kIo, "sample " + std::to_string(first));
      };
      try {
        run_stream(
            graph, {.num_samples = 80, .batch = 4},
            [&](std::size_t first, std::size_t, std::size_t, std::span<float>) {
              maybe_throw(in_fill, first);
            },
            [&](std::size_t first, std::size_t, std::span<const ir::Tensor>) {
              maybe_throw(!in_fill, first);
              consumed.push_back(first);
            });
        FAIL() << "expected an error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kIo);
        EXPECT_STREQ(error.what(), "sample 12");
      }
      EXPECT_EQ(consumed, (std::vector<std::size_t>{0, 4, 8}));
    }
  }
}

TEST_F(RunStream, ReportsProgressToTheEndOnTheStartingThread) {
  set_num_threads(3);
  const auto starter = std::this_thread::get_id();
  std::vector<double> fractions;
  StreamOptions options{.num_samples = 30, .batch = 4};
  options.progress = [&](double fraction, std::string_view) {
    EXPECT_TRUE(std::this_thread::get_id() == starter);
    fractions.push_back(fraction);
  };
  stream(testing::make_perceptron({.inputs = 30, .hidden = 4}), options);
  ASSERT_FALSE(fractions.empty());
  EXPECT_TRUE(std::ranges::is_sorted(fractions));
  EXPECT_EQ(fractions.back(), 1);
}

void expect_refused(const ir::Graph& graph, const StreamOptions& options, ErrorKind kind,
                    const std::string& text) {
  expect_error(kind, text, [&] { stream(graph, options); });
}

TEST_F(RunStream, RefusesWhatItCannotCut) {
  const StreamOptions options{.num_samples = 10, .batch = 4};
  expect_refused(testing::make_perceptron({.inputs = 30, .hidden = 4}),
                 {.num_samples = 10, .batch = 0}, ErrorKind::kUsage, "batch: expected at least 1");
  ir::Graph integers;
  const auto tokens =
      integers.add_input("tokens", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch, 5}));
  integers.add_output(tokens);
  expect_refused(integers, options, ErrorKind::kUnsupported,
                 "input 'tokens': expected float32, found int64[N, 5]");
  ir::Graph turned;
  const auto x = turned.add_input("x", float_type({ir::kBatch, 5}));
  turned.add_output(turned.add_node("turn", ir::Transpose{{1, 0}}, {x}));
  expect_refused(turned, options, ErrorKind::kUnsupported,
                 "output 'turn': expected the batch (N) as first extent, found float32[5, N]");
  ir::Graph fixed;
  const auto a = fixed.add_input("a", float_type({4, 5}));
  const auto b = fixed.add_input("b", float_type({5}));
  fixed.add_output(fixed.add_node("sum", ir::Binary{}, {a, b}));
  expect_refused(fixed, options, ErrorKind::kUnsupported,
                 "input 'b': expected the batch (4) as first extent, found float32[5]");
}

}  // namespace
}  // namespace halftone::runtime
