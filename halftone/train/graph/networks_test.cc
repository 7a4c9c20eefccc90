// SPDX-License-Identifier: Apache-2.0
// Published networks: libtorch and the runtime compute the same outputs.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <filesystem>

#include "halftone/formats/model.h"
#include "halftone/passes/simplify.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/train/graph/testing.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

std::filesystem::path data_folder() {
  const char* set = std::getenv("HALFTONE_DATA");
  return set != nullptr ? set : std::filesystem::path(HALFTONE_SOURCE_DIR) / "../shared/data";
}

constexpr std::size_t kBatch = 2;

class TorchNetwork : public testing::Test, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder() / "models")) {
      GTEST_SKIP() << "no models in " << data_folder() << "; set HALFTONE_DATA";
    }
  }
};

/// Loads a network, dequantized to floats.
ir::Graph load(const char* name) {
  ir::Graph graph = formats::load_model(data_folder() / "models" / name);
  passes::simplify(graph, {.widen = true});
  return graph;
}

std::vector<ir::Tensor> random_inputs(const ir::Graph& graph) {
  Random random(3);
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : graph.inputs()) {
    const ir::Shape shape = graph.value(id).type.shape.with_batch(kBatch);
    inputs.push_back(ir::test::uniform_tensor(shape, random, 0, 1));
  }
  return inputs;
}

TEST_P(TorchNetwork, GivesWhatTheRuntimeGives) {
  const ir::Graph source = load(GetParam());
  const TorchGraph graph(source);
  runtime::Session session(runtime::make_plan(source, {.batch = kBatch}));
  const std::vector<ir::Tensor> inputs = random_inputs(source);
  ir::test::expect_near(forward(graph, inputs), session.run(inputs), 1e-4F);
  // libtorch computes every layer.
  for (const ir::NodeId id : source.topological_order()) {
    EXPECT_TRUE(graph.is_differentiable(id)) << ir::describe(source.node(id));
  }
}

TEST_P(TorchNetwork, HasAGradientByEveryParameter) {
  const TorchGraph graph(load(GetParam()));
  std::vector<at::Tensor> inputs;
  for (const ir::Tensor& input : random_inputs(graph.source())) inputs.push_back(to_torch(input));
  std::vector<at::Tensor> leaves;
  for (const TorchParameter& parameter : graph.parameters()) leaves.push_back(parameter.tensor);
  ASSERT_FALSE(leaves.empty());
  at::Tensor loss = at::zeros({});
  for (const at::Tensor& output : graph.forward(inputs)) loss = loss + output.square().sum();
  const auto gradients = torch::autograd::grad({loss}, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_EQ(gradients[i].sizes(), leaves[i].sizes());
    EXPECT_TRUE(gradients[i].isfinite().all().item<bool>()) << graph.parameters()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TorchNetwork,
                         testing::Values("resnet20_cifar10.onnx", "mnist_mlp_700.onnx",
                                         "mnist_cnn.onnx", "mnist_lstm.tflite", "kws_dscnn.tflite",
                                         "dtln_1.tflite", "dtln_2.onnx", "resnet8_cifar10.tflite",
                                         "toycar_autoencoder.tflite", "vww_mobilenet.tflite",
                                         "super_resolution.onnx", "ultraface_rfb_320.onnx"),
                         [](const auto& instance) {
                           return std::filesystem::path(instance.param).stem().string();
                         });

/// Networks without convolutions, which libtorch's meta device does not support.
class TorchNetworkOnDevice : public TorchNetwork {};

/// Like a GPU, the meta device rejects operators that mix tensors of two devices.
TEST_P(TorchNetworkOnDevice, StaysThere) {
  const TorchGraph graph(load(GetParam()), at::kFloat, at::kMeta);
  std::vector<at::Tensor> inputs;
  for (const ir::Tensor& input : random_inputs(graph.source())) inputs.push_back(to_torch(input));
  const std::vector<at::Tensor> outputs = graph.forward(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i].is_meta());
    const ir::Value& value = graph.source().value(graph.source().outputs()[i]);
    const ir::Shape shape = value.type.shape.with_batch(kBatch);
    EXPECT_TRUE(std::ranges::equal(outputs[i].sizes(), shape.dims()));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TorchNetworkOnDevice,
                         testing::Values("mnist_mlp_700.onnx", "mnist_lstm.tflite",
                                         "dtln_1.tflite"),
                         [](const auto& instance) {
                           return std::filesystem::path(instance.param).stem().string();
                         });

}  // namespace
}  // namespace halftone::train
