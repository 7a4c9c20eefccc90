// SPDX-License-Identifier: Apache-2.0
// Branches, functions, and inputs that the caller fixes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::AttributeProto;
using onnx_pb::FunctionProto;
using onnx_pb::GraphProto;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

void fill(NodeProto& node, const std::string& op_type, const std::vector<std::string>& inputs,
          const std::string& output) {
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

/// A branch that computes z = op(x), with x from the enclosing graph.
void set_branch(NodeProto& node, const std::string& name, const std::string& op_type) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::GRAPH);
  GraphProto& graph = *attribute.mutable_g();
  fill(*graph.add_node(), op_type, {"x"}, "z");
  graph.add_output()->set_name("z");
}

TestModel branching(const std::string& condition) {
  TestModel model;
  model.input("x", {-1, 2}).output("y");
  NodeProto& node = model.node("If", {condition}, {"y"});
  set_branch(node, "then_branch", "Neg");
  set_branch(node, "else_branch", "Abs");
  return model;
}

std::vector<float> run(const ir::Graph& graph) {
  return numbers(run_reference(graph, list(floats({1, 2}, {-3, 4})))[0]);
}

TensorProto bool_tensor(bool value) {
  TensorProto proto;
  proto.set_data_type(TensorProto::BOOL);
  proto.add_int32_data(value ? 1 : 0);
  return proto;
}

TEST(If, WithAKnownConditionIsItsBranch) {
  EXPECT_THAT(run(branching("c").initializer("c", bool_tensor(true)).import()), ElementsAre(3, -4));
  EXPECT_THAT(run(branching("c").initializer("c", bool_tensor(false)).import()), ElementsAre(3, 4));
}

/// The same with a condition that is an input.
TestModel deciding() {
  TestModel model = branching("c");
  model.input("c", {1}, TensorProto::BOOL);
  return model;
}

TEST(If, OnDataChoosesWhenItRuns) {
  const ir::Graph graph = deciding().import();
  const auto run_with = [&](std::uint8_t condition) {
    ir::Tensor flag(ir::ElementType::kBool, ir::Shape{1});
    flag.bytes()[0] = std::byte{condition};
    return numbers(run_reference(graph, list(floats({1, 2}, {-3, 4}), std::move(flag)))[0]);
  };
  EXPECT_THAT(run_with(1), ElementsAre(3, -4));
  EXPECT_THAT(run_with(0), ElementsAre(3, 4));
}

TEST(If, OnDataNeedsBranchesOfOneType) {
  TestModel model = deciding();
  NodeProto& branch = *model.proto()
                           .mutable_graph()
                           ->mutable_node(0)
                           ->mutable_attribute(0)
                           ->mutable_g()
                           ->mutable_node(0);
  branch.set_op_type("Cast");
  set(branch, "to", std::int64_t{TensorProto::INT32});
  expect_failure(model, ErrorKind::kUnsupported,
                 "output 'y' is int32[N, 2] in one branch and float32[N, 2] in the other: "
                 "expected one type");
}

TEST(If, OnDataMayHaveBranchesOfDifferentExtents) {
  TestModel model;
  model.input("x", {3}).input("c", {}, TensorProto::BOOL).output("y");
  NodeProto& node = model.node("If", {"c"}, {"y"});
  set_branch(node, "then_branch", "Concat");
  set_branch(node, "else_branch", "Abs");
  NodeProto& concat = *node.mutable_attribute(0)->mutable_g()->mutable_node(0);
  concat.add_input("x");
  set(concat, "axis", std::int64_t{0});
  const ir::Graph graph = model.import();
  const auto run_with = [&](std::uint8_t condition) {
    ir::Tensor flag(ir::ElementType::kBool, ir::Shape{});
    flag.bytes()[0] = std::byte{condition};
    return numbers(run_reference(graph, list(floats({3}, {-3, 0, 2}), std::move(flag)))[0]);
  };
  EXPECT_THAT(run_with(1), ElementsAre(-3, 0, 2, -3, 0, 2));
  EXPECT_THAT(run_with(0), ElementsAre(3, 0, 2));
}

/// x, or those elements of it that are not zero.
TestModel choosing() {
  TestModel model;
  model.input("x", {3}).input("c", {}, TensorProto::BOOL).output("y");
  NodeProto& node = model.node("If", {"c"}, {"y"});
  set_branch(node, "then_branch", "Abs");
  set_branch(node, "else_branch", "Compress");
  NodeProto& compress = *node.mutable_attribute(1)->mutable_g()->mutable_node(0);
  compress.add_input("chosen");
  NodeProto& cast = *node.mutable_attribute(1)->mutable_g()->add_node();
  fill(cast, "Cast", {"x"}, "chosen");
  set(cast, "to", std::int64_t{TensorProto::BOOL});
  node.mutable_attribute(1)->mutable_g()->mutable_node()->SwapElements(0, 1);
  return model;
}

TEST(If, HasAsManyElementsAsTheBranch) {
  const ir::Graph graph = choosing().import();
  const ir::Graph again = import_onnx(export_onnx(graph), {});
  const auto run_with = [&](std::uint8_t condition, std::vector<float> x) {
    ir::Tensor flag(ir::ElementType::kBool, ir::Shape{});
    flag.bytes()[0] = std::byte{condition};
    const auto inputs = list(floats({3}, x), std::move(flag));
    const auto found = numbers(run_reference(graph, inputs)[0]);
    EXPECT_EQ(numbers(run_reference(again, inputs)[0]), found);
    return found;
  };
  EXPECT_THAT(run_with(1, {-3, 0, 0}), ElementsAre(3, 0, 0));
  EXPECT_THAT(run_with(0, {-3, 0, 0}), ElementsAre(-3));
  EXPECT_THAT(run_with(0, {0, 4, 5}), ElementsAre(4, 5));
  EXPECT_THAT(run_with(0, {0, 0, 0}), ElementsAre());
}

TEST(If, NamesLayersOfBranchesByTheirWeights) {
  TestModel model = deciding();
  model.floats("block.fc.weight", {2, 2}, {1, 2, 3, 4});
  auto& attributes = *model.proto().mutable_graph()->mutable_node(0)->mutable_attribute();
  for (AttributeProto& attribute : attributes) {
    NodeProto& node = *attribute.mutable_g()->mutable_node(0);
    node.set_op_type("MatMul");
    node.add_input("block.fc.weight");
  }
  const ir::Graph graph = model.import();
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.topological_order()) {
    if (ir::name_of(graph.node(id).op) == "FullyConnected") names.push_back(graph.node(id).name);
  }
  EXPECT_THAT(names, ElementsAre("block.fc", "block.fc_1"));
}

TEST(If, RefusesOtherConditionsAndBranches) {
  expect_failure(branching("x"), ErrorKind::kShape,
                 "condition: expected one boolean, found float32[N, 2]");
  TensorProto two = bool_tensor(true);
  two.add_dims(2);
  two.add_int32_data(1);
  expect_failure(branching("c").initializer("c", two), ErrorKind::kShape,
                 "condition: expected one boolean, found bool[2]");
  TestModel none;
  none.input("x", {-1, 2}).initializer("c", bool_tensor(true)).output("y");
  none.node("If", {"c"}, {"y"});
  expect_failure(none, ErrorKind::kFormat, "expected two branches");
  TestModel more = branching("c").initializer("c", bool_tensor(true));
  more.proto().mutable_graph()->mutable_node(0)->add_output("second");
  expect_failure(more, ErrorKind::kFormat, "expected 2 outputs of a branch, found 1");
}

/// A function "own.Twice" with y = LeakyRelu(x + x); the slope is an attribute of the call.
TestModel calling(std::optional<float> slope) {
  TestModel model;
  model.input("x", {-1, 2}).output("y");
  NodeProto& call = model.node("Twice", {"x"}, {"y"});
  call.set_domain("own");
  if (slope) set(call, "slope", *slope);
  FunctionProto& function = *model.proto().add_functions();
  function.set_name("Twice");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  fill(*function.add_node(), "Add", {"a", "a"}, "x");
  NodeProto& leaky = *function.add_node();
  fill(leaky, "LeakyRelu", {"x"}, "b");
  AttributeProto& alpha = *leaky.add_attribute();
  alpha.set_name("alpha");
  alpha.set_ref_attr_name("slope");
  alpha.set_type(AttributeProto::FLOAT);
  return model;
}

TEST(Functions, AreInlined) {
  EXPECT_THAT(run(calling(0.5F).import()), ElementsAre(-3, 8));
  EXPECT_THAT(run(calling(std::nullopt).import()), ElementsAre(-6 * 0.01F, 8));
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  TestModel model = calling(0.5F);
  NodeProto& node = *model.proto().mutable_functions(0)->mutable_node(0);
  node.set_op_type("Twice");
  node.set_domain("own");
  node.mutable_input()->RemoveLast();
  expect_failure(model, ErrorKind::kUnsupported, "expected at most 32 levels");
}

TEST(Functions, ThatDoNotFitTheirCallsAreRefused) {
  TestModel inputs = calling(0.5F);
  inputs.proto().mutable_graph()->mutable_node(0)->add_input("x");
  expect_failure(inputs, ErrorKind::kFormat, "expected at most 1 inputs, found 2");
  TestModel output = calling(0.5F);
  output.proto().mutable_functions(0)->set_output(0, "nowhere");
  expect_failure(output, ErrorKind::kFormat, "output 'nowhere' is not defined");
  TestModel unknown = calling(0.5F);
  unknown.proto().mutable_functions(0)->mutable_node(0)->set_op_type("Fancy");
  expect_failure(unknown, ErrorKind::kUnsupported, "operators that are not supported: Fancy");
}

TestModel tiling() {
  TestModel model;
  model.input("x", {-1, 2}).input("repeats", {2}, TensorProto::INT64).output("y");
  model.node("Tile", {"x", "repeats"}, {"y"});
  return model;
}

ir::Graph with_constant(const TestModel& model, const std::string& name, const ir::Tensor& value) {
  ImportOptions options;
  options.constants.emplace(name, value.clone());
  return import_onnx(model.bytes(), {}, options);
}

TEST(Constants, FixInputsThatDecideShapes) {
  EXPECT_EQ(tiling().import().definitions().size(), 2U);
  const ir::Graph graph =
      with_constant(tiling(), "repeats", ir::test::tensor<std::int64_t>({2}, {1, 2}));
  EXPECT_EQ(graph.inputs().size(), 1U);
  EXPECT_THAT(run(graph), ElementsAre(-3, 4, -3, 4));
}

TEST(Constants, MustBeInputsOfTheirType) {
  const auto expect_refused = [](const std::string& name, const ir::Tensor& value, ErrorKind kind,
                                 const std::string& text) {
    ir::test::expect_error(kind, text, [&] { with_constant(tiling(), name, value); });
  };
  const ir::Tensor repeats = ir::test::tensor<std::int64_t>({2}, {1, 2});
  expect_refused(
      "repeat", repeats, ErrorKind::kUsage,
      "input 'repeat': the model has no such input to fix; its inputs are 'repeats', 'x'");
  expect_refused("repeats", floats({2}, {1, 2.5F}), ErrorKind::kUsage,
                 "the constant float32[2] has a value that is not exact in the type of the input");
  expect_refused("repeats", ir::test::tensor<std::int64_t>({3}, {1, 2, 3}), ErrorKind::kShape,
                 "does not fit its type");
  expect_refused("repeats", ir::test::tensor<std::int64_t>({1}, {1}), ErrorKind::kShape,
                 "does not fit its type");
}

}  // namespace
}  // namespace halftone::formats::onnx
