// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/indexing.h"

#include <limits>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::float_type;
using test::floats;
using test::infer;
using test::tensor;
using testing::ElementsAre;

Tensor indices(Shape shape, const std::vector<std::int64_t>& values) {
  return tensor<std::int64_t>(std::move(shape), values);
}
ValueType indices_type(Shape shape) { return dense_type(ElementType::kInt64, std::move(shape)); }

TEST(Gather, TakesSlicesInTheOrderOfTheIndices) {
  const Tensor x = counting({3, 2});
  const Tensor rows = evaluate(Gather{0}, x, indices({2, 1}, {2, -3}));
  EXPECT_EQ(rows.shape(), (Shape{2, 1, 2}));
  EXPECT_THAT(elements<float>(rows), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(elements<float>(evaluate(Gather{1}, x, indices({}, {1}))), ElementsAre(1, 3, 5));
  const Tensor narrow = tensor<std::int32_t>({1}, {1});
  EXPECT_THAT(elements<float>(evaluate(Gather{0}, x, narrow)), ElementsAre(2, 3));
}

TEST(Gather, TableOfSamplesKeepsTheBatch) {
  EXPECT_EQ(infer(Gather{0}, {float_type({10, 4}), indices_type({kBatch, 3})}).shape,
            (Shape{kBatch, 3, 4}));
  EXPECT_EQ(infer(Gather{1}, {float_type({kBatch, 4}), indices_type({3})}).shape,
            (Shape{kBatch, 3}));
}

TEST(Gather, TableMayBeCodes) {
  const ValueType codes{{10, 4}, {ElementType::kFloat32, test::odd_encoding()}};
  EXPECT_EQ(infer(Gather{0}, {codes, indices_type({kBatch, 3})}), float_type({kBatch, 3, 4}));
  expect_error(ErrorKind::kShape, "input 0: expected dense elements, found basis", [&] {
    infer(Gather{1}, {codes, indices_type({3})});
  });
}

TEST(GatherElements, TakesOneElementForEachIndex) {
  const Tensor y = evaluate(GatherElements{1}, counting({2, 3}), indices({2, 2}, {2, 0, -1, 1}));
  EXPECT_THAT(elements<float>(y), ElementsAre(2, 0, 5, 4));
  const Tensor fewer = evaluate(GatherElements{0}, counting({2, 3}), indices({1, 2}, {1, 0}));
  EXPECT_THAT(elements<float>(fewer), ElementsAre(3, 1));
}

TEST(GatherND, SelectsByIndexTuples) {
  const Tensor x = counting({2, 2, 2});
  EXPECT_THAT(elements<float>(evaluate(GatherND{}, x, indices({2, 3}, {0, 1, 1, 1, 0, -1}))),
              ElementsAre(3, 5));
  const Tensor rows = evaluate(GatherND{}, x, indices({1, 2}, {1, 0}));
  EXPECT_THAT(elements<float>(rows), ElementsAre(4, 5));
  const Tensor each = evaluate(GatherND{1}, x, indices({2, 1}, {1, 0}));
  EXPECT_EQ(each.shape(), (Shape{2, 2}));
  EXPECT_THAT(elements<float>(each), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(evaluate(GatherND{}, x, indices({0, 3}, {})).size(), 0U);
}

TEST(ScatterElements, WritesOrCombines) {
  const Tensor x = floats({3}, {1, 2, 3});
  const Tensor at = indices({3}, {0, 2, 0});
  const Tensor updates = floats({3}, {5, -4, 7});
  const auto result = [&](Scatter reduction) {
    return elements<float>(evaluate(ScatterElements{0, reduction}, x, at, updates));
  };
  EXPECT_THAT(result(Scatter::kReplace), ElementsAre(7, 2, -4));
  EXPECT_THAT(result(Scatter::kAdd), ElementsAre(13, 2, -1));
  EXPECT_THAT(result(Scatter::kMul), ElementsAre(35, 2, -12));
  EXPECT_THAT(result(Scatter::kMax), ElementsAre(7, 2, 3));
  EXPECT_THAT(result(Scatter::kMin), ElementsAre(1, 2, -4));
  const Tensor wide = evaluate(ScatterElements{1}, counting({2, 2}), indices({2, 1}, {1, -2}),
                               floats({2, 1}, {8, 9}));
  EXPECT_THAT(elements<float>(wide), ElementsAre(0, 8, 9, 3));
}

TEST(ScatterND, WritesSlices) {
  const Tensor y = evaluate(ScatterND{}, counting({3, 2}), indices({2, 1}, {2, 0}),
                            floats({2, 2}, {10, 11, 12, 13}));
  EXPECT_THAT(elements<float>(y), ElementsAre(12, 13, 2, 3, 10, 11));
  const Tensor sums = evaluate(ScatterND{Scatter::kAdd}, counting({3}), indices({2, 1}, {1, 1}),
                               floats({2}, {10, 20}));
  EXPECT_THAT(elements<float>(sums), ElementsAre(0, 31, 2));
}

TEST(OneHot, InsertsAnAxis) {
  const Tensor values = floats({2}, {-1, 1});
  const Tensor last = evaluate(OneHot{1, 3}, indices({3}, {2, -3, 7}), values);
  EXPECT_EQ(last.shape(), (Shape{3, 3}));
  EXPECT_THAT(elements<float>(last), ElementsAre(-1, -1, 1, 1, -1, -1, -1, -1, -1));
  const Tensor first = evaluate(OneHot{0, 2}, indices({2}, {1, 0}), values);
  EXPECT_THAT(elements<float>(first), ElementsAre(-1, 1, 1, -1));
}

TEST(TopK, NamesTheBestFirst) {
  const Tensor x = floats({2, 4}, {3, 1, 3, 2, 0, 5, 4, 5});
  EXPECT_THAT(elements<std::int64_t>(evaluate(TopK{1, 3, true}, x)), ElementsAre(0, 2, 3, 1, 3, 2));
  EXPECT_THAT(elements<std::int64_t>(evaluate(TopK{1, 2, false}, x)), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(elements<std::int64_t>(evaluate(TopK{0, 1, true}, x)), ElementsAre(0, 1, 1, 1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(elements<std::int64_t>(evaluate(TopK{0, 3, true}, floats({3}, {1, nan, 2}))),
              ElementsAre(1, 2, 0));
  EXPECT_EQ(evaluate(TopK{0, 0, true}, floats({3}, {1, 2, 3})).size(), 0U);
}

TEST(Indexing, OutOfRangeIsAnErrorWhenItRuns) {
  const Tensor x = counting({2, 3});
  const Tensor u = floats({1, 1}, {0});
  const struct {
    Operator op;
    bool writes;
  } cases[] = {{Gather{1}, false},
               {GatherElements{1}, false},
               {GatherND{1}, false},
               {ScatterElements{1}, true},
               {ScatterND{}, true}};
  for (const std::int64_t bad :
       {std::int64_t{3}, std::int64_t{-4}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    for (const auto& [op, writes] : cases) {
      const bool pairs = std::holds_alternative<ScatterND>(op);
      const bool each = std::holds_alternative<GatherND>(op);
      const Tensor at = pairs  ? indices({1, 2}, {1, bad})
                        : each ? indices({2, 1}, {bad, bad})
                               : indices({1, 1}, {bad});
      const Tensor updates = pairs ? floats({1}, {0}) : u.clone();
      std::vector<const Tensor*> inputs{&x, &at};
      if (writes) inputs.push_back(&updates);
      expect_error(ErrorKind::kShape, "is out of range for an extent of 3",
                   [&, &op = op] { evaluate_operator(op, inputs); });
    }
  }
}

TEST(Indexing, RulesRejectInvalidOperands) {
  const ValueType x = float_type({kBatch, 3});
  const struct {
    Operator op;
    std::vector<ValueType> inputs;
    std::string text;
  } cases[] = {
      {Gather{0}, {x, indices_type({2})}, "expected a known extent, found the batch"},
      {Gather{2}, {x, indices_type({2})}, "axis 2 does not fit"},
      {Gather{1}, {x, float_type({2})}, "input 1: expected int32 or int64"},
      {GatherElements{1}, {x, indices_type({2, 1})}, "indices [2, 1] do not fit [N, 3]"},
      {GatherElements{1}, {x, indices_type({2})}, "indices [2] do not fit [N, 3]"},
      {GatherND{}, {x, indices_type({1, 2})}, "expected a known extent, found the batch"},
      {GatherND{}, {x, indices_type({1, 3})}, "indices [1, 3] do not fit"},
      {GatherND{1}, {x, indices_type({4, 1})}, "indices [4, 1] do not fit"},
      {ScatterElements{1}, {x, indices_type({kBatch, 1}), float_type({kBatch, 2})}, "do not fit"},
      {ScatterElements{1},
       {x, indices_type({kBatch, 1}), dense_type(ElementType::kInt8, {kBatch, 1})},
       "differ in type"},
      {ScatterND{}, {float_type({4, 3}), indices_type({2, 1}), float_type({2, 2})}, "do not fit"},
      {ScatterND{}, {float_type({4, 3}), indices_type({2, 3}), float_type({2})}, "do not fit"},
      {ScatterND{Scatter::kAdd},
       {dense_type(ElementType::kBool, {4}), indices_type({1, 1}),
        dense_type(ElementType::kBool, {1})},
       "expected float32 or integers"},
      {OneHot{2, 3}, {indices_type({4}), float_type({2})}, "axis 2 does not fit [4]"},
      {OneHot{0, 3}, {indices_type({4}), float_type({3})}, "values: expected [2]"},
      {TopK{1, 4, true}, {x}, "expected at most the 3 elements along axis 1, found k = 4"},
  };
  for (const auto& [op, inputs, text] : cases) {
    expect_error(ErrorKind::kShape, text, [&, &op = op, &inputs = inputs] { infer(op, inputs); });
  }
}

}  // namespace
}  // namespace halftone::ir
