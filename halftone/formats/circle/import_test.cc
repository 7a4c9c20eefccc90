// SPDX-License-Identifier: Apache-2.0
// Files that the exporter never writes: other forms of operators, other types, other codes.
#include "halftone/formats/circle/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/half.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using schema::TensorType;
using testing::HasSubstr;

std::int32_t number(OperatorCode code) { return static_cast<std::int32_t>(code); }

/// The outputs for the input 0, 1, 2, ...
std::vector<std::vector<float>> outputs_of(const schema::ModelT& model, const ir::Shape& input) {
  const ir::Graph graph = import_circle(packed(model));
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::test::counting(input));
  std::vector<std::vector<float>> results;
  for (const ir::Tensor& output : run_reference(graph, inputs)) {
    results.push_back(ir::test::elements<float>(output));
  }
  return results;
}

TEST(ResolveCode, FollowsEachFormatsRule) {
  using enum CircleFlavor;
  EXPECT_EQ(resolve_code(kTflite, 9, 0), OperatorCode::kFullyConnected);
  EXPECT_EQ(resolve_code(kTflite, 127, 150), OperatorCode::kGelu);
  EXPECT_EQ(resolve_code(kTflite, 9, 9), OperatorCode::kFullyConnected);
  EXPECT_EQ(resolve_code(kCircle, 127, 150), OperatorCode::kGelu);
  EXPECT_EQ(resolve_code(kCircle, -3, 200), OperatorCode::kBcqFullyConnected);
  EXPECT_EQ(resolve_code(kCircle, -56, 0), OperatorCode::kLqFullyConnected);
  EXPECT_EQ(name_of(OperatorCode{200}), "STABLEHLO_WHILE");
  EXPECT_EQ(name_of(OperatorCode{-2}), "INSTANCE_NORM");
  EXPECT_EQ(name_of(OperatorCode{-9}), "ATTENTION");
  EXPECT_EQ(name_of(OperatorCode::kLqFullyConnected), "LQ_FULLY_CONNECTED");
  EXPECT_EQ(name_of(OperatorCode{4711}), "operator 4711");
  EXPECT_EQ(name_of(OperatorCode{-12}), "operator -12");
}

TEST(ImportCircle, ReadsUnpackAsOneOutputPerIndex) {
  schema::UnpackOptionsT options;
  options.num = 2;
  options.axis = 1;
  const auto model = one_operator(number(OperatorCode::kUnpack), {{{3, 2}}, {{3}}, {{3}}}, {0},
                                  {1, 2}, united(options));
  EXPECT_EQ(outputs_of(model, {3, 2}), (std::vector<std::vector<float>>{{0, 2, 4}, {1, 3, 5}}));
}

TEST(ImportCircle, ReadsPackAsANewAxis) {
  schema::PackOptionsT options;
  options.values_count = 2;
  options.axis = 1;
  const auto model =
      one_operator(number(OperatorCode::kPack), {{{3}}, {{3, 2}}}, {0, 0}, {1}, united(options));
  EXPECT_EQ(outputs_of(model, {3}), (std::vector<std::vector<float>>{{0, 0, 1, 1, 2, 2}}));
}

TEST(ImportCircle, ReadsSplitsOfEqualAndGivenSizes) {
  schema::SplitOptionsT equal;
  equal.num_splits = 2;
  EXPECT_EQ(outputs_of(one_operator(number(OperatorCode::kSplit),
                                    {{{1, 4}}, integers({1}), {{1, 2}}, {{1, 2}}}, {1, 0}, {2, 3},
                                    united(equal)),
                       {1, 4}),
            (std::vector<std::vector<float>>{{0, 1}, {2, 3}}));
  schema::SplitVOptionsT given;
  given.num_splits = 2;
  EXPECT_EQ(
      outputs_of(one_operator(number(OperatorCode::kSplitV),
                              {{{1, 4}}, integers({3, -1}), integers({1}), {{1, 3}}, {{1, 1}}},
                              {0, 1, 2}, {3, 4}, united(given)),
                 {1, 4}),
      (std::vector<std::vector<float>>{{0, 1, 2}, {3}}));
}

TEST(ImportCircle, ReadsStridedSlicesWithMasks) {
  const auto slice = [](Ints begin, Ints end, Ints step, std::int32_t begin_mask,
                        std::int32_t end_mask, std::int32_t shrink, Ints shape) {
    schema::StridedSliceOptionsT options;
    options.begin_mask = begin_mask;
    options.end_mask = end_mask;
    options.shrink_axis_mask = shrink;
    const auto model =
        one_operator(number(OperatorCode::kStridedSlice),
                     {{{2, 4}}, integers(begin), integers(end), integers(step), {std::move(shape)}},
                     {0, 1, 2, 3}, {4}, united(options));
    return outputs_of(model, {2, 4})[0];
  };
  EXPECT_EQ(slice({0, 1}, {2, 3}, {1, 1}, 0, 0, 0, {2, 2}), (std::vector<float>{1, 2, 5, 6}));
  EXPECT_EQ(slice({0, -2}, {0, 0}, {1, 1}, 1, 3, 0, {2, 2}), (std::vector<float>{2, 3, 6, 7}));
  EXPECT_EQ(slice({1, 0}, {2, 4}, {1, 1}, 0, 0, 1, {4}), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(slice({0, -1}, {1, -5}, {1, -2}, 0, 0, 0, {1, 2}), (std::vector<float>{3, 1}));
  EXPECT_EQ(slice({0, 3}, {9, 1}, {1, 1}, 0, 0, 0, {2, 0}), (std::vector<float>{}));
  EXPECT_EQ(slice({1}, {2}, {1}, 0, 0, 0, {1, 4}), (std::vector<float>{4, 5, 6, 7}));
}

TEST(ImportCircle, ReadsStridedSlicesWithEllipsesAndNewAxes) {
  const auto slice = [](Ints begin, Ints step, std::int32_t ellipsis, std::int32_t added,
                        std::int32_t shrink) {
    schema::StridedSliceOptionsT options;
    options.end_mask = 15;
    options.ellipsis_mask = ellipsis;
    options.new_axis_mask = added;
    options.shrink_axis_mask = shrink;
    const auto model =
        one_operator(number(OperatorCode::kStridedSlice),
                     {{{2, 2, 2}}, integers(begin), integers(begin), integers(step), {{1}}},
                     {0, 1, 2, 3}, {4}, united(options));
    const ir::Graph graph = import_circle(packed(model));
    const auto y = run_reference(graph, ir::test::list(ir::test::counting({2, 2, 2})));
    return std::pair(y[0].shape(), ir::test::elements<float>(y[0]));
  };
  using Result = std::pair<ir::Shape, std::vector<float>>;
  // x[..., 1], x[1, None, ..., ::-1], x[..., None]
  EXPECT_EQ(slice({0, 1}, {1, 1}, 1, 0, 2), (Result{{2, 2}, {1, 3, 5, 7}}));
  EXPECT_EQ(slice({1, 0, 0, -1}, {1, 1, 1, -1}, 4, 2, 1), (Result{{1, 2, 2}, {5, 4, 7, 6}}));
  EXPECT_EQ(slice({0, 0}, {1, 1}, 1, 2, 0), (Result{{2, 2, 2, 1}, {0, 1, 2, 3, 4, 5, 6, 7}}));
}

TEST(ImportCircle, ReadsSqueezeAndExpandDims) {
  schema::SqueezeOptionsT axes;
  axes.squeeze_dims = {-1};
  EXPECT_EQ(import_circle(packed(one_operator(number(OperatorCode::kSqueeze),
                                              {{{2, 3, 1}}, {{2, 3}}}, {0}, {1}, united(axes))))
                .value(ir::ValueId{1})
                .type.to_string(),
            "float32[2, 3]");
  const auto model = one_operator(number(OperatorCode::kExpandDims),
                                  {{{2, 3}}, integers({-1}), {{2, 3, 1}}}, {0, 1}, {2});
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "float32[2, 3, 1]");
}

TEST(ImportCircle, ReadsReciprocalRootsAndSquaredDifferences) {
  EXPECT_FLOAT_EQ(
      outputs_of(one_operator(number(OperatorCode::kRsqrt), {{{5}}, {{5}}}, {0}, {1}), {5})[0][4],
      0.5F);
  const auto model = one_operator(
      number(OperatorCode::kSquaredDifference),
      {{{2}}, constant_tensor<float>({2}, TensorType::FLOAT32, {3, -1}), {{2}}}, {0, 1}, {2});
  EXPECT_EQ(outputs_of(model, {2})[0], (std::vector<float>{9, 4}));
}

TEST(ImportCircle, WidensFloat16ConstantsAndTheirDequantize) {
  const std::vector<std::uint16_t> halves = {half_from_float(0.5F), half_from_float(-3)};
  const auto model =
      one_operator(number(OperatorCode::kAdd),
                   {{{2}}, constant_tensor({2}, TensorType::FLOAT16, halves), {{2}}}, {0, 1}, {2});
  EXPECT_EQ(outputs_of(model, {2})[0], (std::vector<float>{0.5F, -2}));
}

TEST(ImportCircle, FlattensTheInputOfFullyConnected) {
  const auto model = one_operator(
      number(OperatorCode::kFullyConnected),
      {{{2, 1, 3}}, constant_tensor<float>({1, 3}, TensorType::FLOAT32, {1, 1, 1}), {{2, 1}}},
      {0, 1, -1}, {2});
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "float32[2, 1]");
  EXPECT_EQ(outputs_of(model, {2, 1, 3})[0], (std::vector<float>{3, 12}));
}

TEST(ImportCircle, TakesTheBatchFromTheSignature) {
  auto model = one_operator(number(OperatorCode::kReshape),
                            {{{4, 2, 3}}, integers({4, 6}), {{4, 6}}}, {0, 1}, {2});
  model.subgraphs[0]->tensors[0]->shape_signature = {-1, 2, 3};
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{kBatch, 2, 3}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{kBatch, 6}));
}

TEST(ImportCircle, KeepsTheFilesExtentsIfTheBatchCannotBeSymbolic) {
  auto model = one_operator(number(OperatorCode::kReshape),
                            {{{4, 2, 3}}, integers({2, 12}), {{2, 12}}}, {0, 1}, {2});
  model.subgraphs[0]->tensors[0]->shape_signature = {-1, 2, 3};
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{4, 2, 3}));
}

TEST(ImportCircle, KeepsTheBatchInsideAnAxis) {
  auto model = one_operator(number(OperatorCode::kReshape),
                            {{{1, 2, 3}}, integers({2, 3}), {{2, 3}}}, {0, 1}, {2});
  model.subgraphs[0]->tensors[0]->shape_signature = {-1, 2, 3};
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "float32[2N, 3]");
}

TEST(ImportCircle, ReadsQuantizedOperatorsAsFloatOnesBetweenConversions) {
  auto model = one_operator(number(OperatorCode::kFullyConnected),
                            {{{1, 2}, TensorType::INT8, {}},
                             constant_tensor<std::int8_t>({1, 2}, TensorType::INT8, {2, -4}),
                             constant_tensor<std::int32_t>({1}, TensorType::INT32, {100}),
                             {{1, 1}, TensorType::INT8, {}}},
                            {0, 1, 2}, {3});
  const auto quantize = [&](std::size_t tensor, float scale, std::int64_t zero_point) {
    auto& parameters = model.subgraphs[0]->tensors[tensor]->quantization;
    parameters = std::make_unique<schema::QuantizationParametersT>();
    parameters->scale = {scale};
    parameters->zero_point = {zero_point};
  };
  quantize(0, 0.5F, 1);
  quantize(1, 0.25F, 0);
  quantize(2, 0.125F, 0);
  quantize(3, 1, -5);
  const ir::Graph graph = import_circle(packed(model));
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::test::counting({1, 2}).cast(ir::ElementType::kInt8));
  // x = 0.5 {-1, 0}, w = {0.5, -1}, b = 12.5: -0.25 + 12.5 = 12.25 -> 12 - 5.
  EXPECT_EQ(run_reference(graph, inputs)[0].as<std::int8_t>()[0], 7);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "t3");
  EXPECT_THAT(ir::to_text(graph), HasSubstr("t3/float: float32[N, 1] = FullyConnected"));
}

TEST(ImportCircle, SharesConstantsThatShareABuffer) {
  auto model = one_operator(
      number(OperatorCode::kAdd),
      {{{2}}, constant_tensor<float>({2}, TensorType::FLOAT32, {1, 2}), {{2}}}, {0, 1}, {2});
  auto& tensors = model.subgraphs[0]->tensors;
  tensors.push_back(std::make_unique<schema::TensorT>(*tensors[1]));
  tensors.push_back(std::make_unique<schema::TensorT>(*tensors[2]));
  auto second = std::make_unique<schema::OperatorT>(*model.subgraphs[0]->operators[0]);
  second->inputs = {2, 3};
  second->outputs = {4};
  model.subgraphs[0]->operators.push_back(std::move(second));
  model.subgraphs[0]->outputs = {4};
  const ir::Graph graph = import_circle(packed(model));
  std::vector<const ir::Constant*> constants;
  for (std::uint32_t v = 0; v < graph.num_values(); ++v) {
    if (const auto* constant = graph.constant(ir::ValueId{v})) constants.push_back(constant);
  }
  ASSERT_EQ(constants.size(), 2U);
  EXPECT_EQ(constants[0], constants[1]);
}

TEST(ImportCircle, ReadsDataAfterTheTables) {
  auto model = one_operator(
      number(OperatorCode::kAdd),
      {{{2}}, constant_tensor<float>({2}, TensorType::FLOAT32, {0, 0}), {{2}}}, {0, 1}, {2});
  auto& buffer = *model.buffers[1];
  buffer.data.clear();
  buffer.offset = 4096;
  buffer.size = 8;
  auto bytes = packed(model);
  bytes.resize(4096 + 8);
  const std::array<float, 2> numbers = {5, 6};
  std::ranges::copy(std::as_bytes(std::span(numbers)), bytes.begin() + 4096);
  const ir::Graph graph = import_circle(bytes);
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::test::counting({2}));
  EXPECT_EQ(run_reference(graph, inputs)[0].as<float>()[1], 7);
  bytes.pop_back();
  EXPECT_STREQ(error_of([&] { import_circle(bytes); }).what(),
               "operator 0 (ADD): tensor 't1': its data lie beyond the end of the file");
}

TEST(ImportCircle, NamesAllUnsupportedOperatorsAtOnce) {
  auto bytes = export_circle(small_network(), CircleFlavor::kCircle);
  bytes = edited(bytes, [](schema::ModelT& model) {
    model.operator_codes[0]->deprecated_builtin_code = 10;  // HASHTABLE_LOOKUP
    model.operator_codes[1]->deprecated_builtin_code = -3;  // BCQ_FULLY_CONNECTED
  });
  const Error error = error_of([&] { import_circle(bytes); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_STREQ(
      error.what(),
      "unsupported operators: BCQ_FULLY_CONNECTED (weight-only binary coding whose cluster "
      "order is not public), HASHTABLE_LOOKUP, 2 times");
}

TEST(ImportCircle, NamesUnknownCustomOperators) {
  auto model = one_operator(number(OperatorCode::kCustom), {{{2}}, {{2}}}, {0}, {1});
  model.operator_codes[0]->custom_code = "Mystery";
  EXPECT_STREQ(error_of([&] { import_circle(packed(model)); }).what(),
               "unsupported operators: CUSTOM 'Mystery'");
}

TEST(ImportCircle, NamesTheUnsupportedFormOfAnOperator) {
  schema::FullyConnectedOptionsT options;
  options.weights_format = schema::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8;
  const auto model = one_operator(
      number(OperatorCode::kFullyConnected),
      {{{1, 2}}, constant_tensor<float>({1, 2}, TensorType::FLOAT32, {1, 1}), {{1, 1}}}, {0, 1},
      {2}, united(options));
  const Error error = error_of([&] { import_circle(packed(model)); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_STREQ(error.what(), "operator 0 (FULLY_CONNECTED): weights format 1");
}

TEST(ImportCircle, RefusesWeightsThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const auto model = one_operator(
        number(OperatorCode::kAdd),
        {{{2}}, constant_tensor<float>({2}, TensorType::FLOAT32, {1, bad}), {{2}}}, {0, 1}, {2});
    const Error error = error_of([&] { import_circle(packed(model)); });
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    EXPECT_THAT(error.what(), HasSubstr("constant 't1': expected finite numbers, found "));
  }
}

TEST(ImportCircle, BoundsMayBeInfinite) {
  const float least = -std::numeric_limits<float>::infinity();
  const auto model = one_operator(
      number(OperatorCode::kMaximum),
      {{{1, 2}}, constant_tensor<float>({}, TensorType::FLOAT32, {least}), {{1, 2}}}, {0, 1}, {2});
  const ir::Graph graph = import_circle(packed(model));
  std::vector<ir::Tensor> inputs;
  inputs.push_back(floats({1, 2}, {1, -1}));
  EXPECT_THAT(ir::test::numbers(run_reference(graph, inputs)[0]), testing::ElementsAre(1, -1));
}

}  // namespace
}  // namespace halftone::formats::circle
