// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/linear.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::float_type;
using test::floats;
using test::infer;
using test::tensor;
using testing::ElementsAre;

/// Of two inputs: the sum, the difference, ten times the first.
Tensor three_experts() { return floats({3, 1, 2}, {1, 1, 1, -1, 10, 0}); }

TEST(ExpertProduct, MultipliesRowsByTheExpertsTheyChoose) {
  const Tensor x = floats({2, 2}, {1, 2, 5, 3});
  const auto chosen = tensor<std::int32_t>({2, 2}, {2, 0, 1, 1});
  const Tensor y = evaluate(ExpertProduct{}, x, three_experts(), chosen);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1}));
  EXPECT_THAT(elements<float>(y), ElementsAre(10, 3, 2, 2));
  const Tensor last = evaluate(ExpertProduct{{ActivationKind::kNeg}}, x, three_experts(),
                               tensor<std::int64_t>({2, 1}, {-1, -3}));
  EXPECT_THAT(elements<float>(last), ElementsAre(-10, -8));
}

TEST(ExpertProduct, MultipliesARowOfItsOwnForEachExpert) {
  const Tensor x = floats({1, 3, 2}, {1, 2, 5, 3, 4, 4});
  const Tensor y =
      evaluate(ExpertProduct{}, x, three_experts(), tensor<std::int32_t>({1, 3}, {0, 1, 2}));
  EXPECT_EQ(y.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(elements<float>(y), ElementsAre(3, 2, 40));
}

TEST(ExpertProduct, TakesAnyLeadingAxes) {
  const auto shape_of = [](const Shape& x, const Shape& chosen) {
    return infer(ExpertProduct{},
                 {float_type(x), float_type({4, 7, 3}), dense_type(ElementType::kInt64, chosen)})
        .shape;
  };
  EXPECT_EQ(shape_of({kBatch, 5, 3}, {kBatch, 5, 2}), (Shape{kBatch, 5, 2, 7}));
  EXPECT_EQ(shape_of({kBatch, 5, 2, 3}, {kBatch, 5, 2}), (Shape{kBatch, 5, 2, 7}));
  EXPECT_EQ(shape_of({3}, {2}), (Shape{2, 7}));
}

TEST(ExpertProduct, RejectsInvalidOperands) {
  const struct {
    Shape x;
    Shape w;
    Shape chosen;
    std::string text;
  } cases[] = {
      {{2, 3}, {4, 3}, {2, 1}, "weights: expected [experts, outputs, inputs], found [4, 3]"},
      {{2, 3}, {0, 7, 3}, {2, 1}, "weights: expected [experts, outputs, inputs], found [0, 7, 3]"},
      {{2, 3}, {4, 7, 2}, {2, 1}, "input [2, 3] does not fit weights [4, 7, 2]"},
      {{2, 3}, {4, 7, 3}, {}, "experts: expected [..., k], found []"},
      {{kBatch, 3}, {4, 7, 3}, {kBatch}, "experts: expected [..., k], found [N]"},
      {{2, 3}, {4, 7, 3}, {3, 1}, "experts [3, 1] do not fit the rows of input [2, 3]"},
      {{2, 2, 3}, {4, 7, 3}, {2, 1}, "experts [2, 1] do not fit the rows of input [2, 2, 3]"},
  };
  for (const auto& [x, w, chosen, text] : cases) {
    const std::vector<ValueType> inputs = {float_type(x), float_type(w),
                                           dense_type(ElementType::kInt32, chosen)};
    expect_error(ErrorKind::kShape, text, [&] { infer(ExpertProduct{}, inputs); });
  }
  expect_error(ErrorKind::kShape, "input 2: expected int32 or int64, found float32[2, 1]", [] {
    infer(ExpertProduct{}, {float_type({2, 3}), float_type({4, 7, 3}), float_type({2, 1})});
  });
  expect_error(ErrorKind::kShape, "3", [] {
    evaluate(ExpertProduct{}, floats({1, 2}, {1, 2}), three_experts(),
             tensor<std::int32_t>({1, 1}, {3}));
  });
}

}  // namespace
}  // namespace halftone::ir
