// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX Runtime's optimizer fuses. The values are those of ONNX Runtime 1.32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

const char* const kMicrosoft = "com.microsoft";

/// Six digits were printed, of sums of a few products.
void expect_values(const Floats& found, const Floats& expected) {
  EXPECT_THAT(found, Pointwise(FloatNear(2e-6F), expected));
}

void set_parameters(NodeProto& node, const Floats& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name("activation_params");
  attribute.set_type(onnx_pb::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
}

OperatorCase fused(const std::string& op_type, std::vector<Operand> inputs,
                   std::function<void(NodeProto&)> fill = {}) {
  return {op_type, std::move(inputs), std::move(fill), kMicrosoft, 21};
}

std::function<void(NodeProto&)> heads(std::int64_t count) {
  return [count](NodeProto& n) { set(n, "num_heads", count); };
}

const Operand kX = pattern({1, 2, 3}, 0);

TEST(FusedNormalization, NormalizesASum) {
  // Outputs 1 and 2, statistics for training, stay without a name.
  const auto fill = [](NodeProto& n) {
    set(n, "epsilon", 1e-5F);
    n.set_output(1, "");
    n.set_output(2, "");
  };
  const auto layer =
      fused("SkipLayerNormalization",
            {kX, pattern({1, 2, 3}, 1), pattern({3}, 2), pattern({3}, 3), pattern({3}, 4)}, fill)
          .run(4);
  expect_values(layer[0], {0.283753F, -0.383615F, -0.446499F, 0.349201F, -0.419093F, -0.755594F});
  expect_values(layer[1], {-1.1F, 1, -0.2F, -0.2F, 0.8F, -0.4F});
  const auto rms = fused("SkipSimplifiedLayerNormalization",
                         {kX, pattern({1, 2, 3}, 1), pattern({3}, 2), pattern({3}, 3)}, fill)
                       .run(4);
  expect_values(rms[0], {-0.0570341F, -0.399239F, -0.380228F, 0.0990854F, -0.247713F, -0.462398F});
  expect_values(rms[1], {-0.3F, 0.7F, -0.5F, 0.6F, 0.5F, -0.7F});
  const OperatorCase plain{"SimplifiedLayerNormalization", {kX, pattern({3}, 1)}, {}, "", 21};
  expect_values(plain.run()[0],
                {0.301498F, 0.301498F, -0.0602995F, -0.292757F, 0.146379F, -0.0878272F});
}

TEST(FusedNormalization, AddsRowsOfTables) {
  const auto y =
      fused("EmbedLayerNormalization",
            {whole({1, 2}, {1, 0}, TensorProto::INT32), whole({1, 2}, {0, 1}, TensorProto::INT32),
             pattern({2, 3}, 1), pattern({4, 3}, 2), pattern({2, 3}, 3), pattern({3}, 4),
             pattern({3}, 5), whole({1, 2}, {1, 0}, TensorProto::INT32)},
            [](NodeProto& n) { set(n, "epsilon", 1e-5F); })
          .run(3);
  expect_values(y[0], {-0.589531F, -0.5F, 0.322383F, -0.589531F, -0.5F, 0.322383F});
  expect_values(y[1], {1});
  expect_values(y[2], {0.2F, 0.1F, 0, 0.1F, 0, -0.1F});
}

TEST(FusedNormalization, CountsNoStepsWithoutAMask) {
  const auto y = fused("EmbedLayerNormalization",
                       {whole({1, 2}, {1, 0}, TensorProto::INT32), absent(), pattern({2, 3}, 1),
                        pattern({4, 3}, 2), absent(), pattern({3}, 4), pattern({3}, 5)},
                       [](NodeProto& n) { set(n, "epsilon", 1e-5F); })
                     .run(2);
  expect_values(y[0], {0.389857F, -0.5F, 0.0775357F, 0.389857F, -0.5F, 0.0775357F});
  expect_values(y[1], {0});
}

TEST(FusedActivation, AppliesBehindABias) {
  const Operand bias = pattern({3}, 1);
  expect_values(fused("FastGelu", {kX, bias}).run()[0],
                {-0.16943F, 0.53057F, -0.0460173F, 0.185371F, 0.435415F, -0.0841486F});
  expect_values(fused("BiasGelu", {kX, bias}).run()[0],
                {-0.169375F, 0.530625F, -0.0460172F, 0.185373F, 0.435448F, -0.0841481F});
  expect_values(fused("Gelu", {kX}).run()[0],
                {-0.154269F, 0.115852F, -0.0841481F, 0.345731F, 0.0539828F, -0.114627F});
  expect_values(fused("QuickGelu", {kX}).run()[0],
                {-0.149612F, 0.116858F, -0.0831425F, 0.350388F, 0.0542448F, -0.112516F});
}

TEST(FusedLayer, ConvHasASumAndAnActivation) {
  const auto conv = [](const std::string& activation, const Floats& parameters, bool has_sum) {
    std::vector<Operand> inputs{pattern({1, 1, 3, 3}, 0), pattern({1, 1, 2, 2}, 1),
                                pattern({1}, 2)};
    if (has_sum) inputs.push_back(pattern({1, 1, 2, 2}, 3));
    return fused("FusedConv", inputs,
                 [=](NodeProto& n) {
                   set(n, "activation", activation);
                   if (!parameters.empty()) set_parameters(n, parameters);
                 })
        .run()[0];
  };
  expect_values(conv("LeakyRelu", {0.1F}, false), {0.32F, 0.06F, 0.09F, 0.05F});
  expect_values(conv("Clip", {-0.2F, 0.3F}, false), {0.3F, 0.06F, 0.09F, 0.05F});
  expect_values(conv("HardSigmoid", {0.3F, 0.4F}, false), {0.496F, 0.418F, 0.427F, 0.415F});
  expect_values(conv("Relu", {}, true), {0.72F, 0.06F, 0, 0.35F});
}

TEST(FusedLayer, MatMulTransposesAndScales) {
  const auto scaled =
      fused("FusedMatMul", {pattern({2, 3}, 0), pattern({4, 3}, 1)}, [](NodeProto& n) {
        set(n, "transB", std::int64_t{1});
        set(n, "alpha", 0.5F);
      });
  expect_values(scaled.run()[0], {0.09F, 0.115F, 0.14F, 0.165F, -0.04F, -0.055F, -0.07F, -0.085F});
  const auto turned = fused("FusedMatMul", {pattern({2, 3}, 0), pattern({2, 4}, 1)},
                            [](NodeProto& n) { set(n, "transA", std::int64_t{1}); });
  expect_values(turned.run()[0],
                {0.3F, -0.25F, -0.25F, 0.3F, 0, 0.1F, -0.02F, -0.03F, -0.08F, -0.1F, 0.1F, -0.03F});
}

TEST(FusedLayer, MatMulTransposesTheBatch) {
  const auto turned =
      fused("FusedMatMul", {pattern({2, 2, 3}, 0), pattern({2, 2, 2}, 1)}, [](NodeProto& n) {
        set(n, "transA", std::int64_t{1});
        set(n, "transBatchA", std::int64_t{1});
      });
  expect_values(turned.run()[0], {0.14F, -0.37F, -0.04F, 0.1F, 0, 0.02F, 0.08F, 0.09F, 0.08F,
                                  -0.03F, 0.08F, -0.15F});
}

TEST(FusedLayer, GemmHasAnActivation) {
  const auto gemm = fused("FusedGemm", {pattern({2, 3}, 0), pattern({4, 3}, 1), pattern({4}, 2)},
                          [](NodeProto& n) {
                            set(n, "transB", std::int64_t{1});
                            set(n, "alpha", 0.5F);
                            set(n, "activation", std::string("LeakyRelu"));
                            set(n, "activation_alpha", 0.1F);
                          });
  expect_values(gemm.run()[0], {0.19F, -0.0185F, 0.54F, 0.165F, 0.06F, -0.0355F, 0.33F, -0.0085F});
}

TEST(FusedLayer, StatesHaveOnnxsOperators) {
  const auto attention = fused(
      "LinearAttention", {pattern({1, 2, 4}, 0), pattern({1, 2, 4}, 1), pattern({1, 2, 4}, 2)},
      [](NodeProto& n) {
        set(n, "q_num_heads", std::int64_t{2});
        set(n, "kv_num_heads", std::int64_t{2});
        set(n, "update_rule", std::string("linear"));
      });
  const auto y = attention.run(2);
  expect_values(y[0], {0.0141421F, -0.0424264F, -0.0480833F, 0, -0.0233345F, 0.0445477F, 0.0226274F,
                       0.0565685F});
  expect_values(y[1], {-0.18F, 0.18F, 0.05F, -0.15F, 0.08F, 0.2F, -0.15F, -0.15F});
  const auto convolution =
      fused("CausalConvWithState", {pattern({1, 2, 4}, 0), pattern({2, 1, 2}, 1), pattern({2}, 2)},
            [](NodeProto& n) { set(n, "activation", std::string("silu")); })
          .run(2);
  expect_values(convolution[0], {-0.0693855F, 0.172333F, -0.0196001F, 0.23255F, -0.138019F,
                                 -0.0900332F, -0.175212F, -0.113195F});
  expect_values(convolution[1], {0.5F, 0});
}

TEST(FusedLayer, OnnxsOperatorsHaveAnOlderName) {
  const auto expanded = fused("ExpandDims", {kX, whole({}, {0}, TensorProto::INT32)});
  EXPECT_EQ(expanded.run()[0], (Floats{-0.5F, 0.2F, -0.2F, 0.5F, 0.1F, -0.3F}));
  const auto lower =
      fused("Trilu", {kX, whole({}, {0})}, [](NodeProto& n) { set(n, "upper", std::int64_t{0}); });
  EXPECT_EQ(lower.run()[0], (Floats{-0.5F, 0, 0, 0.5F, 0.1F, 0}));
}

const Operand kTokens = pattern({1, 2, 4}, 0);

TEST(FusedAttention, SplitsTheProductOfOneLayer) {
  const std::vector<Operand> layer{kTokens, pattern({4, 12}, 1), pattern({12}, 2)};
  const auto masked = [&](const Operand& mask) {
    std::vector<Operand> inputs = layer;
    inputs.push_back(mask);
    return fused("Attention", inputs, heads(2)).run()[0];
  };
  expect_values(
      fused("Attention", layer, heads(2)).run()[0],
      {0.205179F, 0.0134435F, 0.541087F, 0.0513321F, 0.202874F, 0.0177731F, 0.536156F, 0.0530109F});
  expect_values(masked(whole({1}, {1}, TensorProto::INT32)),
                {0.01F, 0.38F, 0.31F, 0.13F, 0.01F, 0.38F, 0.31F, 0.13F});
  expect_values(masked(whole({2}, {2, 1}, TensorProto::INT32)),
                {0.42F, -0.39F, 0.78F, -0.03F, 0.42F, -0.39F, 0.78F, -0.03F});
  expect_values(masked(whole({5}, {1, 0, 2, 0, 2}, TensorProto::INT32)),
                {0.01F, 0.38F, 0.31F, 0.13F, 0.01F, 0.38F, 0.31F, 0.13F});
  expect_values(masked(whole({1, 2}, {0, 1}, TensorProto::INT32)),
                {0.42F, -0.39F, 0.78F, -0.03F, 0.42F, -0.39F, 0.78F, -0.03F});
  std::vector<Operand> inputs = layer;
  inputs.push_back(absent());
  inputs.push_back(pattern({2, 1, 2, 1, 2}, 3));
  const auto y = fused("Attention", inputs, [](NodeProto& n) {
                   set(n, "num_heads", std::int64_t{2});
                   set(n, "unidirectional", std::int64_t{1});
                 }).run(2);
  expect_values(y[0], {-0.0475222F, -0.080178F, 0.255898F, -0.0323051F, 0.0969964F, -0.163228F,
                       0.438428F, -0.0205449F});
  expect_values(y[1], {0.4F,   0,      -0.37F, 0.11F,  -0.52F, 0.54F, -0.4F, 0.3F,
                       -0.07F, -0.47F, -0.27F, -0.64F, -0.1F,  -0.5F, 0.01F, 0.38F,
                       0.42F,  -0.39F, 0.2F,   -0.2F,  0.31F,  0.13F, 0.78F, -0.03F});
}

TEST(FusedAttention, TakesQueriesKeysAndValues) {
  const Operand k = pattern({1, 3, 4}, 1);
  const Operand v = pattern({1, 3, 4}, 2);
  expect_values(fused("MultiHeadAttention", {kTokens, k, v, pattern({12}, 3)}, heads(2)).run()[0],
                {0.469216F, 0.0257749F, -0.104401F, 0.195599F, 0.447011F, 0.0606708F, -0.0475127F,
                 0.252487F});
  const auto masked = fused("MultiHeadAttention",
                            {kTokens, k, v, absent(), whole({1, 3}, {1, 1, 0}, TensorProto::INT32),
                             pattern({1, 1, 2, 3}, 4)},
                            [](NodeProto& n) {
                              set(n, "num_heads", std::int64_t{2});
                              set(n, "scale", 0.5F);
                            });
  expect_values(masked.run()[0], {-0.21123F, 0.0734756F, 0.0445252F, -0.355475F, -0.245521F,
                                  0.114626F, 0.0771719F, -0.322828F});
}

TEST(FusedAttention, TakesKeysWhoseHeadsLieApart) {
  // Their bias is that of the queries alone.
  expect_values(
      fused("MultiHeadAttention",
            {kTokens, pattern({1, 2, 3, 2}, 1), pattern({1, 2, 3, 2}, 2), pattern({12}, 3)},
            heads(2))
          .run()[0],
      {0.0334267F, -0.0115966F, 0.141835F, -0.258165F, 0.020898F, 0.0304411F, 0.188995F,
       -0.211005F});
}

TEST(FusedAttention, GivesScores) {
  const auto y =
      fused("MultiHeadAttention", {kTokens, pattern({1, 2, 4}, 0), pattern({1, 2, 4}, 0)}, heads(2))
          .run(4);
  expect_values(y[3], {0.205061F, -0.0777818F, -0.0777818F, 0.0707107F, 0.205061F, -0.0565685F,
                       -0.0565685F, 0.113137F});
}

TEST(FusedAttention, WritesAStepToASharedCache) {
  const auto y = fused("DecoderMaskedMultiHeadAttention",
                       {pattern({1, 1, 4}, 0), pattern({1, 1, 4}, 1), pattern({1, 1, 4}, 2),
                        absent(), absent(), pattern({1, 2, 4, 2}, 3), pattern({1, 2, 4, 2}, 4),
                        whole({1}, {2}, TensorProto::INT32)},
                       [](NodeProto& n) {
                         set(n, "num_heads", std::int64_t{2});
                         set(n, "past_present_share_buffer", std::int64_t{1});
                       })
                     .run(3);
  expect_values(y[0], {-0.109328F, -0.212936F, 0.0213226F, -0.0309867F});
  expect_values(y[1], {0.4F, 0, -0.4F, 0.3F, -0.2F, 0.5F, 0.2F, -0.2F, 0.5F, 0.1F, -0.3F, 0.4F,
                       0.1F, -0.3F, 0.3F, -0.1F});
}

TEST(FusedAttention, MultipliesIntegers) {
  const auto weights = [] {
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < 48; ++i) numbers.push_back(7 * i % 31 - 15);
    return numbers;
  };
  const OperatorCase test =
      fused("QAttention",
            {whole({1, 2, 4}, {0, 10, 100, 255, 7, 250, 128, 3}, TensorProto::UINT8),
             whole({4, 12}, weights(), TensorProto::INT8), pattern({12}, 2), pattern({}, 2),
             pattern({}, 2), whole({1}, {1}, TensorProto::INT32),
             whole({}, {12}, TensorProto::UINT8), whole({}, {0}, TensorProto::INT8)},
            heads(2));
  EXPECT_THAT(test.run()[0], Pointwise(FloatNear(5e-5F), {25.96F, -23.86F, -0.97F, 21.44F, 25.96F,
                                                          -23.86F, -0.97F, 21.44F}));
}

TEST(FusedAttention, TurnsPairsByPositions) {
  const Operand cos = pattern({4, 1}, 1);
  const Operand sin = pattern({4, 1}, 2);
  expect_values(fused("RotaryEmbedding", {kTokens, whole({1}, {1}), cos, sin}).run()[0],
                {-0.19F, 0.25F, 0.05F, 0.31F, 0.13F, 0.01F, 0.04F, 0.16F});
  expect_values(fused("RotaryEmbedding", {kTokens, whole({1, 2}, {0, 3}), cos, sin},
                      [](NodeProto& n) { set(n, "interleaved", std::int64_t{1}); })
                    .run()[0],
                {0.08F, -0.09F, -0.01F, -0.12F, -0.03F, 0.09F, -0.12F, 0});
}

/// One step behind two keys of a cache; the first numbers of both heads.
Floats grouped(const std::function<void(NodeProto&)>& fill, const std::vector<Operand>& more = {}) {
  std::vector<Operand> inputs{pattern({1, 1, 32}, 0),
                              pattern({1, 1, 16}, 1),
                              pattern({1, 1, 16}, 2),
                              pattern({1, 1, 2, 16}, 3),
                              pattern({1, 1, 2, 16}, 4),
                              whole({1}, {2}, TensorProto::INT32),
                              whole({1}, {3}, TensorProto::INT32)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  const auto y = fused("GroupQueryAttention", inputs, [&](NodeProto& n) {
                   set(n, "num_heads", std::int64_t{2});
                   set(n, "kv_num_heads", std::int64_t{1});
                   if (fill) fill(n);
                 }).run(3);
  EXPECT_EQ(y[1].size(), 48U);
  expect_values({y[1].begin() + 32, y[1].begin() + 35}, {-0.2F, 0.5F, 0.1F});
  return {y[0][0], y[0][1], y[0][16], y[0][17]};
}

TEST(FusedAttention, ReadsACacheThatHeadsShare) {
  expect_values(grouped({}), {-0.176618F, 0.222555F, -0.130027F, 0.120361F});
  expect_values(grouped([](NodeProto& n) { set(n, "local_window_size", std::int64_t{2}); }),
                {-0.0839043F, 0.190411F, -0.0335662F, 0.0561766F});
  expect_values(grouped([](NodeProto& n) {
                  set(n, "softcap", 1.5F);
                  set(n, "scale", 0.5F);
                }),
                {-0.18434F, 0.269461F, -0.0969076F, 0.0751027F});
}

TEST(FusedAttention, LosesAShareToASink) {
  expect_values(grouped({}, {absent(), absent(), absent(), absent(), pattern({2}, 3)}),
                {-0.124067F, 0.156335F, -0.0989272F, 0.0915732F});
  expect_values(grouped([](NodeProto& n) { set(n, "smooth_softmax", std::int64_t{1}); }),
                {-0.13756F, 0.173339F, -0.0989272F, 0.0915732F});
}

TEST(FusedAttention, HidesCausalScores) {
  const auto causal = fused("MultiHeadAttention", {kTokens, kTokens, kTokens}, [](NodeProto& n) {
    set(n, "num_heads", std::int64_t{2});
    set(n, "unidirectional", std::int64_t{1});
  });
  expect_failure(causal.model(4), ErrorKind::kUnsupported, "causal scores as an output");
  expect_failure(fused("DecoderMaskedMultiHeadAttention", {kTokens, kTokens, kTokens}).model(4),
                 ErrorKind::kUnsupported, "scores as an output");
}

TEST(FusedOperators, DescribeWhatTheyLack) {
  const auto refuse = [](const OperatorCase& test, ErrorKind kind, const std::string& text) {
    expect_failure(test.model(), kind, text);
  };
  const Operand image = pattern({1, 1, 3, 3}, 0);
  refuse(fused("FusedConv", {image, pattern({1, 1, 2, 2}, 1)},
               [](NodeProto& n) { set(n, "activation", std::string("Elu")); }),
         ErrorKind::kFormat, "activation: expected");
  refuse(fused("FusedGemm", {pattern({2, 3}, 0), pattern({3, 4}, 1)},
               [](NodeProto& n) { set(n, "activation", std::string("Sine")); }),
         ErrorKind::kFormat, "activation: expected");
  refuse(fused("CausalConvWithState", {pattern({1, 2, 4}, 0), pattern({2, 1, 2}, 1)},
               [](NodeProto& n) { set(n, "dilation", std::int64_t{2}); }),
         ErrorKind::kUnsupported, "dilation");
  refuse(fused("EmbedLayerNormalization",
               {whole({2}, {1, 0}), absent(), pattern({2, 3}, 1), pattern({4, 3}, 2), absent(),
                pattern({3}, 1), pattern({3}, 2)}),
         ErrorKind::kShape, "expected ids [batch, steps], found [2]");
  refuse(fused("MultiHeadAttention", {kTokens}, heads(2)), ErrorKind::kUnsupported,
         "queries, keys and values in one input");
  refuse(fused("MultiHeadAttention", {kTokens, kTokens, pattern({1, 2, 2, 2}, 1)}, heads(2)),
         ErrorKind::kUnsupported, "keys [1, 2, 4] and values [1, 2, 2, 2]");
  refuse(fused("MultiHeadAttention",
               {kTokens, kTokens, kTokens, absent(), whole({4}, {1, 1, 1, 1})}, heads(2)),
         ErrorKind::kUnsupported, "a mask [4]: expected [batch]");
  refuse(fused("DecoderMaskedMultiHeadAttention",
               {kTokens, kTokens, kTokens, absent(), absent(), absent(), absent(), absent(),
                absent(), whole({1}, {0})},
               heads(2)),
         ErrorKind::kUnsupported, "cache_indirection");
  refuse(fused("Attention", {kTokens, pattern({4, 12}, 1)},
               [](NodeProto& n) { set(n, "do_rotary", std::int64_t{1}); }),
         ErrorKind::kUnsupported, "do_rotary");
  refuse(fused("Attention", {kTokens, pattern({4, 12}, 1)},
               [](NodeProto& n) {
                 set(n, "qkv_hidden_sizes", Ints{4, 4, 8});
               }),
         ErrorKind::kShape, "qkv_hidden_sizes: expected the parts of 12 columns");
  refuse(fused("GroupQueryAttention",
               {kTokens, kTokens, kTokens, absent(), absent(), whole({1}, {1}), whole({1}, {2})},
               [](NodeProto& n) { set(n, "sliding_window_cache", std::int64_t{1}); }),
         ErrorKind::kUnsupported, "sliding_window_cache");
  refuse(fused("GroupQueryAttention",
               {kTokens, kTokens, kTokens, absent(), absent(), whole({1}, {1}), whole({1}, {2})},
               heads(3)),
         ErrorKind::kShape, "3 heads and 0 of keys do not fit [1, 2, 4]");
}

}  // namespace
}  // namespace halftone::formats::onnx
