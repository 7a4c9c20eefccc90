// SPDX-License-Identifier: Apache-2.0
// quantize --full-integer on input that it refuses, or that is on the verge of it.
#include <limits>
#include <nlohmann/json.hpp>

#include "halftone/data/npy.h"
#include "halftone/formats/model.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;

class FullIntegerProgram : public Program {
 protected:
  /// Writes samples of one number, except for element 5 of sample 3.
  [[nodiscard]] std::string samples(float all, float one, std::size_t inputs = 784) const {
    constexpr std::size_t kCount = 16;
    std::vector<float> x(kCount * inputs, all);
    x[3 * inputs + 5] = one;
    const std::string file = path("x.npy");
    data::write_npy(file, data::make_npy(std::span<const float>(x), {kCount, inputs}));
    return file;
  }

  /// Writes a network of 4 channels: a Relu, then a Conv and a ConvTranspose if wanted.
  [[nodiscard]] std::string network(bool has_conv, bool has_transposed) const {
    ir::Graph graph;
    const auto weights = [&](const char* name, ir::Shape shape) {
      std::vector<float> numbers(shape.element_count());
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 5) - 2;
      return graph.add_constant(name, ir::Tensor::from<float>(shape, numbers));
    };
    ir::ValueId y =
        graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 784}));
    y = graph.add_node("image", ir::Reshape{{ir::kBatch, 14, 14, 4}}, {y});
    y = graph.add_node("relu", ir::Unary{{ir::ActivationKind::kRelu}}, {y});
    if (has_conv)
      y = graph.add_node("conv", ir::Conv{ir::plain_window(2), 1, {}},
                         {y, weights("w", {4, 1, 1, 4})});
    if (has_transposed) {
      y = graph.add_node("deconv", ir::ConvTranspose{ir::plain_window(2), {0, 0}},
                         {y, weights("v", {4, 2, 2, 4})});
    }
    graph.add_output(y);
    formats::save_model(graph, path("m.onnx"));
    return path("m.onnx");
  }

  void expect_refused(const std::string& model, const std::string& options, int code,
                      const std::string& message) const {
    for (const char* name : {"q.onnx", "q.tflite", "q.circle"}) {
      expect_failure("quantize " + model + " -o " + path(name) + " --full-integer " + options, code,
                     message);
      EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
    }
  }
};

TEST_F(FullIntegerProgram, RefusesSamplesThatAreNotFiniteOrHaveAnotherShape) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused(kModel, "--data " + samples(0, nan), 3,
                 "x.npy: sample 3: expected finite numbers, found NaN");
  expect_refused(kModel, "--data " + samples(0, std::numeric_limits<float>::infinity()), 3,
                 "x.npy: sample 3: expected finite numbers, found infinity");
  expect_refused(kModel, "--data " + samples(0, 0, 100), 4,
                 "x.npy: network input 'pixels': samples of shape [100] do not fit the expected "
                 "shape [784]");
}

TEST_F(FullIntegerProgram, RefusesOtherBits) {
  const std::string data = "--data " + samples(0, 1);
  const std::string message = "full-integer quantization has 8-bit weights in int_narrow";
  expect_refused(kModel, data + " --weight-bits 4", 2, message);
  expect_refused(kModel, data + " --activation-bits none", 2, message);
}

TEST_F(FullIntegerProgram, RefusesNetworksWithoutLayersThatHaveCodes) {
  const std::string data = "--data " + samples(0, 1);
  expect_refused(network(false, false), data, 4, "no layer to quantize: expected FullyConnected");
  const std::string model = network(false, true);
  expect_failure("quantize " + model + " -o " + path("q.onnx") + " --full-integer " + data, 4,
                 "no layer to quantize to integers: expected FullyConnected or Conv layers");
  EXPECT_FALSE(std::filesystem::exists(path("q.onnx")));
}

TEST_F(FullIntegerProgram, RefusesOtherFormats) {
  expect_failure(
      "quantize " + kModel + " -o " + path("q.pb") + " --full-integer --data " + samples(0, 1), 4,
      "q.pb: expected a name that ends in .onnx, .tflite or .circle, found '.pb'");
}

TEST_F(FullIntegerProgram, KeepsLayersWithoutCodesFloat) {
  const Outcome done = run("quantize " + network(true, true) + " -o " + path("q.onnx") +
                           " --full-integer --json --data " + samples(0, 1));
  ASSERT_EQ(done.code, 0) << done.err;
  const json layers = json::parse(done.out)["layers"];
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0]["weight_bits"], 8);
  EXPECT_EQ(layers[1]["weight_bits"], 32);
}

TEST_F(FullIntegerProgram, QuantizesWithSamplesThatAreAllZeros) {
  const std::string data = samples(0, 0);
  const auto outputs = [&](const std::string& model) {
    const Outcome done = run("run " + model + " --input " + data + " -o " + path("out"));
    EXPECT_EQ(done.code, 0) << done.err;
    return data::read_npy(path("out") + "/out0.npy").floats();
  };
  const std::vector<float> expected = outputs(kModel);
  for (const char* name : {"q.onnx", "q.tflite"}) {
    const Outcome done =
        run("quantize " + kModel + " -o " + path(name) + " --full-integer --data " + data);
    ASSERT_EQ(done.code, 0) << done.err;
    const std::vector<float> found = outputs(path(name));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1.0F / 128);
  }
}

TEST_F(FullIntegerProgram, FitsLayersOfWhichOtherProgramsStoreTheWeightsInBytes) {
  ir::Graph graph;
  const ir::ValueId x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 784}));
  std::vector<std::int8_t> codes(std::size_t{4} * 784);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
  }
  const ir::ValueId stored =
      graph.add_constant("codes", ir::Tensor::from<std::int8_t>({4, 784}, codes));
  const ir::ValueId w = graph.add_node("w", ir::DequantizeLinear{{{1.0F / 128}, {0}, 0}}, {stored});
  graph.add_output(graph.add_node("first", ir::FullyConnected{}, {x, w, ir::kAbsent}, "y"));
  formats::save_model(graph, path("m.onnx"));
  const std::string fit = "quantize " + path("m.onnx") + " --data " + samples(0.5F, 1) + " --json ";
  for (const char* options : {"--full-integer", "--weight-bits 8 --activation-bits 8"}) {
    for (const char* name : {"q.onnx", "q.circle"}) {
      const Outcome done = run(fit + options + " -o " + path(name));
      ASSERT_EQ(done.code, 0) << done.err;
      const json layers = json::parse(done.out)["layers"];
      ASSERT_EQ(layers.size(), 1) << options << name;
      EXPECT_EQ(layers[0]["activation_bits"], 8);
    }
  }
  // Halftone's own codes are no weights of another program.
  ASSERT_EQ(run(fit + "-o " + path("q.onnx")).code, 0);
  expect_failure("quantize " + path("q.onnx") + " --full-integer -o " + path("r.onnx") +
                     " --data " + path("x.npy"),
                 4, "a layer is in few bits already: 'first'; start from the float network");
}

}  // namespace
}  // namespace halftone
