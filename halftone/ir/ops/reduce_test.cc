// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/reduce.h"

#include <cmath>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using test::infer_shape;
using test::tensor;
using testing::ElementsAre;

TEST(Reduce, HasTheValuesOfItsKind) {
  const struct {
    ReduceKind kind;
    std::string_view name;
    double of_floats;
    std::int32_t of_integers;
    float of_nothing;
  } cases[] = {
      {ReduceKind::kSum, "Sum", -3, -3, 0},
      {ReduceKind::kMean, "Mean", -0.75, 0, std::nanf("")},
      {ReduceKind::kMax, "Max", 3, 3, -kInfinity},
      {ReduceKind::kMin, "Min", -5, -5, kInfinity},
      {ReduceKind::kProd, "Prod", 30, 30, 1},
      {ReduceKind::kL1, "L1", 11, 11, 0},
      {ReduceKind::kL2, "L2", std::sqrt(39.0), 6, 0},
      {ReduceKind::kSumSquare, "SumSquare", 39, 39, 0},
      {ReduceKind::kLogSum, "LogSum", std::nan(""), 0, -kInfinity},
      {ReduceKind::kLogSumExp, "LogSumExp",
       std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(3.0) + std::exp(-5.0)), 3, -kInfinity},
  };
  for (const auto& [kind, name, of_floats, of_integers, of_nothing] : cases) {
    EXPECT_EQ(to_string(kind), name);
    const Reduce op{kind, {0}, false};
    const float y = evaluate(op, floats({4}, {1, -2, 3, -5})).as<float>()[0];
    EXPECT_TRUE(std::isnan(of_floats) ? std::isnan(y) : std::abs(y - of_floats) < 1e-5) << name;
    const Tensor integers = tensor<std::int32_t>({4}, {1, -2, 3, -5});
    EXPECT_THAT(elements<std::int32_t>(evaluate(op, integers)), ElementsAre(of_integers)) << name;
    const float none = evaluate(op, floats({0}, {})).as<float>()[0];
    EXPECT_TRUE(std::isnan(of_nothing) ? std::isnan(none) : none == of_nothing) << name;
  }
  EXPECT_EQ(to_string(static_cast<ReduceKind>(99)), "unknown");
}

TEST(Reduce, RunsOverAnyAxes) {
  const Tensor x = counting({2, 3, 2});
  const Tensor ends = evaluate(Reduce{ReduceKind::kSum, {0, 2}, true}, x);
  EXPECT_EQ(ends.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(elements<float>(ends), ElementsAre(14, 22, 30));
  const Tensor middle = evaluate(Reduce{ReduceKind::kMax, {1}, false}, x);
  EXPECT_EQ(middle.shape(), (Shape{2, 2}));
  EXPECT_THAT(elements<float>(middle), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(elements<float>(evaluate(Reduce{ReduceKind::kSum, {}, true}, floats({2}, {1, 2}))),
              ElementsAre(1, 2));
  EXPECT_EQ(infer_shape(Reduce{ReduceKind::kMean, {1, 2}, false}, {{kBatch, 4, 5}}),
            (Shape{kBatch}));
}

TEST(Reduce, IntegersWrapAroundAndSaturateWhereTheyLeaveTheIntegers) {
  const Tensor bytes = tensor<std::uint8_t>({3}, {200, 100, 2});
  EXPECT_THAT(elements<std::uint8_t>(evaluate(Reduce{ReduceKind::kSum, {0}, false}, bytes)),
              ElementsAre(46));
  EXPECT_THAT(elements<std::uint8_t>(evaluate(Reduce{ReduceKind::kMean, {0}, false}, bytes)),
              ElementsAre(100));
  const Tensor signed_bytes = tensor<std::int8_t>({2}, {127, 127});
  EXPECT_THAT(elements<std::int8_t>(evaluate(Reduce{ReduceKind::kL2, {0}, false}, signed_bytes)),
              ElementsAre(127));
}

TEST(Reduce, LogSumExpTakesLargeNumbers) {
  const Tensor y = evaluate(Reduce{ReduceKind::kLogSumExp, {0}, false}, floats({2}, {1000, 1000}));
  EXPECT_NEAR(y.as<float>()[0], 1000 + std::log(2.0), 1e-3);
}

TEST(Reduce, CountsOverAllSamples) {
  const ValueType counts = dense_type(ElementType::kInt64, {kBatch, 4});
  EXPECT_EQ(test::infer(Reduce{ReduceKind::kSum, {0, 1}, false}, {counts}),
            dense_type(ElementType::kInt64, {}));
}

TEST(Reduce, RejectsUnsupportedOperands) {
  expect_error(ErrorKind::kShape, "axis 2 does not fit [3, 4]", [] {
    infer_shape(Reduce{ReduceKind::kSum, {2}, true}, {{3, 4}});
  });
  expect_error(ErrorKind::kShape, "expected a known extent, found the batch", [] {
    infer_shape(Reduce{ReduceKind::kSum, {0}, true}, {{kBatch, 4}});
  });
  expect_error(ErrorKind::kShape, "expected ascending order, found 1 0", [] {
    infer_shape(Reduce{ReduceKind::kSum, {1, 0}, true}, {{3, 4}});
  });
  expect_error(ErrorKind::kShape, "expected float32 or integers, found bool[3]", [] {
    test::infer(Reduce{ReduceKind::kSum, {0}, true}, {dense_type(ElementType::kBool, {3})});
  });
}

TEST(ArgReduce, FindsTheFirstOrLastOfTheBest) {
  const Tensor x = floats({2, 4}, {1, 3, 3, 0, -1, -1, 5, -1});
  const auto indices = [&](bool largest, bool last) {
    return elements<std::int64_t>(evaluate(ArgReduce{1, largest, last, false}, x));
  };
  EXPECT_THAT(indices(true, false), ElementsAre(1, 2));
  EXPECT_THAT(indices(true, true), ElementsAre(2, 2));
  EXPECT_THAT(indices(false, false), ElementsAre(3, 0));
  EXPECT_THAT(indices(false, true), ElementsAre(3, 3));
  EXPECT_THAT(elements<std::int64_t>(evaluate(ArgReduce{0}, x)), ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(infer_shape(ArgReduce{1}, {{kBatch, 4}}), (Shape{kBatch, 1}));
  expect_error(ErrorKind::kShape, "expected at least one element", [] {
    infer_shape(ArgReduce{1}, {{2, 0}});
  });
}

TEST(CumSum, AddsUpFromEitherEnd) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto sums = [&](CumSum op) { return elements<float>(evaluate(op, x)); };
  EXPECT_THAT(sums({1}), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(sums({0}), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(sums({1, true, false}), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(sums({1, false, true}), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(sums({1, true, true}), ElementsAre(5, 3, 0, 11, 6, 0));
  EXPECT_THAT(elements<std::int8_t>(evaluate(CumSum{0}, tensor<std::int8_t>({2}, {100, 100}))),
              ElementsAre(100, -56));
  EXPECT_EQ(evaluate(CumSum{1}, floats({2, 0}, {})).size(), 0U);
}

}  // namespace
}  // namespace halftone::ir
