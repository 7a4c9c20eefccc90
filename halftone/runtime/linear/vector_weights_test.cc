// SPDX-License-Identifier: Apache-2.0
// Graphs whose weights have a vector basis.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "halftone/ir/verify.h"
#include "halftone/kernels/groups/multiply_groups.h"
#include "halftone/numerics/stored_numbers.h"
#include "halftone/numerics/vector_basis.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::expect_error;
using ir::test::float_type;

/// Random blocks, with an encoding that nothing else holds.
ir::BlockTensor random_vectors(const ir::Shape& shape, std::string_view rate, Random& random) {
  const auto encoding = std::make_shared<const numerics::VectorEncoding>(
      numerics::shipped_vector_basis(rate), 0.0007F);
  std::vector<std::byte> bytes(encoding->bytes_of(shape.element_count()));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return {shape, encoding, own_bytes(std::move(bytes))};
}

ir::Graph layer_of(const ir::BlockTensor& weights) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, weights.shape.back()}));
  const auto w = graph.add_constant("w", weights);
  graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {x, w}));
  return graph;
}

/// The products by the definition: plain loops over decoded integers.
std::vector<float> plain_products(const ir::BlockTensor& weights, const ir::Tensor& x) {
  const auto [outputs, inputs] = ir::matrix_extent(weights.shape);
  const auto rows = static_cast<std::size_t>(x.shape()[0]);
  const numerics::BlockEncoding& encoding = *weights.encoding;
  const kernels::GroupExtents extents{inputs, 64};
  AlignedBuffer memory(kernels::EncodedRows::size_bytes(rows, extents));
  const kernels::EncodedRows encoded(memory.bytes(), rows, extents);
  kernels::encode_group_rows_reference({x.as<float>(), rows, inputs}, {0, rows}, encoded);
  std::vector<float> y(rows * outputs);
  kernels::multiply_groups_reference(
      {},
      [&](std::size_t row, auto codes, auto scales, auto /*offsets*/) {
        for (std::size_t b = 0; b < scales.size(); ++b) {
          encoding.unpack(encoding, weights.row(row).data() + b * encoding.block_bytes,
                          {codes.data() + b * 64, scales.data() + b, nullptr});
        }
      },
      encoded, MatrixView<float>(y, rows, outputs));
  return y;
}

TEST(VectorWeights, MultiplyAsTheirDefinitionSays) {
  Random random(1);
  for (const std::string_view rate : numerics::vector_rates()) {
    SCOPED_TRACE(rate);
    const ir::BlockTensor weights = random_vectors({150, 320}, rate, random);
    const ir::Graph graph = layer_of(weights);
    for (const std::size_t rows : {1U, 3U, 16U, 100U}) {
      const auto plan = make_plan(graph, {rows, 2});
      EXPECT_EQ(testing::kernel_of(*plan), "groups");
      EXPECT_EQ(plan->steps()[0].reason, "vector " + std::string(rate) + " in groups of 64");
      const auto inputs = ir::test::list(testing::random_tensor({ir::Dim(rows), 320}, random));
      Session session(plan);
      const auto y = session.run(inputs);
      EXPECT_TRUE(std::ranges::equal(y[0].as<float>(), plain_products(weights, inputs[0])));
    }
  }
}

TEST(VectorWeights, ArePackedInTheBytesOfTheFile) {
  Random random(2);
  const ir::BlockTensor weights = random_vectors({128, 512}, "4x9", random);
  EXPECT_EQ(ir::storage_bytes(weights), 128U * 8 * 19);
  EXPECT_EQ(make_plan(layer_of(weights), {1, 1})->packed_weight_bytes(), 128U * 8 * 19);
}

TEST(VectorWeights, OfExpertsMultiplyAsThoseOfLayers) {
  Random random(3);
  const ir::BlockTensor weights = random_vectors({3, 70, 128}, "2x7", random);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 128}));
  const auto w = graph.add_constant("w", weights);
  const auto chosen =
      graph.add_input("chosen", ir::dense_type(ElementType::kInt32, {ir::kBatch, 1}));
  graph.add_output(graph.add_node("experts", ir::ExpertProduct{}, {x, w, chosen}));
  const std::vector<std::int32_t> choices = {2, 0, 2, 2, 1, 2, 2};
  const auto inputs = ir::test::list(testing::random_tensor({7, 128}, random),
                                     ir::Tensor::from<std::int32_t>({7, 1}, choices));
  const auto plan = make_plan(graph, {7, 2});
  EXPECT_EQ(testing::kernel_of(*plan), "groups");
  const auto y = Session(plan).run(inputs);
  const std::size_t bytes = weights.row_bytes();
  for (std::size_t row = 0; row < 7; ++row) {
    const auto expert = static_cast<std::size_t>(choices[row]);
    const ir::BlockTensor matrix{
        {70, 128}, weights.encoding, weights.bytes.part(expert * bytes, bytes)};
    const auto one =
        ir::Tensor::from<float>({1, 128}, inputs[0].as<float>().subspan(row * 128, 128));
    EXPECT_TRUE(
        std::ranges::equal(y[0].as<float>().subspan(row * 70, 70), plain_products(matrix, one)));
  }
}

TEST(VectorWeights, OfEmbeddingsAreDecodedWhereTheyAreGathered) {
  Random random(4);
  const ir::BlockTensor table = random_vectors({9, 192}, "2x8", random);
  ir::Graph graph;
  const auto w = graph.add_constant("w", table);
  const auto ids = graph.add_input("ids", ir::dense_type(ElementType::kInt32, {ir::kBatch}));
  graph.add_output(graph.add_node("rows", ir::Gather{}, {w, ids}));
  const auto plan = make_plan(graph, {3, 1});
  EXPECT_EQ(testing::kernel_of(*plan), "gather_blocks");
  EXPECT_EQ(plan->steps()[0].reason, "a table of vector 2x8, the rows gathered are decoded");
  const std::vector<std::int32_t> rows = {7, 0, 7};
  const auto y = Session(plan).run(ir::test::list(ir::Tensor::from<std::int32_t>({3}, rows)));
  const ir::Tensor all = ir::to_float(table);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::ranges::equal(
        y[0].as<float>().subspan(i * 192, 192),
        std::as_const(all).as<float>().subspan(static_cast<std::size_t>(rows[i]) * 192, 192)));
  }
}

TEST(VectorWeights, NeedRowsOfWholeBlocks) {
  Random random(5);
  ir::BlockTensor weights = random_vectors({2, 64}, "4x8", random);
  weights.shape = {4, 32};
  expect_error(ErrorKind::kFormat, "rows of 32 elements are no whole blocks of 64",
               [&] { ir::verify(layer_of(weights)); });
}

/// Plans share the encoding with the graph, which may be gone.
TEST(VectorWeights, OutliveTheirGraph) {
  Random random(6);
  ir::BlockTensor weights = random_vectors({64, 64}, "4x8", random);
  const auto inputs = ir::test::list(testing::random_tensor({1, 64}, random));
  const std::vector<float> expected = plain_products(weights, inputs[0]);
  auto graph = std::make_unique<ir::Graph>(layer_of(weights));
  weights = {};
  const auto plan = make_plan(*graph, {1, 1});
  graph.reset();
  EXPECT_TRUE(std::ranges::equal(Session(plan).run(inputs)[0].as<float>(), expected));
}

}  // namespace
}  // namespace halftone::runtime
