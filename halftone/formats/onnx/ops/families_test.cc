// SPDX-License-Identifier: Apache-2.0
// Cases that ONNX's own tests do not cover: forms of older and newer operator sets, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

/// A node "n" on x, which holds 0, 1, 2, ...
struct FamilyCase {
  std::string op_type;
  std::int64_t opset = 17;
  Ints shape;
  std::vector<std::string> operands;  ///< after x
  std::function<void(TestModel&, NodeProto&)> fill;
};

TestModel model_of(const FamilyCase& test) {
  TestModel model(test.opset);
  std::vector<std::string> inputs{"x"};
  inputs.insert(inputs.end(), test.operands.begin(), test.operands.end());
  model.input("x", test.shape).output("y");
  NodeProto& node = model.node(test.op_type, inputs, {"y"});
  node.set_name("n");
  if (test.fill) test.fill(model, node);
  return model;
}

Floats result(const FamilyCase& test) {
  const ir::Tensor x = ir::test::counting(ir::Shape(test.shape));
  return numbers(run_reference(model_of(test).import(), list(x.clone()))[0]);
}

void expect_result(const FamilyCase& test, const Floats& expected) {
  EXPECT_THAT(result(test), Pointwise(FloatNear(1e-5F), expected))
      << test.op_type << " of operator set " << test.opset;
}

TEST(Families, ReadTheFormsOfOlderOperatorSets) {
  expect_result(
      {"ReduceMean", 11, {2, 3}, {}, [](TestModel&, NodeProto& n) { set(n, "axes", Ints{-1}); }},
      {1, 4});
  expect_result(
      {"ReduceMean", 18, {2, 3}, {"a"}, [](TestModel& m, NodeProto&) { m.integers("a", {0}); }},
      {1.5F, 2.5F, 3.5F});
  expect_result(
      {"TopK", 1, {4}, {}, [](TestModel&, NodeProto& n) { set(n, "k", std::int64_t{2}); }}, {3, 2});
  expect_result({"Pad",
                 1,
                 {2},
                 {},
                 [](TestModel&, NodeProto& n) {
                   set(n, "paddings", Ints{1, 0});
                 }},
                {0, 0, 1});
  expect_result({"Pad",
                 2,
                 {3},
                 {},
                 [](TestModel&, NodeProto& n) {
                   set(n, "pads", Ints{-1, 1});
                   set(n, "value", 7.0F);
                 }},
                {1, 2, 7});
  expect_result({"Pad",
                 18,
                 {1, 2},
                 {"p", "", "a"},
                 [](TestModel& m, NodeProto& n) {
                   m.integers("p", {1, 1}).integers("a", {-1});
                   set(n, "mode", std::string("edge"));
                 }},
                {0, 0, 1, 1});
  expect_result({"Tile",
                 1,
                 {1, 2},
                 {"t", "a"},
                 [](TestModel& m, NodeProto&) { m.integers("t", {2}).integers("a", {1}); }},
                {0, 1, 0, 1});
  expect_result({"Upsample",
                 7,
                 {1, 1, 1, 2},
                 {},
                 [](TestModel&, NodeProto& n) {
                   auto& attribute = *n.add_attribute();
                   attribute.set_name("scales");
                   attribute.set_type(onnx_pb::AttributeProto::FLOATS);
                   for (const float scale : {1.0F, 1.0F, 1.0F, 2.0F}) attribute.add_floats(scale);
                 }},
                {0, 0, 1, 1});
  expect_result({"Upsample",
                 1,
                 {1, 1, 1, 2},
                 {},
                 [](TestModel&, NodeProto& n) {
                   set(n, "height_scale", 1.0F);
                   set(n, "width_scale", 2.0F);
                 }},
                {0, 0, 1, 1});
  expect_result({"Resize",
                 10,
                 {2},
                 {"s"},
                 [](TestModel& m, NodeProto& n) {
                   m.floats("s", {1}, {2});
                   set(n, "mode", std::string("linear"));
                 }},
                {0, 0.5F, 1, 1});
  expect_result({"Clip", 6, {3}, {}, [](TestModel&, NodeProto& n) { set(n, "max", 1.0F); }},
                {0, 1, 1});
}

TEST(Families, ResizeKeepsProportionsAndTakesAxes) {
  const auto keep = [](const std::string& policy) {
    return [policy](TestModel& m, NodeProto& n) {
      m.integers("sizes", {4, 2});
      set(n, "axes", Ints{0, 1});
      set(n, "keep_aspect_ratio_policy", policy);
    };
  };
  const FamilyCase larger{"Resize", 18, {2, 2}, {"", "", "sizes"}, keep("not_larger")};
  expect_result(larger, {0, 1, 2, 3});
  const FamilyCase smaller{"Resize", 18, {2, 2}, {"", "", "sizes"}, keep("not_smaller")};
  expect_result(smaller, {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3});
}

TEST(Families, GroupsHaveScalesOfGroupsOrOfChannels) {
  const auto groups = [](TestModel& m, NodeProto& n) {
    m.floats("per_group", {1}, {2}).floats("per_channel", {2}, {1, 3});
    m.floats("zero", {1}, {0}).floats("zeros", {2}, {0, 0});
    set(n, "num_groups", std::int64_t{1});
  };
  const float unit = 1 / std::sqrt(1.25F + 1e-5F);
  expect_result({"GroupNormalization", 18, {1, 2, 2}, {"per_group", "zero"}, groups},
                {-3 * unit, -unit, unit, 3 * unit});
  expect_result({"GroupNormalization", 21, {1, 2, 2}, {"per_channel", "zeros"}, groups},
                {-1.5F * unit, -0.5F * unit, 1.5F * unit, 4.5F * unit});
}

TEST(Families, NormalizeInOtherWays) {
  expect_result({"RMSNormalization",
                 23,
                 {1, 2},
                 {"s"},
                 [](TestModel& m, NodeProto& n) {
                   m.floats("s", {2}, {1, 2});
                   set(n, "epsilon", 0.5F);
                 }},
                {0, 2});
  expect_result({"LpNormalization",
                 1,
                 {1, 3},
                 {},
                 [](TestModel&, NodeProto& n) { set(n, "p", std::int64_t{1}); }},
                {0, 1.0F / 3, 2.0F / 3});
}

TEST(Families, EinsumIsProductsAndSums) {
  const auto equation = [](const std::string& text) {
    return [text](TestModel& m, NodeProto& n) {
      m.floats("b", {2, 2}, {1, 2, 3, 4}).floats("v", {2}, {10, 1});
      set(n, "equation", text);
    };
  };
  const struct {
    std::string text;
    std::vector<std::string> operands;
    Floats expected;
  } cases[] = {
      {"ij->ji", {}, {0, 2, 1, 3}},
      {"ij->", {}, {6}},
      {"ii->i", {}, {0, 3}},
      {"ii", {}, {3}},
      {"ij,jk->ik", {"b"}, {3, 4, 11, 16}},
      {"ij,jk", {"b"}, {3, 4, 11, 16}},
      {"ij,kj->ki", {"b"}, {2, 8, 4, 18}},
      {"ij,ij->i", {"b"}, {2, 18}},
      {"ij,i->j", {"v"}, {2, 13}},
      {"ij,jk,k->i", {"b", "v"}, {34, 126}},
      {"...j,jk->...k", {"b"}, {3, 4, 11, 16}},
      {"a ..., ... -> ... a", {"v"}, {0, 20, 1, 3}},
      {"ij,kl->i", {"b"}, {10, 50}},
  };
  for (const auto& [text, operands, expected] : cases) {
    SCOPED_TRACE(text);
    expect_result({"Einsum", 17, {2, 2}, operands, equation(text)}, expected);
  }
}

TEST(Families, AttentionWeighsValuesByScores) {
  const float e = std::exp(1.0F);
  const auto values = [](TestModel& m, NodeProto& n) {
    m.floats("k", {1, 1, 2, 1}, {0, 1}).floats("v", {1, 1, 2, 1}, {10, 20});
    m.floats("mask", {1, 2}, {0, -std::numeric_limits<float>::infinity()});
    TensorProto none;
    none.set_data_type(TensorProto::BOOL);
    none.add_dims(1);
    none.add_dims(2);
    for (int i = 0; i < 2; ++i) none.add_int32_data(0);
    m.initializer("none", none);
    set(n, "scale", 1.0F);
  };
  const auto causal = [&](TestModel& m, NodeProto& n) {
    values(m, n);
    set(n, "is_causal", std::int64_t{1});
  };
  const std::vector<std::string> plain{"k", "v"};
  // x holds the queries 0 and 1.
  expect_result({"Attention", 23, {1, 1, 2, 1}, plain, values}, {15, (10 + 20 * e) / (1 + e)});
  expect_result({"Attention", 23, {1, 1, 2, 1}, plain, causal}, {10, (10 + 20 * e) / (1 + e)});
  expect_result({"Attention", 23, {1, 1, 2, 1}, {"k", "v", "mask"}, values}, {10, 10});
  expect_result({"Attention", 23, {1, 1, 2, 1}, {"k", "v", "none"}, values}, {0, 0});
  expect_result({"Attention", 23, {1, 2, 1, 1}, plain, values}, {15, (10 + 20 * e) / (1 + e)});
}

TEST(Families, RotaryEmbeddingTurnsPairs) {
  const auto quarter_turn = [](TestModel& m, NodeProto&) {
    m.floats("cos", {1, 1, 1}, {0}).floats("sin", {1, 1, 1}, {1});
  };
  const auto partly = [&](TestModel& m, NodeProto& n) {
    quarter_turn(m, n);
    set(n, "rotary_embedding_dim", std::int64_t{2});
    set(n, "interleaved", std::int64_t{1});
  };
  expect_result({"RotaryEmbedding", 23, {1, 1, 1, 2}, {"cos", "sin"}, quarter_turn}, {-1, 0});
  expect_result({"RotaryEmbedding", 23, {1, 1, 1, 4}, {"cos", "sin"}, partly}, {-1, 0, 2, 3});
}

struct FamilyRefusal {
  FamilyCase test;
  ErrorKind kind;
  std::string text;
};

std::function<void(TestModel&, NodeProto&)> with(const std::string& name, const std::string& text) {
  return [name, text](TestModel& m, NodeProto& n) {
    m.integers("i", {1}).integers("two", {1, 1});
    set(n, name, text);
  };
}

std::function<void(TestModel&, NodeProto&)> with(const std::string& name, std::int64_t value) {
  return [name, value](TestModel& m, NodeProto& n) {
    m.integers("i", {1}).integers("two", {1, 1}).integers("minus", {-1}).scalar("half", 0.5F);
    m.floats("bad", {1}, {-2}).floats("none", {1}, {0});
    set(n, name, value);
  };
}

TEST(Families, RejectUnsupportedNodesWithAReason) {
  const auto plain = with("unused", 1);
  const std::vector<FamilyRefusal> refusals{
      {{"BitShift", 17, {2, 3}, {"x"}, with("direction", "UP")},
       ErrorKind::kFormat,
       "expected LEFT"},
      {{"CumSum", 17, {2, 3}, {"two"}, plain}, ErrorKind::kShape, "expected one number, found 2"},
      {{"TopK", 17, {2, 3}, {"minus"}, plain},
       ErrorKind::kShape,
       "expected a number of at least 0"},
      {{"TopK", 17, {2, 3}, {"x"}, plain}, ErrorKind::kUnsupported, "known during the import"},
      {{"Hardmax", 11, {2, 3}, {}, plain}, ErrorKind::kUnsupported, "operator sets below 13"},
      {{"GatherND", 17, {2, 3}, {"i"}, with("batch_dims", 7)},
       ErrorKind::kShape,
       "less than the rank, found 7"},
      {{"ScatterND", 17, {2, 3}, {"i", "x"}, with("reduction", "sub")},
       ErrorKind::kFormat,
       "found 'sub'"},
      {{"OneHot", 17, {2}, {"bad", "x"}, plain},
       ErrorKind::kShape,
       "depth: expected a number of at least 1"},
      {{"Compress", 17, {2, 3}, {"x"}, plain}, ErrorKind::kShape, "condition: expected a vector"},
      {{"Pad", 17, {2, 3}, {"i"}, plain}, ErrorKind::kShape, "pads: expected 4 numbers, found 1"},
      {{"Pad", 17, {2, 3}, {}, plain}, ErrorKind::kFormat, "expected pads, found none"},
      {{"Pad", 17, {3}, {"two"}, with("mode", "mirror")}, ErrorKind::kFormat, "found 'mirror'"},
      {{"Pad",
        2,
        {3},
        {},
        [](TestModel&, NodeProto& n) {
          set(n, "pads", Ints{-2, -1});
        }},
       ErrorKind::kShape,
       "pads remove all of axis 0"},
      {{"Tile", 17, {3}, {"minus"}, plain},
       ErrorKind::kShape,
       "repeats: expected numbers of at least 0, found -1"},
      {{"Tile", 1, {3}, {"two", "i"}, plain}, ErrorKind::kShape, "expected one number of tiles"},
      {{"Expand", 17, {3}, {"minus"}, plain},
       ErrorKind::kShape,
       "expected an extent of at least 0"},
      {{"Trilu", 17, {3}, {}, plain}, ErrorKind::kShape, "expected a matrix"},
      {{"Trilu", 17, {2, 3}, {"two"}, plain}, ErrorKind::kShape, "k: expected one number"},
      {{"Resize", 17, {3}, {"", "none"}, plain}, ErrorKind::kShape, "elements, found 0"},
      {{"Resize", 17, {3}, {"", "", "minus"}, plain},
       ErrorKind::kShape,
       "sizes: expected numbers of at least 1, found -1"},
      {{"Resize", 17, {3}, {"", "", "two"}, plain},
       ErrorKind::kShape,
       "for each of 1 axes, found 2"},
      {{"Resize", 17, {-1}, {"", "bad"}, plain},
       ErrorKind::kUnsupported,
       "cannot resize the batch"},
      {{"Resize", 17, {3}, {"", "", "i"}, with("mode", "sinc")},
       ErrorKind::kUnsupported,
       "mode 'sinc'"},
      {{"GridSample", 17, {2, 3, 4}, {"x"}, plain},
       ErrorKind::kUnsupported,
       "expected images of rank 4"},
      {{"DepthToSpace", 17, {1, 3, 2, 2}, {}, with("blocksize", 2)},
       ErrorKind::kShape,
       "blocks of 2"},
      {{"SpaceToDepth", 17, {1, 3, 2, 2}, {}, with("blocksize", 0)},
       ErrorKind::kShape,
       "blocks of 0"},
      {{"GroupNormalization", 21, {1, 3, 2}, {"x", "x"}, with("num_groups", 2)},
       ErrorKind::kShape,
       "2 groups do not divide"},
      {{"InstanceNormalization", 17, {1, 3}, {"x", "x"}, plain}, ErrorKind::kShape, "spatial axes"},
      {{"LRN", 17, {1, 3}, {}, plain}, ErrorKind::kFormat, "size: expected a number of at least 1"},
      {{"LpNormalization", 17, {1, 3}, {}, with("p", 3)}, ErrorKind::kUnsupported, "p = 3"},
      {{"Einsum", 17, {2, 2}, {}, with("equation", "i?->i")},
       ErrorKind::kFormat,
       "expected letters"},
      {{"Einsum", 17, {2, 2}, {}, with("equation", "ij,jk")},
       ErrorKind::kFormat,
       "expected labels of 1"},
      {{"Einsum", 17, {2, 2}, {}, with("equation", "ijk")}, ErrorKind::kShape, "do not fit"},
      {{"Einsum", 17, {2, 2}, {}, with("equation", "i")}, ErrorKind::kShape, "do not fit"},
      {{"Einsum", 17, {2, 3}, {}, with("equation", "ii")}, ErrorKind::kShape, "unequal extents"},
      {{"Einsum", 17, {2, 2}, {}, with("equation", "ij->ik")},
       ErrorKind::kFormat,
       "the output's labels"},
      {{"EyeLike", 17, {3}, {}, plain}, ErrorKind::kShape, "expected a matrix"},
      {{"Attention", 23, {2, 1}, {"x", "x"}, plain}, ErrorKind::kShape, "expected 3 or 4 axes"},
      {{"Attention", 23, {1, 2, 3}, {"x", "x"}, with("q_num_heads", 2)},
       ErrorKind::kShape,
       "2 heads do not divide [1, 2, 3]"},
      {{"RotaryEmbedding", 23, {1, 1, 1, 3}, {"x", "x"}, plain},
       ErrorKind::kShape,
       "rotary_embedding_dim: expected an even number from 2 to 3, found 3"},
      {{"RotaryEmbedding", 23, {1, 1, 1, 2}, {"x", "x"}, plain},
       ErrorKind::kShape,
       "expected angles of every step"},
      {{"NegativeLogLikelihoodLoss", 17, {3}, {"x"}, plain}, ErrorKind::kShape, "targets"},
  };
  for (const FamilyRefusal& refusal : refusals) {
    ErrorKind kind{};
    const std::string message = import_failure(model_of(refusal.test).bytes(), kind);
    EXPECT_THAT(message, HasSubstr("node 'n' (" + refusal.test.op_type + ")"));
    EXPECT_THAT(message, HasSubstr(refusal.text));
    EXPECT_EQ(kind, refusal.kind) << message;
  }
}

}  // namespace
}  // namespace halftone::formats::onnx
