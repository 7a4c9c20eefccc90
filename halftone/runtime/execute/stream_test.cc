// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/stream.h"

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

/// Restores the thread settings after each test.
class RunStream : public ::testing::Test {
 protected:
  void TearDown() override { set_num_threads(0); }
};

/// Sample i of a data set: 30 values that depend only on i.
void fill_sample(std::size_t sample, std::span<float> values) {
  Random random(sample);
  for (float& value : values) value = static_cast<float>(random.normal());
}

void fill_samples(std::size_t first, std::size_t count, std::size_t input,
                  std::span<float> values) {
  const std::size_t width = values.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    fill_sample(first + i + 1000 * input, values.subspan(i * width, width));
  }
}

std::vector<float> numbers_of(const Batch& batch) {
  const auto values = batch.outputs[0].as<float>();
  return {values.begin(), values.end()};
}

/// The first output for all samples.
std::vector<float> stream(const ir::Graph& graph, const StreamOptions& options) {
  const Stream samples(graph, options, fill_samples);
  const std::size_t width =
      graph.value(graph.outputs()[0]).type.shape.with_batch(samples.batch_size()).element_count();
  return samples
      .collect(
          1, width,
          [](const Batch& batch) { return std::vector<std::vector<float>>{numbers_of(batch)}; })
      .front();
}

/// Counts and sums whose value depends on the order of summation.
std::vector<float> summed(const ir::Graph& graph, const StreamOptions& options) {
  const Stream samples(graph, options, fill_samples);
  const auto total = samples.sum([](const Batch& batch) {
    float sum = 0;
    for (const float value : numbers_of(batch)) sum += value;
    return std::vector{spmd::Array::scalar(static_cast<float>(batch.count)),
                       spmd::Array::scalar(sum)};
  });
  return {total[0].item<float>(), total[1].item<float>()};
}

TEST_F(RunStream, GivesTheSameBitsForAnyNumberOfDevices) {
  for (const std::optional<int> bits : {std::optional<int>(), std::optional<int>(2)}) {
    const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 40, .bits = bits});
    StreamOptions options{.num_samples = 150, .batch = 16, .devices = spmd::Devices::emulate(1)};
    const std::vector<float> one = stream(graph, options);
    EXPECT_EQ(one.size(), 1500U);
    const std::vector<float> sums = summed(graph, options);
    EXPECT_EQ(sums[0], 150);
    for (const std::size_t devices : {2U, 5U, 16U}) {
      options.devices = spmd::Devices::emulate(devices);
      EXPECT_EQ(stream(graph, options), one);
      EXPECT_EQ(summed(graph, options), sums);
    }
    options.devices = {};
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(summed(graph, options), sums);
    }
  }
}

/// A graph of [N, width] whose output has the same shape, and samples of that width.
StreamPart doubling(ir::Dim width, std::size_t samples, std::size_t offset) {
  StreamPart part;
  const ir::ValueId x = part.graph.add_input("x", float_type({ir::kBatch, width}));
  part.graph.add_output(part.graph.add_node("y", ir::Binary{ir::BinaryKind::kAdd, {}}, {x, x}));
  part.num_samples = samples;
  part.fill = [offset](std::size_t first, std::size_t count, std::size_t input,
                       std::span<float> values) {
    fill_samples(first + offset, count, input, values);
  };
  return part;
}

TEST_F(RunStream, RunsPartsOfSeveralSizesOneAfterAnother) {
  for (const std::size_t devices : {std::size_t{1}, std::size_t{3}}) {
    std::vector<StreamPart> parts;
    parts.push_back(doubling(6, 7, 0));
    parts.push_back(doubling(4, 3, 7));
    const Stream samples(std::move(parts),
                         {.batch = 4, .devices = spmd::Devices::emulate(devices)});
    EXPECT_EQ(samples.num_parts(), 2U);
    EXPECT_EQ(samples.num_batches(), 3U);
    EXPECT_EQ(samples.batch_size(1), 3U);
    EXPECT_EQ(samples.run_elements(0, 0), 24U);
    EXPECT_EQ(samples.all_elements(0, 0), 42U);
    std::vector<float> expected;
    for (std::size_t i = 0; i < 10; ++i) {
      std::vector<float> sample(i < 7 ? 6 : 4);
      fill_sample(i, sample);
      for (const float x : sample) expected.push_back(x + x);
    }
    for (int again = 0; again < 2; ++again) {  // plans are made again
      const auto found = samples.collect(1, 24, [](const Batch& batch) {
        EXPECT_EQ(batch.first, batch.part * 7 + batch.run * 4);
        EXPECT_EQ(batch.number, batch.part * 2 + batch.run);
        return std::vector<std::vector<float>>{numbers_of(batch)};
      });
      EXPECT_EQ(found[0], expected);
    }
  }
}

TEST_F(RunStream, EqualsASession) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 40, .bits = 2});
  const std::vector<float> outputs = stream(graph, {.num_samples = 11, .batch = 4});
  Session session(make_plan(graph));
  for (std::size_t i = 0; i < 11; ++i) {
    fill_sample(i, session.input_as<float>(0));
    session.run();
    const ir::Tensor expected = session.output_tensor(0);
    EXPECT_TRUE(std::ranges::equal(expected.as<float>(), std::span(outputs).subspan(i * 10, 10)));
  }
}

TEST_F(RunStream, SamplesInTheLastBatchAreNotDifferent) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 40});
  const std::vector<float> whole = stream(graph, {.num_samples = 64, .batch = 32});
  const std::vector<float> cut = stream(graph, {.num_samples = 37, .batch = 32});
  ASSERT_EQ(cut.size(), 370U);
  EXPECT_TRUE(std::ranges::equal(cut, std::span(whole).first(370)));
}

TEST_F(RunStream, UsesTheFixedBatchOfAGraph) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({4, 30}));
  const auto y = graph.add_input("y", float_type({4, 30}));
  graph.add_output(graph.add_node("sum", ir::Binary{}, {x, y}));
  EXPECT_EQ(Stream(graph, {.num_samples = 10, .batch = 64}, fill_samples).batch_size(), 4U);
  const std::vector<float> outputs = stream(graph, {.num_samples = 10, .batch = 64});
  std::vector<float> a(30);
  std::vector<float> b(30);
  fill_sample(9, a);
  fill_sample(1009, b);
  ASSERT_EQ(outputs.size(), 300U);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(outputs[270 + i], a[i] + b[i]);
}

TEST_F(RunStream, HoldsAtMostABatchPerDevice) {
  std::atomic<int> in_flight = 0;
  std::atomic<int> max_seen = 0;
  const Stream samples(testing::make_perceptron({.inputs = 30, .hidden = 4}),
                       {.num_samples = 400, .batch = 4, .devices = spmd::Devices::emulate(3)},
                       [&](std::size_t, std::size_t, std::size_t, std::span<float> values) {
                         const int now = ++in_flight;
                         int seen = max_seen;
                         while (seen < now && !max_seen.compare_exchange_weak(seen, now)) {
                         }
                         std::ranges::fill(values, 1.0F);
                       });
  samples.sum([&](const Batch&) {
    --in_flight;
    return spmd::Array::scalar(1.0F);
  });
  EXPECT_EQ(in_flight, 0);
  EXPECT_GE(max_seen, 1);
  EXPECT_LE(max_seen, 3);
}

TEST_F(RunStream, PassesOnTheErrorOfTheFirstBatchThatFails) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 30, .hidden = 4});
  for (const std::size_t devices : {1U, 4U}) {
    for (const bool in_fill : {true, false}) {
      const auto maybe_throw = [](bool here, std::size_t first) {
        if (here && first >= 12) fail(ErrorKind::kIo, "sample " + std::to_string(first));
      };
      // Batch 3 of 20 is the first device's.
      const std::string where = devices == 1 ? "" : "on device 1 of 4: ";
      expect_error(ErrorKind::kIo, where + "sample 12", [&] {
        const Stream samples(
            graph, {.num_samples = 80, .batch = 4, .devices = spmd::Devices::emulate(devices)},
            [&](std::size_t first, std::size_t, std::size_t, std::span<float>) {
              maybe_throw(in_fill, first);
            });
        samples.sum([&](const Batch& batch) {
          maybe_throw(!in_fill, batch.first);
          return spmd::Array::scalar(1.0F);
        });
      });
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

/// Passes these values to an integer input, in order, and returns the output.
std::vector<std::int64_t> stream_integers(ir::ElementType element,
                                          const std::vector<float>& numbers) {
  ir::Graph graph;
  const auto tokens = graph.add_input("tokens", ir::dense_type(element, {ir::kBatch, 2}));
  graph.add_output(graph.add_node("y", ir::Cast{ir::ElementType::kInt64}, {tokens}));
  std::vector<std::int64_t> found;
  const Stream samples(
      graph, {.num_samples = numbers.size() / 2, .batch = 2, .devices = spmd::Devices::emulate(1)},
      [&](std::size_t first, std::size_t, std::size_t, std::span<float> values) {
        std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(2 * first), values.size(),
                    values.begin());
      });
  samples.sum([&](const Batch& batch) {
    const auto values = batch.outputs[0].as<std::int64_t>();
    found.insert(found.end(), values.begin(), values.end());
    return spmd::Array::scalar(1.0F);
  });
  return found;
}

TEST_F(RunStream, ConvertsValuesForIntegerInputs) {
  using Elements = std::vector<std::int64_t>;
  const std::vector<float> numbers = {3, -2, 100, 0, 7, 1};
  const Elements whole(numbers.begin(), numbers.end());
  for (const auto element :
       {ir::ElementType::kInt64, ir::ElementType::kInt32, ir::ElementType::kInt8}) {
    EXPECT_EQ(stream_integers(element, numbers), whole);
  }
  EXPECT_EQ(stream_integers(ir::ElementType::kBool, {0, 1, 1, 0}), (Elements{0, 1, 1, 0}));
  const auto refused = [](ir::ElementType element, float number, const std::string& text) {
    expect_error(ErrorKind::kFormat, "input 'tokens': expected values of " + text, [&] {
      stream_integers(element, {1, number});
    });
  };
  refused(ir::ElementType::kInt64, 0.5F, "int64 below 2^24, found 0.5");
  refused(ir::ElementType::kInt64, 16777216.0F, "int64 below 2^24, found 1.67772e+07");
  refused(ir::ElementType::kUint8, -1, "uint8 below 2^24, found -1");
  refused(ir::ElementType::kBool, 2, "bool below 2^24, found 2");
}

TEST_F(RunStream, RunsSamplesOneByOneIfTheBatchLeadsNoOutput) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({3, ir::kBatch, 10}));
  graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kAbs, 0, 0}}, {x}));
  EXPECT_EQ(Stream(graph, {.num_samples = 5}, fill_samples).batch_size(), 1U);
  const std::vector<float> outputs = stream(graph, {.num_samples = 5});
  ASSERT_EQ(outputs.size(), 150U);
  std::vector<float> sample(30);
  fill_sample(4, sample);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(outputs[120 + i], std::abs(sample[i]));
}

TEST_F(RunStream, LaysSamplesAlongTheBatchAxisOfAnInput) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({3, ir::kBatch, 10}));
  graph.add_output(graph.add_node("y", ir::Transpose{{1, 0, 2}}, {x}));
  ir::Graph fixed;
  const auto z = fixed.add_input("x", float_type({3, 4, 10}));
  fixed.add_output(fixed.add_node("y", ir::Transpose{{1, 0, 2}}, {z}));
  const std::vector<float> open = stream(graph, {.num_samples = 7, .batch = 4});
  ASSERT_EQ(open.size(), 210U);
  for (std::size_t s = 0; s < 7; ++s) {
    std::vector<float> sample(30);
    fill_sample(s, sample);
    EXPECT_TRUE(std::ranges::equal(sample, std::span(open).subspan(30 * s, 30))) << s;
  }
  const StreamOptions options{.num_samples = 7, .fixed_batch = 4, .batch_axes = {1}};
  EXPECT_EQ(stream(fixed, options), open);
}

TEST_F(RunStream, FillsTheLastOfWholeRunsFromTheBeginning) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({4, 30}));
  graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kAbs, 0, 0}}, {x}));
  const std::vector<float> outputs = stream(graph, {.num_samples = 3, .whole_runs = true});
  ASSERT_EQ(outputs.size(), 120U);
  EXPECT_TRUE(std::ranges::equal(std::span(outputs).first(30), std::span(outputs).last(30)));
}

TEST_F(RunStream, RejectsValuesWithoutBatchAxis) {
  const StreamOptions options{.num_samples = 10, .batch = 4};
  expect_refused(testing::make_perceptron({.inputs = 30, .hidden = 4}),
                 {.num_samples = 10, .batch = 0}, ErrorKind::kUsage, "batch: expected at least 1");
  expect_refused(testing::make_perceptron({.inputs = 30, .hidden = 4}), {.num_samples = 0},
                 ErrorKind::kFormat, "there are no samples");
  ir::Graph turned;
  const auto x = turned.add_input("x", float_type({4, 5}));
  turned.add_output(turned.add_node("turn", ir::Transpose{{1, 0}}, {x}));
  expect_refused(turned, options, ErrorKind::kUnsupported,
                 "output 'turn': expected the batch (4) as first extent, found float32[5, 4]");
  ir::Graph square;
  square.add_output(square.add_input("x", float_type({ir::kBatch, ir::kBatch})));
  expect_refused(square, options, ErrorKind::kUnsupported,
                 "input 'x': expected one batch axis, found float32[N, N]");
  ir::Graph fixed;
  const auto a = fixed.add_input("a", float_type({4, 5}));
  const auto b = fixed.add_input("b", float_type({5}));
  fixed.add_output(fixed.add_node("sum", ir::Binary{}, {a, b}));
  expect_refused(fixed, options, ErrorKind::kUnsupported,
                 "input 'b': expected the batch (4) as first extent, found float32[5]");
}

}  // namespace
}  // namespace halftone::runtime
