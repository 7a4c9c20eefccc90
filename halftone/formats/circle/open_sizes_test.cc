// SPDX-License-Identifier: Apache-2.0
// Files whose signatures leave extents open, as TensorFlow's converter writes them: numbers that
// hold for one batch only, other open extents, rows of lists and variables without effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/import.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/ir/open_extents.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using ir::test::numbers;
using schema::TensorType;
using testing::HasSubstr;
using Op = OperatorCode;

void sign(FileBuilder& file, std::int32_t tensor, std::vector<std::int32_t> signature) {
  auto& graph = *file.model().subgraphs[0];
  graph.tensors[static_cast<std::size_t>(tensor)]->shape_signature = std::move(signature);
}

/// Extent `axis` of x, as TensorFlow takes it from the shape.
std::int32_t extent_of(FileBuilder& file, std::int32_t x, std::int32_t rank, std::int32_t axis) {
  const auto shape = file.computed(Op::kShape, {x}, {{rank}, TensorType::INT32});
  schema::StridedSliceOptionsT one;
  one.shrink_axis_mask = 1;
  return file.computed(Op::kStridedSlice,
                       {shape, file.tensor(integers({axis})), file.tensor(integers({axis + 1})),
                        file.tensor(integers({1}))},
                       {{}, TensorType::INT32}, united(one));
}

/// A scalar constant.
std::int32_t whole(FileBuilder& file, std::int32_t number) {
  return file.tensor(constant_tensor<std::int32_t>({}, TensorType::INT32, {number}));
}

ir::Shape input_of(const ir::Graph& graph) { return graph.value(graph.inputs()[0]).type.shape; }

TEST(OpenBatch, IsKeptByAReshapeToItselfAndTheRest) {
  FileBuilder file;
  const auto x = file.tensor({{1, 2, 3}});
  schema::PackOptionsT pack;
  pack.values_count = 2;
  const auto batch = extent_of(file, x, 3, 0);
  const auto shape =
      file.computed(Op::kPack, {batch, whole(file, -1)}, {{2}, TensorType::INT32}, united(pack));
  const auto y = file.computed(Op::kReshape, {x, shape}, {{1, 6}});
  file.ends({x}, {y});
  sign(file, x, {-1, 2, 3});
  const ir::Graph graph = import_circle(file.bytes());
  EXPECT_EQ(input_of(graph), (ir::Shape{kBatch, 2, 3}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{kBatch, 6}));
}

/// The output of a network whose first extent has the symbol "t0_0".
std::vector<float> output_for(ir::Graph graph, const ir::Tensor& x) {
  EXPECT_EQ(ir::open_extents(graph), std::vector<std::string>{"t0_0"});
  ir::fill_in_extents(graph, {{"t0_0", x.shape()[0]}});
  return numbers(run_reference(graph, ir::test::list(x.clone()))[0]);
}

TEST(OpenBatch, IsASymbolWhereSamplesAreMixed) {
  FileBuilder file;
  const auto x = file.tensor({{1, 2}});
  schema::ReducerOptionsT options;
  options.keep_dims = true;
  const auto mean =
      file.computed(Op::kMean, {x, file.tensor(integers({0}))}, {{1, 2}}, united(options));
  file.ends({x}, {file.computed(Op::kSub, {x, mean}, {{1, 2}})});
  sign(file, x, {-1, 2});
  const ir::Graph graph = import_circle(file.bytes());
  EXPECT_EQ(output_for(graph, floats({1, 2}, {5, 6})), (std::vector<float>{0, 0}));
  EXPECT_EQ(output_for(graph, floats({2, 2}, {1, 2, 3, 6})), (std::vector<float>{-1, -2, 1, 2}));
}

TEST(OpenBatch, IsASymbolWhereSamplesAreSelected) {
  FileBuilder file;
  const auto x = file.tensor({{1, 2}});
  schema::StridedSliceOptionsT options;
  options.begin_mask = options.end_mask = 1;
  const auto zero = file.tensor(integers({0}));
  const auto y = file.computed(Op::kStridedSlice, {x, zero, zero, file.tensor(integers({-2}))},
                               {{1, 2}}, united(options));
  file.ends({x}, {y});
  sign(file, x, {-1, 2});
  const ir::Graph graph = import_circle(file.bytes());
  EXPECT_EQ(output_for(graph, floats({1, 2}, {5, 6})), (std::vector<float>{5, 6}));
  EXPECT_EQ(output_for(graph, floats({3, 2}, {1, 2, 3, 4, 5, 6})),
            (std::vector<float>{5, 6, 1, 2}));
}

TEST(OpenBatch, IsASymbolWhereItsNumberIsComputedWith) {
  FileBuilder file;
  const auto x = file.tensor({{1, 2}});
  const auto more =
      file.computed(Op::kAdd, {extent_of(file, x, 2, 0), whole(file, 1)}, {{}, TensorType::INT32});
  schema::PackOptionsT pack;
  pack.values_count = 2;
  const auto shape =
      file.computed(Op::kPack, {more, whole(file, 2)}, {{2}, TensorType::INT32}, united(pack));
  const auto value = file.tensor(constant_tensor<float>({}, TensorType::FLOAT32, {7}));
  const auto filled = file.computed(Op::kFill, {shape, value}, {{2, 2}});
  file.ends({x}, {file.computed(Op::kConcatenation, {x, filled}, {{3, 2}})});
  sign(file, x, {-1, 2});
  const ir::Graph graph = import_circle(file.bytes());
  EXPECT_TRUE(graph.definitions().empty());
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.to_string(), "float32[2*t0_0 + 1, 2]");
  EXPECT_EQ(output_for(graph, floats({1, 2}, {5, 6})), (std::vector<float>{5, 6, 7, 7, 7, 7}));
}

TEST(OpenExtents, WaitForNumbers) {
  FileBuilder file;
  const auto x = file.tensor({{1, 1, 1, 2}});
  file.ends({x}, {file.computed(Op::kRelu, {x}, {{1, 1, 1, 2}})});
  file.model().subgraphs[0]->tensors[0]->name = "serving_default_x:0";
  sign(file, x, {-1, 1, -1, 2});
  const Error error = error_of([&] { import_circle(file.bytes()); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("read with numbers for extents"));
  const ir::Graph open = circle_inputs(own_bytes(file.bytes()), {});
  EXPECT_EQ(input_of(open).to_string(), "[N, 1, x_2, 2]");
  ImportOptions given;
  given.shapes["serving_default_x:0"] = ir::Shape{kBatch, 1, 5, 2};
  EXPECT_EQ(input_of(import_circle(file.bytes(), given)), (ir::Shape{kBatch, 1, 5, 2}));
}

/// list[i] = row: what lies before, the row, and what lies behind. `step` is 1.
std::vector<std::byte> list_write(std::int32_t step) {
  FileBuilder file;
  const auto list = file.tensor({{3, 2}});
  const auto i = file.tensor({{}, TensorType::INT32});
  const auto row = file.tensor({{1, 2}});
  const auto joined = [&](std::int32_t number, std::int32_t rest) {
    const auto one =
        file.computed(Op::kReshape, {number, file.tensor(integers({1}))}, {{1}, TensorType::INT32});
    return file.computed(Op::kConcatenation, {one, file.tensor(integers({rest}))},
                         {{2}, TensorType::INT32});
  };
  const auto next = file.computed(Op::kAdd, {i, whole(file, step)}, {{}, TensorType::INT32});
  const auto before =
      file.computed(Op::kSlice, {list, file.tensor(integers({0, 0})), joined(i, -1)}, {{1, 2}});
  const auto after =
      file.computed(Op::kSlice, {list, joined(next, 0), file.tensor(integers({-1, -1}))}, {{1, 2}});
  const auto y = file.computed(Op::kConcatenation, {before, row, after}, {{3, 2}});
  file.ends({list, i, row}, {y});
  return file.bytes();
}

TEST(ListWrite, ReplacesARow) {
  const ir::Graph graph = import_circle(list_write(1));
  EXPECT_TRUE(graph.definitions().empty());
  for (std::int32_t i = 0; i < 3; ++i) {
    std::vector<ir::Tensor> inputs;
    inputs.push_back(floats({3, 2}, {1, 2, 3, 4, 5, 6}));
    inputs.push_back(ir::Tensor::from<std::int32_t>({}, {&i, 1}));
    inputs.push_back(floats({1, 2}, {8, 9}));
    std::vector<float> expected = {1, 2, 3, 4, 5, 6};
    expected[static_cast<std::size_t>(2 * i)] = 8;
    expected[static_cast<std::size_t>(2 * i + 1)] = 9;
    EXPECT_EQ(numbers(run_reference(graph, inputs)[0]), expected);
  }
}

TEST(ListWrite, IsNotOneThatLeavesRowsOut) {
  EXPECT_FALSE(import_circle(list_write(2)).definitions().empty());
}

TEST(Variables, AreNoStatesWhereNoOutputReadsThem) {
  for (const bool is_read : {false, true}) {
    FileBuilder file;
    const auto x = file.tensor({{1, 2}});
    schema::VarHandleOptionsT name;
    name.shared_name = "counter";
    const auto handle = file.computed(Op::kVarHandle, {}, {{}, TensorType::RESOURCE}, united(name));
    const auto before = file.computed(Op::kReadVariable, {handle}, {{1, 2}});
    const auto after = file.computed(Op::kAdd, {before, x}, {{1, 2}});
    file.op(Op::kAssignVariable, {handle, after}, {});
    file.ends({x}, {file.computed(Op::kRelu, {is_read ? before : x}, {{1, 2}})});
    const ir::Graph graph = import_circle(file.bytes());
    EXPECT_EQ(graph.states().size(), is_read ? 1U : 0U);
    EXPECT_EQ(graph.inputs().size(), is_read ? 2U : 1U);
  }
}

}  // namespace
}  // namespace halftone::formats::circle
