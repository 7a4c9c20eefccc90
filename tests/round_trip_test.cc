// SPDX-License-Identifier: Apache-2.0
// Networks compute the same after conversion between formats.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/quantize.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"
#include "halftone/formats/model.h"
#include "halftone/passes/simplify.h"
#include "halftone/runtime/execute/session.h"
#include "tests/example.h"

namespace halftone {
namespace {

ir::Graph load(const std::string& path) {
  ir::Graph graph = formats::load_model(path);
  passes::simplify(graph);
  return graph;
}

data::Dataset some_digits() { return data::open_dataset(kExample, {.limit = 200}); }

/// Signal to noise of a network's output against a reference's, in decibels.
double closeness(const ir::Graph& graph, const ir::Graph& reference) {
  const data::Dataset data = some_digits();
  return compress::evaluate(graph, data, &reference).reference->sqnr_db;
}

using RoundTrip = WithFolder;

TEST_F(RoundTrip, GoesFromOnnxOverCircleAndTfliteToOnnxWithoutLoss) {
  const ir::Graph original = load(kExample + "/mnist_mlp_700.onnx");
  std::string last = kExample + "/mnist_mlp_700.onnx";
  for (const char* name : {"a.circle", "b.tflite", "c.onnx", "d.circle"}) {
    formats::save_model(load(last), path(name));
    last = path(name);
    EXPECT_GT(closeness(load(last), original), 120) << name;
  }
}

TEST_F(RoundTrip, KeepsCodesBasesAndOffsetsInEveryFormat) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 3;
  recipe.overrides.push_back({"dense2", {}});
  recipe.overrides[0].settings.group_size = 100;
  const auto quantized =
      compress::quantize(load(kExample + "/mnist_mlp_700.onnx"), some_digits(), recipe);
  for (const char* name : {"q.circle", "q.tflite", "q.onnx"}) {
    formats::save_model(quantized.graph, path(name));
    const ir::Graph loaded = load(path(name));
    EXPECT_TRUE(std::isinf(closeness(loaded, quantized.graph))) << name << " gives other numbers";
    // A second round trip changes nothing more: names that a format cannot store are lost once.
    formats::save_model(loaded, path(std::string("second_") + name));
    formats::save_model(load(path(std::string("second_") + name)),
                        path(std::string("third_") + name));
    EXPECT_TRUE(read_file(path(std::string("second_") + name)) ==
                read_file(path(std::string("third_") + name)))
        << name;
  }
}

TEST_F(RoundTrip, WritesBasesWithoutOffsetAsThePublishedOperator) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  recipe.defaults.weight_offset = false;
  recipe.defaults.activation_offset = false;
  const auto quantized =
      compress::quantize(load(kExample + "/mnist_mlp_700.onnx"), some_digits(), recipe);
  formats::save_model(quantized.graph, path("lq.circle"));
  EXPECT_GT(closeness(load(path("lq.circle")), quantized.graph), 100);
}

/// Folder of real networks and expected outputs; empty if it is absent.
std::filesystem::path shared_data() {
  const char* named = std::getenv("HALFTONE_DATA");
  std::filesystem::path folder =
      named != nullptr ? named : std::string(HALFTONE_SOURCE_DIR) + "/../shared/data";
  return std::filesystem::exists(folder / "models") ? folder : std::filesystem::path();
}

TEST(ExpectedOutputs, AreThoseOfOnnxRuntime) {
  const std::filesystem::path data = shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data (set HALFTONE_DATA to its folder)";
  const auto x = data::read_npy(data / "expected/mnist_mlp_700.in0.npy");
  const auto y = data::read_npy(data / "expected/mnist_mlp_700.out0.npy").floats();
  const auto batch = static_cast<ir::Dim>(x.shape[0]);
  runtime::Session session(runtime::make_plan(load((data / "models/mnist_mlp_700.onnx").string()),
                                              {.batch = x.shape[0]}));
  const std::vector<float> pixels = x.floats();
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::Tensor::from<float>({batch, 784}, pixels));
  const std::vector<ir::Tensor> outputs = session.run(inputs);
  ASSERT_EQ(outputs[0].size(), y.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(outputs[0].as<float>()[i], y[i], 1e-5);
}

}  // namespace
}  // namespace halftone
