// SPDX-License-Identifier: Apache-2.0
// Blocks of images as samples, dilated convolutions between them, and shapes that are computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/open_extents.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using ir::test::numbers;
using schema::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;

FileTensor margins(const Ints& values) {
  return constant_tensor(Ints{static_cast<std::int32_t>(values.size() / 2), 2}, TensorType::INT32,
                         values);
}

/// Marks the batch of an input as open.
void open_batch(FileBuilder& file, std::int32_t input) {
  auto& tensor = *file.model().subgraphs[0]->tensors[static_cast<std::size_t>(input)];
  tensor.shape_signature = tensor.shape;
  tensor.shape_signature[0] = -1;
}

std::vector<float> run(const ir::Graph& graph, ir::Tensor input) {
  std::vector<ir::Tensor> inputs;
  inputs.push_back(std::move(input));
  return numbers(run_reference(graph, inputs)[0]);
}

TEST(SpaceToBatch, MakesASampleOfEachPhase) {
  FileBuilder file;
  const auto x = file.tensor({{1, 2, 3, 1}});
  const auto y = file.computed(
      OperatorCode::kSpaceToBatchNd,
      {x, file.tensor(integers({2, 2})), file.tensor(margins({0, 0, 0, 1}))}, {{4, 1, 2, 1}});
  file.ends({x}, {y});
  EXPECT_THAT(run(import_circle(file.bytes()), floats({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6})),
              ElementsAre(1, 3, 2, 0, 4, 6, 5, 0));
}

TEST(BatchToSpace, JoinsThePhasesAndCropsThem) {
  FileBuilder file;
  const auto x = file.tensor({{4, 1, 2, 1}});
  const auto y = file.computed(
      OperatorCode::kBatchToSpaceNd,
      {x, file.tensor(integers({2, 2})), file.tensor(margins({0, 0, 0, 1}))}, {{1, 2, 3, 1}});
  file.ends({x}, {y});
  EXPECT_THAT(run(import_circle(file.bytes()), floats({4, 1, 2, 1}, {1, 3, 2, 0, 4, 6, 5, 0})),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(BatchToSpace, RefusesBlocksThatDoNotFit) {
  FileBuilder file;
  const auto x = file.tensor({{3, 1, 2, 1}});
  const auto y = file.computed(
      OperatorCode::kBatchToSpaceNd,
      {x, file.tensor(integers({2, 2})), file.tensor(margins({0, 0, 0, 0}))}, {{1, 2, 2, 1}});
  file.ends({x}, {y});
  const Error error = error_of([&] { import_circle(file.bytes()); });
  EXPECT_EQ(error.kind(), ErrorKind::kFormat);
  EXPECT_THAT(error.what(), HasSubstr("the samples do not divide into blocks"));
}

/// The three operators with dilation 2 and SAME padding. Another reader of the blocks keeps them.
FileBuilder dilated_layer(bool has_other_reader) {
  Random random(3);
  const ir::Tensor weights = random_tensor({2, 3, 3, 1}, random);
  const std::vector<float> w = numbers(weights);
  FileBuilder file;
  const auto x = file.tensor({{1, 6, 6, 1}});
  const auto blocks = file.tensor(integers({2, 2}));
  const auto phases =
      file.computed(OperatorCode::kSpaceToBatchNd, {x, blocks, file.tensor(margins({2, 2, 2, 2}))},
                    {{4, 5, 5, 1}});
  schema::Conv2DOptionsT options;
  options.padding = schema::Padding::VALID;
  options.stride_h = options.stride_w = 1;
  const auto kernel = file.tensor(constant_tensor(Ints{2, 3, 3, 1}, TensorType::FLOAT32, w));
  const auto bias =
      file.tensor(constant_tensor<float>(Ints{2}, TensorType::FLOAT32, {0.5F, -0.25F}));
  const auto sums =
      file.computed(OperatorCode::kConv2d, {phases, kernel, bias}, {{4, 3, 3, 2}}, united(options));
  const auto y = file.computed(OperatorCode::kBatchToSpaceNd,
                               {sums, blocks, file.tensor(margins({0, 0, 0, 0}))}, {{1, 6, 6, 2}});
  if (has_other_reader) {
    file.ends({x}, {y, phases});
  } else {
    open_batch(file, x);
    file.ends({x}, {y});
  }
  return file;
}

TEST(DilatedConvolution, ReplacesBlocksAndKeepsTheBatch) {
  const ir::Graph graph = import_circle(dilated_layer(false).bytes());
  ASSERT_EQ(graph.topological_order().size(), 1U);
  const auto& conv = std::get<ir::Conv>(graph.node(graph.topological_order()[0]).op);
  EXPECT_THAT(conv.window.dilations, ElementsAre(2, 2));
  EXPECT_THAT(conv.window.pads_before, ElementsAre(2, 2));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{kBatch, 6, 6, 2}));
  // The same file with the blocks as an output computes the three operators one by one.
  const ir::Graph plain = import_circle(dilated_layer(true).bytes());
  EXPECT_GT(plain.topological_order().size(), 3U);
  const ir::Tensor x = random_tensor({1, 6, 6, 1}, 5);
  const std::vector<float> expected = run(plain, x.clone());
  const std::vector<float> found = run(graph, x.clone());
  constexpr float kTolerance = 2 * 10 * 0x1p-24F * 30;  // sums of ten terms below 3
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kTolerance);
}

TEST(Shape, IsFoldedIntoAReshapeOfTheBatch) {
  FileBuilder file;
  const auto x = file.tensor({{1, 2, 3}});
  open_batch(file, x);
  const auto shape = file.computed(OperatorCode::kShape, {x}, {{3}, TensorType::INT32});
  const auto zero = file.tensor(integers({0}));
  const auto one = file.tensor(integers({1}));
  schema::StridedSliceOptionsT slice;
  slice.shrink_axis_mask = 1;
  const auto batch = file.computed(OperatorCode::kStridedSlice, {shape, zero, one, one},
                                   {{}, TensorType::INT32}, united(slice));
  const auto rest = file.tensor(constant_tensor(Ints{}, TensorType::INT32, Ints{6}));
  schema::PackOptionsT pack;
  pack.values_count = 2;
  const auto target =
      file.computed(OperatorCode::kPack, {batch, rest}, {{2}, TensorType::INT32}, united(pack));
  const auto y = file.computed(OperatorCode::kReshape, {x, target}, {{1, 6}});
  file.ends({x}, {y});
  const ir::Graph graph = import_circle(file.bytes());
  EXPECT_EQ(graph.topological_order().size(), 1U);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{kBatch, 6}));
}

TEST(Shape, ThatIsDataMakesTheBatchAnOpenExtent) {
  FileBuilder file;
  const auto x = file.tensor({{1, 3}});
  open_batch(file, x);
  const auto shape = file.computed(OperatorCode::kShape, {x}, {{2}, TensorType::INT32});
  const auto zero = file.tensor(integers({0}));
  const auto one = file.tensor(integers({1}));
  const auto batch =
      file.computed(OperatorCode::kStridedSlice, {shape, zero, one, one}, {{1}, TensorType::INT32});
  schema::CastOptionsT cast;
  cast.in_data_type = TensorType::INT32;
  const auto count = file.computed(OperatorCode::kCast, {batch}, {{1}}, united(cast));
  const auto y = file.computed(OperatorCode::kMul, {x, count}, {{1, 3}});
  file.ends({x}, {y});
  const std::vector<std::byte> bytes = file.bytes();
  const ir::Graph open = import_circle(bytes);
  EXPECT_EQ(open.value(open.inputs()[0]).type.to_string(), "float32[t0_0, 3]");
  for (const ir::Dim samples : {ir::Dim{1}, ir::Dim{2}}) {
    ir::Graph filled = open;
    ir::fill_in_extents(filled, {{"t0_0", samples}});
    ImportOptions options;
    options.shapes["t0"] = ir::Shape{samples, 3};
    for (const ir::Graph& graph : {filled, import_circle(bytes, options)}) {
      const auto found = run(graph, ir::test::counting({samples, 3}));
      EXPECT_EQ(found.size(), static_cast<std::size_t>(3 * samples));
      EXPECT_EQ(found.back(), static_cast<float>((3 * samples - 1) * samples));
    }
  }
}

TEST(Fill, RepeatsAValue) {
  FileBuilder file;
  const auto x = file.tensor({{2, 2}});
  const auto value = file.tensor(constant_tensor<float>(Ints{}, TensorType::FLOAT32, {1.5F}));
  const auto filled =
      file.computed(OperatorCode::kFill, {file.tensor(integers({2, 2})), value}, {{2, 2}});
  const auto y = file.computed(OperatorCode::kAdd, {x, filled}, {{2, 2}});
  file.ends({x}, {y});
  EXPECT_THAT(run(import_circle(file.bytes()), floats({2, 2}, {1, 2, 3, 4})),
              ElementsAre(2.5, 3.5, 4.5, 5.5));
}

}  // namespace
}  // namespace halftone::formats::circle
