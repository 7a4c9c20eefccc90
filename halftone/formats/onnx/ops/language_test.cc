// SPDX-License-Identifier: Apache-2.0
// Operators of language models. The values are those of ONNX 1.23's reference evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;
using Fill = std::function<void(NodeProto&)>;

constexpr float kHidden = std::numeric_limits<float>::infinity();

/// Six digits were printed, of sums of a few products.
void expect_numbers(const Floats& found, const Floats& expected) {
  EXPECT_THAT(found, Pointwise(FloatNear(2e-6F), expected));
}

const Operand kQueries = pattern({1, 1, 2, 2}, 0);
const Operand kKeys = pattern({1, 1, 3, 2}, 1);
const Operand kValues = pattern({1, 1, 3, 2}, 2);

/// The scores that Attention gives as output 3 in a mode.
Floats scores(std::int64_t mode) {
  const OperatorCase test{"Attention",
                          {kQueries, kKeys, kValues, whole({1, 3}, {1, 1, 0}, TensorProto::BOOL)},
                          [mode](NodeProto& n) {
                            set(n, "qk_matmul_output_mode", mode);
                            set(n, "softcap", 0.5F);
                            set(n, "scale", 1.0F);
                            n.set_output(1, "");
                            n.set_output(2, "");
                          }};
  const auto y = test.run(4);
  expect_numbers(y[0], {0.227797F, -0.172203F, 0.218591F, -0.181409F});
  return y[1];
}

TEST(AttentionScores, AreOutputsBeforeAndBehindEachStep) {
  expect_numbers(scores(0), {0.2F, -0.11F, -0.2F, 0.29F, -0.17F, -0.08F});
  expect_numbers(scores(1),
                 {0.189974F, -0.108259F, -0.189974F, 0.261333F, -0.163739F, -0.0793243F});
  expect_numbers(scores(3), {0.574011F, 0.425989F, 0, 0.604696F, 0.395304F, 0});
  const Floats masked = scores(2);
  expect_numbers({masked[0], masked[4]}, {0.189974F, -0.163739F});
  EXPECT_EQ(masked[2], -kHidden);
}

TEST(AttentionWindows, LimitTheKeysOnBothSides) {
  const OperatorCase test{"Attention", {kQueries, kKeys, kValues}, [](NodeProto& n) {
                            set(n, "left_window_size", std::int64_t{0});
                            set(n, "right_window_size", std::int64_t{1});
                          }};
  expect_numbers(test.run()[0], {0.233625F, -0.166375F, -0.0127236F, 0.154771F});
}

TEST(AttentionLengths, DifferBetweenSamples) {
  const auto run = [](const std::vector<std::int64_t>& lengths, const Fill& fill) {
    return OperatorCase{
        "Attention",
        {pattern({2, 1, 1, 2}, 0), pattern({2, 1, 3, 2}, 1), pattern({2, 1, 3, 2}, 2), absent(),
         absent(), absent(), whole({2}, lengths)},
        fill}
        .run()[0];
  };
  const Fill window = [](NodeProto& n) {
    set(n, "is_causal", std::int64_t{1});
    set(n, "left_window_size", std::int64_t{1});
  };
  expect_numbers(run({1, 3}, window), {0.1F, -0.3F, 0.354771F, -0.0452286F});
  // A sample without keys gives zeros.
  expect_numbers(run({0, 2}, {}), {0, 0, 0.0258176F, -0.374182F});
}

TEST(FlexAttention, ModifiesScoresAndProbabilities) {
  const auto graph = [](NodeProto& n, const std::string& name, const std::string& op_type) {
    auto& attribute = *n.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx_pb::AttributeProto::GRAPH);
    auto& body = *attribute.mutable_g();
    body.add_input()->set_name("a");
    body.add_output()->set_name("b");
    auto& inner = *body.add_node();
    inner.set_op_type(op_type);
    inner.add_input("a");
    inner.add_output("b");
  };
  const OperatorCase test{"FlexAttention",
                          {kQueries, kKeys, kValues},
                          [&](NodeProto& n) {
                            graph(n, "score_mod", "Abs");
                            graph(n, "prob_mod", "Sqrt");
                          },
                          "ai.onnx.preview"};
  // sqrt(softmax(|q k^T| / sqrt 2)) v for the first query.
  const double s[] = {0.2 / std::sqrt(2.0), 0.11 / std::sqrt(2.0), 0.2 / std::sqrt(2.0)};
  const double sum = std::exp(s[0]) + std::exp(s[1]) + std::exp(s[2]);
  double y = 0;
  const double v[] = {0.1, 0.4, -0.4};
  for (int i = 0; i < 3; ++i) y += std::sqrt(std::exp(s[i]) / sum) * v[i];
  // Three terms below 0.4, each of eight rounded steps: a product of two, a scale, an exponential,
  // a sum of three, a quotient, a root, a product, the last sum.
  constexpr double kRounded = 3 * 0.4 * 8 * 0x1p-24;
  EXPECT_NEAR(test.run()[0][0], y, kRounded);
  const OperatorCase narrow{
      "FlexAttention", {pattern({1, 2, 2}, 0), kKeys, kValues}, {}, "ai.onnx.preview"};
  expect_failure(narrow.model(), ErrorKind::kShape, "input 0: expected 4 axes, found [1, 2, 2]");
  const OperatorCase changed{"FlexAttention",
                             {kQueries, kKeys, kValues},
                             [&](NodeProto& n) { graph(n, "score_mod", "Size"); },
                             "ai.onnx.preview"};
  expect_failure(changed.model(), ErrorKind::kShape, "score_mod: expected an output [1, 1, 2, 3]");
  const OperatorCase empty{"FlexAttention",
                           {kQueries, kKeys, kValues},
                           [](NodeProto& n) {
                             auto& attribute = *n.add_attribute();
                             attribute.set_name("prob_mod");
                             attribute.set_type(onnx_pb::AttributeProto::GRAPH);
                             attribute.mutable_g();
                           },
                           "ai.onnx.preview"};
  expect_failure(empty.model(), ErrorKind::kFormat, "prob_mod: expected one input and one output");
}

const std::vector<Operand> kLinear{pattern({1, 2, 4}, 0), pattern({1, 2, 2}, 1),
                                   pattern({1, 2, 2}, 2)};

Fill linear_heads(const std::string& rule) {
  return [rule](NodeProto& n) {
    set(n, "q_num_heads", std::int64_t{2});
    set(n, "kv_num_heads", std::int64_t{1});
    if (!rule.empty()) set(n, "update_rule", rule);
    if (rule == "linear") set(n, "scale", 0.5F);
  };
}

TEST(LinearAttention, UpdatesItsState) {
  std::vector<Operand> inputs = kLinear;
  for (const Operand& operand :
       {pattern({1, 1, 2, 2}, 3), pattern({1, 2, 1}, 4), pattern({1, 2, 1}, 5)}) {
    inputs.push_back(operand);
  }
  const auto gated = OperatorCase{"LinearAttention", inputs, linear_heads("")}.run(2);
  expect_numbers(gated[0], {-0.136785F, 0.0341039F, -0.138616F, 0.0793119F, 0.0982486F, -0.0672871F,
                            0.101051F, -0.00434023F});
  expect_numbers(gated[1], {0.357271F, -0.015345F, -0.344058F, 0.312079F});
  const auto plain = OperatorCase{"LinearAttention", kLinear, linear_heads("linear")}.run(2);
  expect_numbers(plain[0], {0.01F, -0.03F, 0.0145F, -0.0435F, 0.0115F, 0.0255F, 0.004F, 0.012F});
  expect_numbers(plain[1], {0.02F, 0.06F, -0.07F, -0.15F});
}

TEST(CausalConvolution, BeginsWithItsState) {
  const OperatorCase test{
      "CausalConvWithState",
      {pattern({1, 2, 3}, 0), pattern({2, 1, 2}, 1), pattern({2}, 2), pattern({1, 2, 1}, 3)},
      [](NodeProto& n) { set(n, "activation", std::string("silu")); }};
  const auto y = test.run(2);
  expect_numbers(y[0], {-0.101833F, 0.172333F, -0.0196001F, -0.175212F, -0.120527F, -0.0900332F});
  expect_numbers(y[1], {-0.2F, -0.3F});
}

TEST(TensorScatter, WritesFromThePositionOfEachSample) {
  const auto run = [](const std::string& mode, const std::vector<std::int64_t>& starts) {
    return OperatorCase{"TensorScatter",
                        {pattern({2, 3, 1}, 0), pattern({2, 2, 1}, 1), whole({2}, starts)},
                        [&](NodeProto& n) {
                          set(n, "mode", mode);
                          set(n, "axis", std::int64_t{1});
                        }}
        .run()[0];
  };
  expect_numbers(run("circular", {2, 0}), {0.5F, 0.2F, -0.2F, 0.1F, -0.3F, -0.3F});
  expect_numbers(run("linear", {1, 0}), {-0.5F, -0.2F, 0.5F, 0.1F, -0.3F, -0.3F});
}

TEST(LanguageOperators, DescribeWhatIsWrong) {
  const auto refuse = [](const OperatorCase& test, ErrorKind kind, const std::string& text) {
    expect_failure(test.model(), kind, text);
  };
  const std::vector<Operand> attention{kQueries, kKeys, kValues};
  refuse(
      {"Attention", attention, [](NodeProto& n) { set(n, "left_window_size", std::int64_t{-2}); }},
      ErrorKind::kFormat, "left_window_size: expected a number of at least -1, found -2");
  refuse({"Attention", attention,
          [](NodeProto& n) { set(n, "qk_matmul_output_mode", std::int64_t{4}); }},
         ErrorKind::kFormat, "qk_matmul_output_mode: expected a number from 0 to 3, found 4");
  refuse({"Attention", {kQueries, kKeys, kValues, absent(), kKeys, kValues, whole({1}, {1})}},
         ErrorKind::kFormat, "expected lengths of keys or earlier keys, found both");
  refuse(
      {"Attention", {kQueries, kKeys, kValues, absent(), absent(), absent(), whole({1, 1}, {1})}},
      ErrorKind::kShape, "lengths of keys: expected [batch], found [1, 1]");
  refuse({"LinearAttention", kLinear, linear_heads("")}, ErrorKind::kFormat,
         "update_rule 'gated_delta': expected a decay and a beta");
  refuse({"LinearAttention", kLinear, [](NodeProto& n) { set(n, "q_num_heads", std::int64_t{3}); }},
         ErrorKind::kShape, "3 heads of queries and 0 of keys and values do not fit [1, 2, 4]");
  refuse({"LinearAttention",
          {pattern({1, 1025, 1}, 0), pattern({1, 1025, 1}, 0), pattern({1, 1025, 1}, 0)},
          [](NodeProto& n) {
            set(n, "q_num_heads", std::int64_t{1});
            set(n, "kv_num_heads", std::int64_t{1});
          }},
         ErrorKind::kUnsupported, "expected 1 to 1024 steps, found 1025");
  std::vector<Operand> state = kLinear;
  state.push_back(pattern({1, 1, 2, 3}, 0));
  refuse({"LinearAttention", state, linear_heads("linear")}, ErrorKind::kShape,
         "input 3: expected [1, 1, 2, 2], found [1, 1, 2, 3]");
  std::vector<Operand> decay = kLinear;
  decay.push_back(absent());
  decay.push_back(pattern({1, 2, 3}, 0));
  refuse({"LinearAttention", decay, linear_heads("gated")}, ErrorKind::kShape,
         "decay or beta do not fit the heads of keys");
  refuse({"CausalConvWithState", {pattern({1, 2}, 0), pattern({2, 1, 2}, 1)}}, ErrorKind::kShape,
         "input 0: expected 3 axes, found [1, 2]");
  refuse({"CausalConvWithState", {pattern({1, 2, 3}, 0), pattern({2, 2, 2}, 1)}}, ErrorKind::kShape,
         "weights [2, 2, 2] do not fit [1, 2, 3]");
  refuse({"TensorScatter", {pattern({2, 3, 1}, 0), pattern({2, 4, 1}, 1)}}, ErrorKind::kShape,
         "an update [2, 4, 1] along axis 1 does not fit [2, 3, 1]");
}

}  // namespace
}  // namespace halftone::formats::onnx
