// SPDX-License-Identifier: Apache-2.0
// Networks from other tools; skipped if the development data are absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "halftone/base/file.h"
#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;

std::filesystem::path data_folder() {
  const char* set = std::getenv("HALFTONE_DATA");
  return set != nullptr ? set : std::filesystem::path(HALFTONE_SOURCE_DIR) / "../shared/data";
}

class RealFile : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder() / "models")) {
      GTEST_SKIP() << "no models in " << data_folder() << "; set HALFTONE_DATA";
    }
  }
  static ir::Graph import_model(const std::string& name) {
    return import_circle(read_file(data_folder() / "models" / name));
  }
  /// Reads a float32 .npy file, version 1, with extents that the caller knows.
  static ir::Tensor expected(const std::string& name, const ir::Shape& shape) {
    const auto bytes = read_file(data_folder() / "expected" / name);
    const std::size_t size = shape.element_count() * sizeof(float);
    std::vector<float> numbers(shape.element_count());
    std::memcpy(numbers.data(), bytes.data() + bytes.size() - size, size);
    return floats(shape, numbers);
  }
};

TEST_F(RealFile, ToycarAutoencoderIsTenFullyConnectedLayers) {
  const ir::Graph graph = import_model("toycar_autoencoder.tflite");
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{kBatch, 640}));
  std::vector<ir::Dim> widths;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const auto* layer = std::get_if<ir::FullyConnected>(&node.op);
    ASSERT_NE(layer, nullptr);
    widths.push_back(graph.value(node.output).type.shape[1]);
    const bool last = widths.size() == 10;
    EXPECT_EQ(layer->activation.kind,
              last ? ir::ActivationKind::kIdentity : ir::ActivationKind::kRelu);
  }
  EXPECT_EQ(widths, (std::vector<ir::Dim>{128, 128, 128, 128, 8, 128, 128, 128, 128, 640}));
}

TEST_F(RealFile, ToycarAutoencoderComputesTheSameAfterARoundTrip) {
  const ir::Graph graph = import_model("toycar_autoencoder.tflite");
  expect_same_function(round_trip(graph, CircleFlavor::kCircle), graph);
}

TEST_F(RealFile, ToycarInt8IsFloatLayersBetweenConversions) {
  const ir::Graph graph = import_model("toycar_autoencoder_int8.tflite");
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.to_string(), "int8[N, 640]");
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "int8[N, 640]");
  std::size_t layers = 0;
  std::size_t quantizes = 0;
  std::size_t dequantizes = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    layers += std::holds_alternative<ir::FullyConnected>(graph.node(id).op);
    quantizes += std::holds_alternative<ir::QuantizeLinear>(graph.node(id).op);
    dequantizes += std::holds_alternative<ir::DequantizeLinear>(graph.node(id).op);
  }
  EXPECT_EQ(layers, 10U);
  EXPECT_EQ(quantizes, 10U);
  EXPECT_EQ(dequantizes, 30U);  // input, weights and bias of every layer
  expect_same_function(round_trip(graph, CircleFlavor::kTflite), graph,
                       {.batch = 1, .low = -128, .high = 127});
}

TEST_F(RealFile, ToycarInt8FollowsTheFloatNetwork) {
  const ir::Graph wide = import_model("toycar_autoencoder.tflite");
  const ir::Graph narrow = import_model("toycar_autoencoder_int8.tflite");
  Random random(4);
  std::vector<ir::Tensor> codes;
  codes.push_back(ir::test::uniform_tensor({1, 640}, random, 60, 100).cast(ir::ElementType::kInt8));
  std::vector<ir::Tensor> numbers;
  const ir::Node& input = narrow.node(narrow.consumers(narrow.inputs()[0])[0]);
  const std::array arguments = {&std::as_const(codes[0])};
  numbers.push_back(ir::evaluate_operator(input.op, arguments));
  const ir::Tensor want = std::move(run_reference(wide, numbers)[0]);
  const ir::Tensor output = std::move(run_reference(narrow, codes)[0]);
  const auto& last =
      std::get<ir::QuantizeLinear>(narrow.node(*narrow.producer(narrow.outputs()[0])).op);
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double number = static_cast<double>(last.parameters.scales[0]) *
                          (output.as<std::int8_t>()[i] - last.parameters.zero_points[0]);
    const double target = static_cast<double>(want.as<float>()[i]);
    error += (number - target) * (number - target);
    power += target * target;
  }
  EXPECT_LT(error, 0.05 * power);
}

TEST_F(RealFile, SpeechDenoiserMatchesTheOnnxNetworksOutputs) {
  const ir::Graph graph = import_model("dtln_1.tflite");
  std::vector<ir::Tensor> inputs;
  inputs.push_back(expected("dtln_1.in0.npy", {1, 1, 257}));
  inputs.push_back(expected("dtln_1.in1.npy", {1, 2, 128, 2}));
  const auto outputs = run_reference(graph, inputs);
  const std::array wanted = {expected("dtln_1.out0.npy", {1, 1, 257}),
                             expected("dtln_1.out1.npy", {1, 2, 128, 2})};
  for (std::size_t o = 0; o < 2; ++o) {
    ASSERT_EQ(outputs[o].size(), wanted[o].size());
    for (std::size_t i = 0; i < outputs[o].size(); ++i) {
      EXPECT_NEAR(outputs[o].as<float>()[i], wanted[o].as<float>()[i], 1e-5);
    }
  }
}

TEST_F(RealFile, EachOfThemIsRead) {
  const std::pair<const char*, std::map<std::string, std::size_t>> cases[] = {
      {"resnet8_cifar10.tflite", {{"Conv", 9}, {"AveragePool", 1}, {"FullyConnected", 1}}},
      {"resnet8_cifar10_int8.tflite", {{"Conv", 9}, {"AveragePool", 1}, {"FullyConnected", 1}}},
      {"kws_dscnn.tflite", {{"Conv", 9}, {"AveragePool", 1}, {"FullyConnected", 1}}},
      {"kws_dscnn_int8.tflite", {{"Conv", 9}, {"AveragePool", 1}, {"FullyConnected", 1}}},
      {"vww_mobilenet.tflite", {{"Conv", 27}, {"AveragePool", 1}, {"FullyConnected", 1}}},
      {"vww_mobilenet_int8.tflite", {{"Conv", 27}, {"AveragePool", 1}, {"FullyConnected", 1}}},
      {"mnist_lstm.tflite", {{"Recurrent", 1}, {"FullyConnected", 2}, {"Softmax", 1}}},
  };
  for (const auto& [name, wanted] : cases) {
    SCOPED_TRACE(name);
    const ir::Graph graph = import_model(name);
    EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape[0], kBatch);
    std::map<std::string, std::size_t> found;
    for (const ir::NodeId id : graph.topological_order()) {
      ++found[std::string(ir::name_of(graph.node(id).op))];
    }
    for (const auto& [op, count] : wanted) EXPECT_EQ(found[op], count) << op;
  }
}

}  // namespace
}  // namespace halftone::formats::circle
