// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/options.h"
#include "halftone/ir/testing.h"

namespace halftone::formats {
namespace {

using ir::test::expect_error;
using ir::test::tensor;

TEST(ImportOptions, ConvertsOnlyExactValues) {
  const ir::Tensor whole = tensor<std::int64_t>({2}, {-3, 16'000});
  EXPECT_THAT(exactly(whole, ir::ElementType::kFloat32).as<float>(),
              testing::ElementsAre(-3, 16'000));
  EXPECT_THAT(exactly(tensor<float>({1}, {2}), ir::ElementType::kInt32).as<std::int32_t>(),
              testing::ElementsAre(2));
  expect_error(ErrorKind::kUsage, "the constant int64[2] has a value that is not exact",
               [&] { exactly(whole, ir::ElementType::kInt8); });
  expect_error(ErrorKind::kUsage, "is not exact in the type of the input, float32", [] {
    exactly(tensor<std::int64_t>({1}, {(1 << 24) + 1}), ir::ElementType::kFloat32);
  });
}

TEST(ImportOptions, AScalarFillsItsShape) {
  ir::Graph graph;
  const ir::Tensor scalar = tensor<float>({}, {1.5F});
  const ir::ValueId plain = add_filled(graph, "a", scalar, {2, 1});
  EXPECT_THAT(std::get<ir::Tensor>(*graph.constant(plain)).as<float>(),
              testing::ElementsAre(1.5F, 1.5F));
  const ir::ValueId broad = add_filled(graph, "b", scalar, {2, ir::kBatch});
  EXPECT_EQ(graph.value(broad).type.shape, (ir::Shape{2, ir::kBatch}));
  EXPECT_EQ(graph.value(broad).name, "b");
}

}  // namespace
}  // namespace halftone::formats
