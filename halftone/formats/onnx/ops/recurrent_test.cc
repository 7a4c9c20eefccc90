// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "halftone/base/file.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

namespace fs = std::filesystem;
using onnx_pb::TensorProto;

constexpr const char* kFolder = "/usr/share/libonnx-testdata/data/node";

/// The tensors PREFIX0.pb, PREFIX1.pb, ... of a case.
std::vector<ir::Tensor> tensors_in(const fs::path& folder, const std::string& prefix) {
  std::vector<ir::Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    const auto bytes = read_file(path);
    TensorProto proto;
    EXPECT_TRUE(proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    tensors.push_back(decode_tensor(proto, nullptr));
  }
}

class RecurrentCase : public testing::TestWithParam<const char*> {};

TEST_P(RecurrentCase, GivesTheExpectedOutputs) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << kFolder << " is absent (package libonnx-testdata)";
  const fs::path folder = fs::path(kFolder) / GetParam();
  const ir::Graph graph = import_onnx(read_file(folder / "model.onnx"), {});
  const fs::path data = folder / "test_data_set_0";
  ir::test::expect_near(run_reference(graph, tensors_in(data, "input_")),
                        tensors_in(data, "output_"), 1e-5F);
}

INSTANTIATE_TEST_SUITE_P(Node, RecurrentCase,
                         testing::Values("test_gru_batchwise", "test_gru_defaults",
                                         "test_gru_seq_length", "test_gru_with_initial_bias",
                                         "test_lstm_batchwise", "test_lstm_defaults",
                                         "test_lstm_with_initial_bias", "test_lstm_with_peepholes",
                                         "test_rnn_seq_length", "test_simple_rnn_batchwise",
                                         "test_simple_rnn_defaults",
                                         "test_simple_rnn_with_initial_bias"),
                         [](const auto& instance) { return std::string(instance.param); });

std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = step * static_cast<float>(i % 7) - 0.3F;
  return values;
}

/// A layer of 2 units on [3, N, 2].
struct Layer {
  std::string op_type = "LSTM";
  std::int64_t gates = 4;
  std::string direction = "forward";
  std::int64_t directions = 1;
};

TestModel model_of(const Layer& layer, const std::vector<std::string>& outputs) {
  TestModel model;
  model.input("x", {3, 2, 2});
  const auto count = static_cast<std::size_t>(layer.directions * layer.gates * 4);
  model.floats("w", {layer.directions, 2 * layer.gates, 2}, ramp(count, 0.1F));
  model.floats("r", {layer.directions, 2 * layer.gates, 2}, ramp(count, 0.15F));
  model.floats("b", {layer.directions, 4 * layer.gates}, ramp(count, 0.05F));
  auto& node = model.node(layer.op_type, {"x", "w", "r", "b"}, outputs);
  set(node, "direction", layer.direction);
  set(node, "hidden_size", std::int64_t{2});
  for (const std::string& name : outputs) {
    if (!name.empty()) model.output(name);
  }
  return model;
}

std::vector<std::string> operators_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.topological_order()) {
    names.emplace_back(ir::name_of(graph.node(id).op));
  }
  return names;
}

constexpr std::pair<const char*, std::int64_t> kLayers[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};

TEST(RecurrentLayer, ProjectsAllStepsAtOnce) {
  for (const auto& [op_type, gates] : kLayers) {
    const ir::Graph graph = model_of({op_type, gates}, {"y"}).import();
    EXPECT_THAT(operators_of(graph),
                testing::ElementsAre("FullyConnected", "Recurrent", "Reshape"));
  }
}

/// An LSTM on [N, 3, 2] that PyTorch exports: its initial states are a value, expanded to the
/// batch.
TestModel with_expanded_state(float value) {
  TestModel model;
  model.input("images", {-1, 3, 2});
  set(model.node("Transpose", {"images"}, {"x"}), "perm", std::vector<std::int64_t>{1, 0, 2});
  set(model.node("Shape", {"images"}, {"batch"}), "end", std::int64_t{1});
  model.integers("one", {1}).integers("two", {2}).integers("zero", {0}).scalar("value", value);
  set(model.node("Concat", {"two", "batch", "two"}, {"shape"}), "axis", std::int64_t{0});
  model.node("Expand", {"value", "shape"}, {"all"});
  model.node("Slice", {"all", "zero", "one", "zero"}, {"state"});
  model.floats("w", {1, 8, 2}, ramp(16, 0.1F)).floats("r", {1, 8, 2}, ramp(16, 0.15F));
  auto& node = model.node("LSTM", {"x", "w", "r", "", "", "state", "state"}, {"y"});
  set(node, "hidden_size", std::int64_t{2});
  return model.output("y");
}

TEST(RecurrentLayer, StatesOfZeroAreNoInput) {
  EXPECT_THAT(operators_of(with_expanded_state(0).import()),
              testing::ElementsAre("Transpose", "FullyConnected", "Recurrent", "Reshape"));
  EXPECT_THAT(operators_of(with_expanded_state(0.5F).import()), testing::Contains("BroadcastTo"));
}

TEST(RecurrentLayer, TakesAnOpenBatchAlongTheSecondAxis) {
  TestModel model;
  model.input("x", {3, -1, 2});
  model.node("Shape", {"x"}, {"shape"});
  model.integers("one", {1}).integers("two", {2});
  model.node("Gather", {"shape", "one"}, {"batch"});
  set(model.node("Concat", {"one", "batch", "two"}, {"states"}), "axis", std::int64_t{0});
  model.node("ConstantOfShape", {"states"}, {"zeros"});
  model.floats("w", {1, 8, 2}, ramp(16, 0.1F)).floats("r", {1, 8, 2}, ramp(16, 0.15F));
  auto& node = model.node("LSTM", {"x", "w", "r", "", "", "zeros", "zeros"}, {"y", "h", "c"});
  set(node, "hidden_size", std::int64_t{2});
  const ir::Graph graph = model.output("h").import();
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.to_string(), "float32[3, N, 2]");
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "float32[1, N, 2]");
  EXPECT_THAT(operators_of(graph), testing::Not(testing::Contains("BroadcastTo")));
  ir::test::expect_same_function(import_onnx(export_onnx(graph), {}), graph);
}

TEST(RecurrentLayer, RunsBothDirectionsSeparately) {
  for (const auto& [op_type, gates] : kLayers) {
    // Both directions use the weights of the first.
    TestModel both = model_of({op_type, gates, "bidirectional", 2}, {"y", "h"});
    for (TensorProto& proto : *both.proto().mutable_graph()->mutable_initializer()) {
      const ir::Tensor whole = decode_tensor(proto, nullptr);
      const auto half = static_cast<std::ptrdiff_t>(whole.size() / 2);
      std::vector<float> twice(whole.as<float>().begin(), whole.as<float>().begin() + half);
      twice.insert(twice.end(), twice.begin(), twice.begin() + half);
      const std::string name = proto.name();
      proto = encode_tensor(floats(whole.shape(), twice));
      proto.set_name(name);
    }
    TestModel forward = model_of({op_type, gates}, {"y", "h"});
    TestModel reverse = model_of({op_type, gates, "reverse"}, {"y", "h"});
    Random random(1);
    const auto x = list(random_tensor({3, 2, 2}, random));
    const auto found = run_reference(both.import(), x);
    const auto one = run_reference(forward.import(), x);
    const auto other = run_reference(reverse.import(), x);
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(numbers(found[0])[t * 8 + i], numbers(one[0])[t * 4 + i]);
        EXPECT_EQ(numbers(found[0])[t * 8 + 4 + i], numbers(other[0])[t * 4 + i]);
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(numbers(found[1])[i], numbers(one[0])[8 + i]);
      EXPECT_EQ(numbers(found[1])[4 + i], numbers(other[0])[i]);
    }
  }
}

TEST(RecurrentLayer, GivesTheLastStatesAtEachSequencesEnd) {
  TestModel model = model_of({}, {"y", "h", "c"});
  TensorProto lengths;
  lengths.set_data_type(TensorProto::INT32);
  lengths.add_dims(2);
  lengths.add_int32_data(1);
  lengths.add_int32_data(3);
  model.initializer("lengths", lengths);
  model.proto().mutable_graph()->mutable_node(0)->add_input("lengths");
  Random random(2);
  const auto x = list(random_tensor({3, 2, 2}, random));
  const auto found = run_reference(model.import(), x);
  const auto whole = run_reference(model_of({}, {"y", "h", "c"}).import(), x);
  EXPECT_EQ(found[1].shape(), (ir::Shape{1, 2, 2}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(numbers(found[1])[i], numbers(whole[0])[i]);
    EXPECT_EQ(numbers(found[1])[2 + i], numbers(whole[1])[2 + i]);
    EXPECT_EQ(numbers(found[2])[2 + i], numbers(whole[2])[2 + i]);
    EXPECT_EQ(numbers(found[0])[4 + i], 0);
  }
}

TEST(RecurrentLayer, ReadsActivationsWithTheirParameters) {
  TestModel model = model_of({"RNN", 1, "bidirectional", 2}, {"y"});
  auto& node = *model.proto().mutable_graph()->mutable_node(0);
  auto& names = *node.add_attribute();
  names.set_name("activations");
  names.set_type(onnx_pb::AttributeProto::STRINGS);
  names.add_strings("LeakyRelu");
  names.add_strings("HardSigmoid");
  auto& alphas = *node.add_attribute();
  alphas.set_name("activation_alpha");
  alphas.set_type(onnx_pb::AttributeProto::FLOATS);
  alphas.add_floats(0.5F);
  alphas.add_floats(0.25F);
  const ir::Graph graph = model.import();
  std::vector<ir::Activation> found;
  for (const ir::NodeId id : graph.topological_order()) {
    const auto* op = std::get_if<ir::Recurrent>(&graph.node(id).op);
    if (op != nullptr) found.push_back(op->activations[0]);
  }
  EXPECT_EQ(found, (std::vector<ir::Activation>{{ir::ActivationKind::kLeakyRelu, 0.5F, 0},
                                                {ir::ActivationKind::kHardSigmoid, 0.25F, 0.5F}}));
  names.set_strings(0, "Affine");
  ErrorKind kind{};
  EXPECT_THAT(import_failure(model.bytes(), kind), testing::HasSubstr("activation 'affine'"));
  EXPECT_EQ(kind, ErrorKind::kUnsupported);
  names.add_strings("Tanh");
  EXPECT_THAT(import_failure(model.bytes(), kind), testing::HasSubstr("expected 2, found 3"));
}

TEST(RecurrentLayer, RejectsInconsistentNodes) {
  const auto message = [](TestModel model) {
    ErrorKind kind{};
    const std::string text = import_failure(model.bytes(), kind);
    return text + (kind == ErrorKind::kShape    ? " (shape)"
                   : kind == ErrorKind::kFormat ? " (format)"
                                                : "");
  };
  EXPECT_THAT(message(model_of({"GRU", 4}, {"y"})),
              testing::HasSubstr("expected [1, 6, 2], found [1, 8, 2] (shape)"));
  EXPECT_THAT(message(model_of({"LSTM", 4, "sideways"}, {"y"})),
              testing::HasSubstr("direction: expected forward, reverse or bidirectional, "
                                 "found 'sideways' (format)"));
  EXPECT_THAT(message(model_of({"LSTM", 4, "bidirectional", 1}, {"y"})),
              testing::HasSubstr("input 2: expected three axes"));
  TestModel size = model_of({}, {"y"});
  set(*size.proto().mutable_graph()->mutable_node(0), "layout", std::int64_t{1});
  EXPECT_EQ(message(size).find("(shape)"), std::string::npos);
  TestModel hidden = model_of({}, {"y"});
  hidden.proto().mutable_graph()->mutable_node(0)->mutable_attribute(1)->set_i(3);
  EXPECT_THAT(message(hidden), testing::HasSubstr("hidden_size: expected 2"));
}

/// A recurrent layer after a projection.
ir::Graph recurrent_network(const ir::Recurrent& op, bool encoded, bool states) {
  Random random(31);
  ir::Graph graph;
  const ir::Dim hidden = 3;
  const ir::Dim gates = hidden * static_cast<ir::Dim>(ir::num_gates(op.kind));
  const ir::Shape steps = op.batch_major ? ir::Shape{2, 4, 2} : ir::Shape{4, 2, 2};
  const auto x = graph.add_input("x", ir::test::float_type(steps));
  const auto w = graph.add_constant("w", random_tensor({gates, 2}, random));
  const auto b = graph.add_constant("b", random_tensor({gates}, random));
  std::vector<ir::ValueId> inputs(ir::kPeepholes + 1, ir::kAbsent);
  inputs[ir::kGates] = graph.add_node("gates", ir::FullyConnected{}, {x, w, b});
  const ir::Tensor weights = random_tensor({gates, hidden}, random);
  if (encoded) {
    const numerics::MatrixEncoding basis = *ir::test::odd_encoding();
    const auto rows = static_cast<std::size_t>(gates);
    inputs[ir::kRecurrenceWeights] = graph.add_constant(
        "r", ir::EncodedTensor{{gates, hidden},
                               ir::test::odd_encoding(),
                               numerics::encode({weights.as<float>(), rows, 3}, basis)});
  } else {
    inputs[ir::kRecurrenceWeights] = graph.add_constant("r", weights.clone());
  }
  if (states) inputs[ir::kInitialHidden] = graph.add_input("h", ir::test::float_type({2, hidden}));
  if (op.linear_before_reset) {
    inputs[ir::kRecurrenceBias] = graph.add_constant("bn", random_tensor({hidden}, random));
  }
  if (op.kind == ir::RecurrentKind::kLstm) {
    inputs[ir::kPeepholes] = graph.add_constant("p", random_tensor({3 * hidden}, random));
  }
  graph.add_output(graph.add_node("layer", op, inputs));
  return graph;
}

TEST(RecurrentExport, KeepsTheMeaning) {
  std::vector<ir::Recurrent> all(6);
  all[0].batch_major = true;
  all[1].reverse = all[1].with_cell = true;
  all[1].cell_clip = 0.75F;
  all[2].kind = ir::RecurrentKind::kGru;
  all[2].linear_before_reset = true;
  all[3].kind = ir::RecurrentKind::kRnn;
  all[3].activations[0] = {ir::ActivationKind::kLeakyRelu, 0.25F, 0};
  all[3].clip = 1.5F;
  all[4].state_encoding = ir::test::odd_encoding();
  all[5].kind = ir::RecurrentKind::kGru;
  all[5].reverse = true;
  for (const ir::Recurrent& op : all) {
    for (const bool encoded : {false, true}) {
      for (const bool states : {false, true}) {
        SCOPED_TRACE(ir::attributes(op));
        const ir::Graph graph = recurrent_network(op, encoded, states);
        ir::test::expect_same_function(import_onnx(export_onnx(graph), {}), graph);
      }
    }
  }
}

std::vector<std::string> written_operators(const ir::Graph& graph) {
  const auto bytes = export_onnx(graph);
  onnx_pb::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  std::vector<std::string> operators;
  for (const auto& node : model.graph().node()) operators.push_back(node.op_type());
  return operators;
}

TEST(RecurrentExport, WritesOnnxsOwnOperatorWithItsProjection) {
  EXPECT_THAT(written_operators(recurrent_network({}, false, true)),
              testing::ElementsAre("Unsqueeze", "LSTM", "Squeeze", "Identity"));
}

TEST(RecurrentExport, WritesTheLastStatesAsOutputsOfOnnxsOperator) {
  using testing::Contains;
  using testing::Not;
  for (const std::vector<std::string>& outputs :
       {std::vector<std::string>{"y", "h", "c"}, {"y", "", "c"}, {"", "h"}, {"", "", "c"}}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const bool has_lengths : {false, true}) {
        SCOPED_TRACE(direction + (has_lengths ? " with lengths" : ""));
        TestModel model =
            model_of({"LSTM", 4, direction, direction == "bidirectional" ? 2 : 1}, outputs);
        if (has_lengths) {
          TensorProto lengths;
          lengths.set_data_type(TensorProto::INT32);
          lengths.add_dims(2);
          for (const int length : {2, 3}) lengths.add_int32_data(length);
          model.initializer("lengths", lengths);
          model.proto().mutable_graph()->mutable_node(0)->add_input("lengths");
        }
        const ir::Graph graph = model.import();
        const auto operators = written_operators(graph);
        EXPECT_THAT(operators, Contains("LSTM"));
        EXPECT_THAT(operators, Not(Contains("Recurrent")));
        EXPECT_TRUE(own_float_layers(graph).empty());
        ir::test::expect_same_function(import_onnx(export_onnx(graph), {}), graph);
      }
    }
  }
}

TEST(RecurrentExport, NamesLayersThatOnnxLacks) {
  ir::Recurrent op;
  op.with_cell = true;  // of all steps
  EXPECT_THAT(own_float_layers(recurrent_network(op, false, false)), testing::ElementsAre("layer"));
  EXPECT_TRUE(own_float_layers(recurrent_network({}, false, false)).empty());
}

TEST(RecurrentExport, NeedsNoClippingOfCellsThatStayBelow) {
  ir::Recurrent op;  // of four steps
  op.cell_clip = 10;
  EXPECT_THAT(written_operators(recurrent_network(op, false, false)), testing::Contains("LSTM"));
  op.cell_clip = 2;
  EXPECT_THAT(written_operators(recurrent_network(op, false, false)),
              testing::Contains("Recurrent"));
}

}  // namespace
}  // namespace halftone::formats::onnx
