// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/layer_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;

/// A layer as an exporter writes it.
struct Written {
  std::string op_type;
  std::string name;
  std::string weights;
  std::string scopes = "";
};

std::vector<std::string> names_of(const std::vector<Written>& layers) {
  TestModel model;
  for (const Written& layer : layers) {
    model.floats(layer.weights, {1, 1}, {1});
    NodeProto& node = model.node(layer.op_type, {"x", layer.weights}, {layer.name + "/out"});
    node.set_name(layer.name);
    if (layer.scopes.empty()) continue;
    auto& entry = *node.add_metadata_props();
    entry.set_key("pkg.torch.onnx.name_scopes");
    entry.set_value(layer.scopes);
  }
  name_layers(*model.proto().mutable_graph());
  std::vector<std::string> names;
  for (const NodeProto& node : model.proto().graph().node()) names.push_back(node.name());
  return names;
}

// As PyTorch 2.15 writes the same modules.

TEST(LayerNames, AreThoseOfModulesInFilesOfTorchScript) {
  EXPECT_THAT(names_of({{"Conv", "/features/features.0/Conv", "features.0.weight"},
                        {"Conv", "/features/features.2/features.2.0/conv1/Conv", "onnx::Conv_501"},
                        {"MatMul", "/body/layers.0/MatMul", "onnx::MatMul_506"},
                        {"LSTM", "/lstm/LSTM", "onnx::LSTM_573"},
                        {"LSTM", "/lstm/LSTM_1", "onnx::LSTM_620"},
                        {"MatMul", "/MatMul", "w"}}),
              testing::ElementsAre("features.0", "features.2.0.conv1", "body.layers.0", "lstm",
                                   "lstm_1", "w"));
}

TEST(LayerNames, AreTheSameInFilesOfTheDefaultExporter) {
  EXPECT_THAT(
      names_of({{"Conv", "node_conv2d", "features.0.weight", "['', 'features', 'features.0', 'c']"},
                {"Conv", "node_Conv_295", "features.2.0.conv1.weight",
                 "['', 'features', 'features.2', 'features.2.0', 'features.2.0.bn', 'n']"},
                {"MatMul", "node_MatMul_20", "val_19", "['', 'body', 'body.layers.0', 'linear']"},
                {"LSTM", "node_LSTM_171", "val_168", "['', 'lstm', 'lstm']"},
                {"LSTM", "node_LSTM_279", "val_278", "['', 'lstm', 'lstm']"},
                {"MatMul", "node_matmul", "w", "['', 'matmul']"}}),
      testing::ElementsAre("features.0", "features.2.0.conv1", "body.layers.0", "lstm", "lstm_1",
                           "w"));
}

TEST(LayerNames, StayWhereSomebodyChoseThem) {
  EXPECT_THAT(names_of({{"Conv", "stem/conv", "conv1.weight"},
                        {"Gemm", "dense1", "dense1.kernel"},
                        {"Relu", "/a/Relu", "a.weight"},
                        {"Conv", "", "12"}}),
              testing::ElementsAre("stem/conv", "dense1", "/a/Relu", ""));
}

TEST(LayerNames, FollowWeightsThroughTheirTransposes) {
  TestModel model;
  model.floats("fc.weight", {1, 1}, {1});
  model.node("Transpose", {"fc.weight"}, {"t"});
  model.node("MatMul", {"x", "t"}, {"y"}).set_name("/MatMul");
  name_layers(*model.proto().mutable_graph());
  EXPECT_EQ(model.proto().graph().node(1).name(), "fc");
}

}  // namespace
}  // namespace halftone::formats::onnx
