// SPDX-License-Identifier: Apache-2.0
// Experts and tables of few bits as ONNX Runtime has them. The values are those of ONNX Runtime
// 1.32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Floats = std::vector<float>;
using Fill = std::function<void(NodeProto&)>;

/// Six digits were printed, of sums of a few products below `size`.
void expect_sums(const Floats& found, const Floats& expected, float size = 1) {
  EXPECT_THAT(found, Pointwise(FloatNear(2e-6F * size), expected));
}

OperatorCase of_microsoft(const std::string& op_type, std::vector<Operand> inputs, Fill fill = {}) {
  return {op_type, std::move(inputs), std::move(fill), "com.microsoft", 21};
}

/// Bytes 0, 1, 2, ...
Operand bytes(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) count *= extent;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(i);
  return whole(dims, values, TensorProto::UINT8);
}

const Operand kRows = pattern({2, 2}, 0);
const Operand kRouter = pattern({2, 3}, 1);

OperatorCase experts(const std::string& activation, std::int64_t chosen, const Fill& fill = {}) {
  const std::int64_t columns = activation == "swiglu" ? 4 : 2;
  std::vector<Operand> inputs{kRows, kRouter, pattern({3, columns, 2}, 2), pattern({3, columns}, 3),
                              pattern({3, 2, 2}, 4)};
  if (activation == "swiglu") inputs.push_back(pattern({3, 2}, 5));
  return of_microsoft("MoE", std::move(inputs), [=](NodeProto& n) {
    set(n, "k", chosen);
    set(n, "activation_type", activation);
    if (fill) fill(n);
  });
}

TEST(Experts, AddWhatTheRouterChooses) {
  const auto swiglu = experts("swiglu", 2, [](NodeProto& n) {
    set(n, "swiglu_fusion", std::int64_t{1});
    set(n, "swiglu_limit", 0.2F);
    set(n, "activation_alpha", 1.7F);
    set(n, "activation_beta", 1.0F);
  });
  expect_sums(swiglu.run()[0], {0.211459F, -0.067949F, 0.217517F, -0.0740076F});
  const auto gelu = experts(
      "gelu", 1, [](NodeProto& n) { set(n, "normalize_routing_weights", std::int64_t{1}); });
  expect_sums(gelu.run()[0], {-0.0423763F, -0.0161356F, -0.0220959F, -0.0330677F});
}

OperatorCase coded_experts(const std::vector<Operand>& more = {}, const Fill& fill = {}) {
  std::vector<Operand> inputs{pattern({2, 4}, 0), pattern({2, 2}, 1), bytes({2, 4, 2}),
                              pattern({2, 4}, 9), absent(),           bytes({2, 4, 2}),
                              pattern({2, 4}, 2)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return of_microsoft("QMoE", std::move(inputs), [=](NodeProto& n) {
    set(n, "activation_type", std::string("relu"));
    set(n, "expert_weight_bits", std::int64_t{4});
    if (fill) fill(n);
  });
}

TEST(Experts, HaveCodesOfFourBits) {
  const auto plain = coded_experts();
  expect_sums(plain.run()[0], {-0.688F, 3.288F, -2.02F, -14.72F, -0.232F, 0.552F, -0.544F, 0}, 16);
  EXPECT_THAT(ir::to_text(plain.model().import()), HasSubstr("4 bits"));
  const auto shifted =
      coded_experts({absent(), absent(), absent(), absent(), bytes({2, 2}), bytes({2, 2})});
  expect_sums(shifted.run()[0], {-11.776F, 14.376F, -4.33F, -33.2F, 0.066F, -0.594F, 1.056F, 0},
              34);
}

TEST(Experts, DescribeWhatTheyLack) {
  const auto refuse = [](const OperatorCase& test, ErrorKind kind, const std::string& text) {
    expect_failure(test.model(), kind, text);
  };
  refuse(experts("relu", 4), ErrorKind::kShape, "4 of 3 experts do not fit rows [2, 2]");
  refuse(experts("swiglu", 1), ErrorKind::kUnsupported, "swiglu_fusion: expected 1");
  refuse(experts("relu", 1, [](NodeProto& n) { set(n, "use_sparse_mixer", std::int64_t{1}); }),
         ErrorKind::kUnsupported, "use_sparse_mixer");
  refuse(coded_experts({absent(), bytes({2, 4, 2})}), ErrorKind::kUnsupported,
         "experts of three layers");
  refuse(coded_experts({}, [](NodeProto& n) { set(n, "quant_type", std::string("fp4")); }),
         ErrorKind::kUnsupported, "quant_type: expected int");
  refuse(coded_experts({}, [](NodeProto& n) { n.mutable_attribute(1)->set_i(3); }),
         ErrorKind::kUnsupported, "expected 2, 4 or 8 bits, found 3");
  auto few_scales = coded_experts();
  few_scales.inputs[3] = pattern({4}, 9);
  refuse(few_scales, ErrorKind::kShape, "scales: expected 2 experts, found [4]");
  auto few_bytes = coded_experts();
  few_bytes.inputs[2] = bytes({2, 4, 1});
  refuse(few_bytes, ErrorKind::kShape, "expected uint8 with 4 codes of 4 bits in a row");
  refuse(coded_experts({absent(), absent(), absent(), absent(), bytes({1, 2}), bytes({2, 2})}),
         ErrorKind::kShape, "zero points: expected [2, 4], found [1, 4]");
}

OperatorCase table(const std::vector<Operand>& more = {}, std::int64_t bits = 4) {
  std::vector<Operand> inputs{bytes({3, 8}), whole({2}, {2, -3}), pattern({3, 1}, 2)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return of_microsoft("GatherBlockQuantized", std::move(inputs), [=](NodeProto& n) {
    set(n, "bits", bits);
    set(n, "block_size", std::int64_t{16});
  });
}

TEST(GatherBlockQuantized, ReadsRowsOfCodes) {
  // Scales are 0.1, -0.3 and 0.4; row 2 begins with byte 16, of the codes 0 and 1.
  const Floats rows = table().run()[0];
  ASSERT_EQ(rows.size(), 32U);
  EXPECT_THAT(Floats(rows.begin(), rows.begin() + 4),
              Pointwise(FloatNear(1e-6F), {-3.2F, -2.8F, -2.8F, -2.8F}));
  EXPECT_THAT(Floats(rows.begin() + 16, rows.begin() + 19),
              Pointwise(FloatNear(1e-6F), {-0.8F, -0.8F, -0.7F}));
  const Floats shifted = table({whole({3, 1}, {3, 4, 5}, TensorProto::UINT8)}).run()[0];
  EXPECT_THAT(Floats(shifted.begin(), shifted.begin() + 2),
              Pointwise(FloatNear(1e-6F), {-2.0F, -1.6F}));
  expect_failure(table({}, 3).model(), ErrorKind::kUnsupported, "expected 2, 4 or 8 bits, found 3");
}

}  // namespace
}  // namespace halftone::formats::onnx
