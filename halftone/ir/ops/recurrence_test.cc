// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/recurrence.h"

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using testing::ElementsAre;

Tensor integers(const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>({static_cast<Dim>(values.size())}, values);
}

TEST(ShortConvolution, WeighsTheLastTokens) {
  const Tensor y = evaluate(ShortConvolution{}, floats({2, 3, 1}, {1, 2, 3, 10, 20, 30}),
                            floats({2, 1}, {100, 1}), floats({1}, {0.5F}));
  EXPECT_THAT(elements<float>(y), ElementsAre(1.5F, 102.5F, 203.5F, 10.5F, 1020.5F, 2030.5F));
}

/// Rows of two sequences, of which the second begins anew.
TEST(ShortConvolution, ContinuesAndRestartsSequences) {
  const auto run = [](RecurrenceForm form) {
    return elements<float>(evaluate(ShortConvolution{.form = form}, floats({2, 2, 1}, {7, 8, 5, 6}),
                                    integers({0, 1, 0}), integers({4, 0, 5}),
                                    floats({3, 1}, {1, 2, 3}), floats({3, 1}, {100, 10, 1})));
  };
  EXPECT_THAT(run(RecurrenceForm::kRows), ElementsAre(781, 2, 813));
  EXPECT_THAT(run(RecurrenceForm::kState), ElementsAre(1, 3, 0, 2));
}

/// s = s / 2 + 2 x b with e^(dt a) = 1 / 2 and dt = 2.
TEST(SelectiveScan, ForgetsAndAdds) {
  const float a = -0.34657359F;
  const Tensor y = evaluate(SelectiveScan{}, floats({1, 2, 1}, {1, 3}), floats({1, 2, 1}, {2, 2}),
                            floats({1}, {a}), floats({1, 2, 1}, {4, 5}), floats({1, 2, 1}, {1, 10}),
                            floats({1}, {100}));
  constexpr float kRounding = 640 * 0x1p-21F;  // of a, the exponential, the product and the sums
  EXPECT_EQ(elements<float>(y)[0], 8 + 100);
  EXPECT_NEAR(elements<float>(y)[1], 10 * (4 + 30) + 300, kRounding);
}

TEST(SelectiveScan, TakesOneNumberForEachStateOfAChannel) {
  const auto run = [](Tensor a) {
    return elements<float>(
        evaluate(SelectiveScan{.form = RecurrenceForm::kState}, floats({1, 2, 1}, {1, 1}),
                 integers({0}), integers({1}), floats({1, 1}, {0}), floats({1, 1}, {1}),
                 std::move(a), floats({1, 2}, {0, 0}), floats({1, 2}, {0, 0}), floats({1}, {0})));
  };
  EXPECT_THAT(run(floats({1}, {0})), ElementsAre(1, 1));
  const std::vector<float> two = run(floats({2, 1}, {0, -0.6931472F}));
  EXPECT_EQ(two[0], 1);
  EXPECT_NEAR(two[1], 0.5, 0x1p-23);  // the rounding of a and of the exponential
}

/// Keys of length one: what was stored for a key is replaced.
TEST(GatedDelta, ReplacesWhatAKeyHad) {
  const Tensor y = evaluate(GatedDelta{}, floats({1, 3, 2}, {1, 0, 1, 0, 0, 1}),
                            floats({1, 3, 2}, {1, 0, 1, 0, 0, 1}), floats({1, 3, 1}, {5, 7, 9}),
                            floats({1, 3, 1}, {0, 0, 0}), floats({1, 3, 1}, {1, 1, 0.5F}));
  EXPECT_THAT(elements<float>(y), ElementsAre(5, 7, 4.5F));
}

TEST(Recurrence, DescribesWhatIsWrong) {
  const Tensor x = floats({1, 2, 4}, std::vector<float>(8, 1));
  expect_error(ErrorKind::kShape, "input 1: expected [3, 4], found [3, 2]", [&] {
    evaluate(ShortConvolution{}, x.clone(), floats({3, 2}, std::vector<float>(6, 1)));
  });
  expect_error(ErrorKind::kShape, "input 0: expected 3 axes, found [1, 4]", [&] {
    evaluate(ShortConvolution{}, floats({1, 4}, {1, 2, 3, 4}), floats({1, 4}, {1, 2, 3, 4}));
  });
  const auto convolve = [](Shape state, std::int32_t slot) {
    Tensor zeros(ElementType::kFloat32, std::move(state));
    evaluate(ShortConvolution{.form = RecurrenceForm::kRows}, std::move(zeros), integers({slot}),
             integers({0}), floats({1, 1}, {1}), floats({2, 1}, {1, 2}));
  };
  expect_error(ErrorKind::kShape, "state: expected [2, 1, 1], found [2, 2, 1]", [&] {
    convolve({2, 2, 1}, 0);
  });
  expect_error(ErrorKind::kShape, "slot: expected 0 to 1, found 2", [&] {
    convolve({2, 1, 1}, 2);
  });
  const auto scan = [&](Shape dt, Shape b) {
    const Tensor number = Tensor(ElementType::kFloat32, {dt[2]});
    evaluate(SelectiveScan{}, x.clone(), Tensor(ElementType::kFloat32, dt), number.clone(),
             Tensor(ElementType::kFloat32, b), Tensor(ElementType::kFloat32, b), number.clone());
  };
  expect_error(ErrorKind::kShape, "channels: expected a multiple of 3, found 4", [&] {
    scan({1, 2, 3}, {1, 2, 5});
  });
  expect_error(ErrorKind::kShape, "input 3: expected the tokens of [1, 2, 4], found [1, 3, 5]",
               [&] {
                 scan({1, 2, 2}, {1, 3, 5});
               });
  expect_error(ErrorKind::kShape, "heads of values: expected a multiple of 2, found 1", [&] {
    const Tensor one(ElementType::kFloat32, {1, 2, 1});
    evaluate(GatedDelta{.key_heads = 2}, x.clone(), x.clone(), x.clone(), one.clone(), one.clone());
  });
}

}  // namespace
}  // namespace halftone::ir
