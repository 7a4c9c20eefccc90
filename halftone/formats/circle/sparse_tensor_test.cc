// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/sparse_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::test::expect_error;
using schema::DimensionType;
using testing::ElementsAre;

std::unique_ptr<schema::DimensionMetadataT> dense(std::int32_t size) {
  auto level = std::make_unique<schema::DimensionMetadataT>();
  level->format = DimensionType::DENSE;
  level->dense_size = size;
  return level;
}

std::unique_ptr<schema::DimensionMetadataT> sparse(const Ints& segments, const Ints& indices) {
  auto level = std::make_unique<schema::DimensionMetadataT>();
  level->format = DimensionType::SPARSE_CSR;
  schema::Uint8VectorT starts;
  starts.values.assign(segments.begin(), segments.end());
  schema::Int32VectorT positions;
  positions.values = indices;
  level->array_segments.Set(std::move(starts));
  level->array_indices.Set(std::move(positions));
  return level;
}

/// A 3 x 4 matrix by rows: 1 at (0, 2), 2 at (2, 0), 3 at (2, 3).
schema::SparsityParametersT rows() {
  schema::SparsityParametersT levels;
  levels.traversal_order = {0, 1};
  levels.dim_metadata.push_back(dense(3));
  levels.dim_metadata.push_back(sparse({0, 1, 1, 3}, {2, 0, 3}));
  return levels;
}

/// Reads float32 elements through a serialized table.
ir::Tensor read(const schema::SparsityParametersT& levels, const ir::Shape& shape,
                const std::vector<float>& values) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::SparsityParameters::Pack(builder, &levels));
  const auto* table = flatbuffers::GetRoot<schema::SparsityParameters>(builder.GetBufferPointer());
  return read_sparse(schema::TensorType::FLOAT32, shape, *table, std::as_bytes(std::span(values)));
}

TEST(SparseTensor, PutsStoredElementsAtTheirIndices) {
  EXPECT_THAT(ir::test::numbers(read(rows(), {3, 4}, {1, 2, 3})),
              ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 3));
}

TEST(SparseTensor, ReadsBlocks) {
  // A 2 x 4 matrix of blocks 1 x 2; only the second block of the first row is stored.
  schema::SparsityParametersT levels;
  levels.traversal_order = {0, 1, 2};
  levels.block_map = {1};
  levels.dim_metadata.push_back(dense(2));
  levels.dim_metadata.push_back(sparse({0, 1, 1}, {1}));
  levels.dim_metadata.push_back(dense(2));
  EXPECT_THAT(ir::test::numbers(read(levels, {2, 4}, {5, 6})), ElementsAre(0, 0, 5, 6, 0, 0, 0, 0));
}

TEST(SparseTensor, RefusesLevelsThatDoNotFit) {
  const auto expect = [](const std::string& text, auto&& change, std::size_t count = 3) {
    schema::SparsityParametersT levels = rows();
    change(levels);
    expect_error(ErrorKind::kFormat, text, [&] {
      read(levels, {3, 4}, std::vector<float>(count, 1.0F));
    });
  };
  expect("expected a level for each axis", [](auto& levels) { levels.traversal_order = {0}; });
  expect("the order of the levels", [](auto& levels) { levels.traversal_order = {0, 0}; });
  expect("do not fit [3, 4]", [](auto& levels) { levels.dim_metadata[0] = dense(4); });
  expect("do not divide its indices", [](auto& levels) {
    levels.dim_metadata[1] = sparse({0, 2, 1, 3}, {2, 0, 3});
  });
  expect("too few segments", [](auto& levels) {
    levels.dim_metadata[1] = sparse({0, 1, 3}, {2, 0, 3});
  });
  expect("a sparse index is out of range", [](auto& levels) {
    levels.dim_metadata[1] = sparse({0, 1, 1, 3}, {2, 0, 4});
  });
  expect(
      "too few elements", [](auto& /*levels*/) {}, 2);
}

}  // namespace
}  // namespace halftone::formats::circle
