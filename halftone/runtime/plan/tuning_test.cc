// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using testing::WeightFormat;

/// One layer on an input that is float32 or encoded.
struct TunedLayer {
  std::string name;
  KernelArithmetic arithmetic;
  std::optional<int> x_bits;
  WeightFormat w;
  ir::Shape x{ir::kBatch, 96};
  ir::Operator op = ir::FullyConnected{};
  ir::Shape kernel{40, 96};
};

ir::Conv same_conv() {
  ir::Conv conv;
  conv.window = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
  return conv;
}

std::vector<TunedLayer> layers() {
  const ir::Shape image{ir::kBatch, 8, 8, 16};
  const ir::Shape windows{24, 3, 3, 16};
  ir::Recurrent lstm;
  lstm.kind = ir::RecurrentKind::kLstm;
  return {
      {"bits", KernelArithmetic::kBits, 2, {2, true}},
      {"planes", KernelArithmetic::kIntegers, {}, {1, true}},
      {"levels", KernelArithmetic::kIntegers, {}, {4, true}},
      {"codes", KernelArithmetic::kIntegers, 8, {3, false}},
      {"bit_conv", KernelArithmetic::kBits, 1, {1, true}, image, same_conv(), windows},
      {"byte_conv", KernelArithmetic::kIntegers, 8, {4, true}, image, same_conv(), windows},
      {"lstm",
       KernelArithmetic::kIntegers,
       {},
       {4, true},
       {3, ir::kBatch, 4 * 32},
       lstm,
       {4 * 32, 32}},
  };
}

ir::Graph graph_of(const TunedLayer& layer) {
  Random random(5);
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(layer.x));
  if (layer.x_bits) {
    x = graph.add_node("encode",
                       ir::Encode{testing::activation_encoding(*layer.x_bits, true, random)}, {x});
  }
  const auto outputs = static_cast<std::size_t>(layer.kernel[0]);
  ir::EncodedTensor weights =
      testing::random_weights(outputs, layer.kernel.element_count() / outputs, layer.w, random);
  weights.shape = layer.kernel;
  const auto w = graph.add_constant("w", std::move(weights));
  graph.add_output(graph.add_node("layer", layer.op, {x, w}));
  return graph;
}

std::vector<ir::Tensor> run(const TunedLayer& layer, std::shared_ptr<Tuning> tuning,
                            std::optional<MeasuredMethod>* measured = nullptr) {
  const PlanSettings options{.batch = 6, .threads = 2, .execution = {.tuning = std::move(tuning)}};
  const auto plan = make_plan(graph_of(layer), options);
  EXPECT_EQ(plan->steps().back().arithmetic, layer.arithmetic) << layer.name;
  if (measured != nullptr) *measured = plan->steps().back().measured;
  Random random(9);
  return Session(plan).run(testing::random_inputs(plan->graph(), random));
}

class TuningFile : public WithFolder {
 protected:
  /// The file after a change of its last line, field by field.
  Tuning changed(const Tuning& tuning, const std::vector<std::pair<int, std::string>>& fields) {
    tuning.write(path("tuning.txt"));
    const auto bytes = read_file(path("tuning.txt"));
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    std::string header;
    std::string line;
    std::getline(lines, header);
    std::getline(lines, line);
    std::vector<std::string> old;
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, '\t');) old.push_back(part);
    EXPECT_EQ(old.size(), 5U) << line;
    for (const auto& [i, text] : fields) old.at(static_cast<std::size_t>(i)) = text;
    std::string text = header + '\n' + old[0];
    for (std::size_t i = 1; i < old.size(); ++i) text += '\t' + old[i];
    write_file(path("tuning.txt"), text + '\n');
    return Tuning::read(path("tuning.txt"));
  }
};

constexpr int kMachine = 0;
constexpr int kKernel = 2;
constexpr int kThreads = 3;
constexpr int kMicroseconds = 4;

TEST_F(TuningFile, KnowsAWayForEveryLayerAndNoWayChangesABit) {
  for (const TunedLayer& layer : layers()) {
    SCOPED_TRACE(layer.name);
    const auto expected = run(layer, nullptr);
    const auto tuning = std::make_shared<Tuning>();
    std::optional<MeasuredMethod> measured;
    EXPECT_TRUE(testing::same_bytes(run(layer, tuning, &measured), expected));
    ASSERT_TRUE(measured);
    EXPECT_GT(measured->us, 0);
    EXPECT_EQ(tuning->size(), 1U);
    std::vector<std::optional<Product>> products{measured->way.product};
    if (layer.arithmetic == KernelArithmetic::kIntegers && measured->way.product) {
      products = {Product::kNibbles, Product::kBytes};
    }
    for (const std::optional<Product> product : products) {
      const std::string kernel(product ? to_string(*product) : "");
      for (const char* threads : {"1", "2"}) {
        const auto other = std::make_shared<Tuning>(
            changed(*tuning, {{kKernel, kernel}, {kThreads, threads}, {kMicroseconds, "4321"}}));
        EXPECT_TRUE(testing::same_bytes(run(layer, other, &measured), expected));
        ASSERT_TRUE(measured);
        EXPECT_EQ(measured->us, 4321) << "measured again";
        EXPECT_EQ(measured->way.product, product);
        EXPECT_EQ(std::to_string(measured->way.threads), threads);
      }
    }
  }
}

TEST_F(TuningFile, MeasuresAgainForAnotherMachineAndForAKernelThatIsGone) {
  const TunedLayer layer = layers().front();
  Tuning tuning;
  {
    const auto first = std::make_shared<Tuning>();
    run(layer, first);
    tuning = *first;
  }
  std::optional<MeasuredMethod> measured;
  const auto elsewhere = std::make_shared<Tuning>(
      changed(tuning, {{kMachine, "another machine"}, {kMicroseconds, "4321"}}));
  run(layer, elsewhere, &measured);
  ASSERT_TRUE(measured);
  EXPECT_NE(measured->us, 4321);
  EXPECT_EQ(elsewhere->size(), 2U);

  const auto gone =
      std::make_shared<Tuning>(changed(tuning, {{kKernel, "gone"}, {kMicroseconds, "4321"}}));
  run(layer, gone, &measured);
  ASSERT_TRUE(measured);
  EXPECT_NE(measured->us, 4321);
  EXPECT_EQ(gone->size(), 1U);
}

TEST_F(TuningFile, HasNothingForALayerWithoutChoice) {
  const auto tuning = std::make_shared<Tuning>();
  std::vector<std::string> reports;
  tuning->set_progress([&](double fraction, std::string_view activity) {
    EXPECT_GE(fraction, 0);
    EXPECT_LT(fraction, 1);
    reports.emplace_back(activity);
  });
  // Our own kernels may run on one thread or more.
  const int threads = testing::float_kernel() == "onednn_f32" ? 2 : 1;
  const auto plan = make_plan(testing::make_perceptron({}),
                              {.threads = threads, .execution = {.tuning = tuning}});
  for (const PlanStep& step : plan->steps()) EXPECT_FALSE(step.measured) << step.name;
  EXPECT_EQ(tuning->size(), 0U);
  EXPECT_THAT(reports, ::testing::Contains("measuring dense1"));
}

TEST_F(TuningFile, IsReadAsItWasWritten) {
  Tuning tuning;
  tuning.record("first layer", {{Product::kNibbles, 1}, 12.5});
  tuning.record("second layer", {{std::nullopt, 2}, 0.1});
  tuning.write(path("folder/tuning.txt"));
  const Tuning read = Tuning::read(path("folder/tuning.txt"));
  EXPECT_EQ(read.size(), 2U);
  EXPECT_EQ(read.find("first layer"), (MeasuredMethod{{Product::kNibbles, 1}, 12.5}));
  EXPECT_EQ(read.find("second layer"), (MeasuredMethod{{std::nullopt, 2}, 0.1}));
  EXPECT_EQ(read.find("third layer"), std::nullopt);
  EXPECT_EQ(Tuning::read(path("missing.txt")).size(), 0U);
}

TEST_F(TuningFile, RefusesOtherFiles) {
  const std::string header = "halftone tuning 1\n";
  const auto refuse = [&](const std::string& text, const std::string& complaint) {
    write_file(path("bad.txt"), text);
    expect_error(ErrorKind::kFormat, complaint, [&] { Tuning::read(path("bad.txt")); });
  };
  refuse("", "line 1: expected 'halftone tuning 1'");
  refuse("halftone tuning 2\n", "line 1");
  refuse(header + "machine\tlayer\tkernel\t1\n", "line 2");
  refuse(header + "machine\tlayer\tkernel\t0\t1\n", "line 2");
  refuse(header + "machine\tlayer\tkernel\tone\t1\n", "line 2");
  refuse(header + "machine\tlayer\tkernel\t1\t1us\n", "line 2");
  expect_error(ErrorKind::kIo, "", [&] { Tuning::read(folder_); });
  write_file(path("file"), "");
  expect_error(ErrorKind::kIo, "cannot create", [&] { Tuning().write(path("file/tuning.txt")); });
}

TEST(DefaultTuningFile, IsInTheCacheFolder) {
  const auto file_with = [](const char* cache, const char* home) {
    ::setenv("XDG_CACHE_HOME", cache, 1);
    ::setenv("HOME", home, 1);
    return default_tuning_file().string();
  };
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  EXPECT_EQ(file_with("/cache", "/users/me"), "/cache/halftone/tuning.txt");
  EXPECT_EQ(file_with("", "/users/me"), "/users/me/.cache/halftone/tuning.txt");
  EXPECT_EQ(file_with("", ""), "");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace halftone::runtime
