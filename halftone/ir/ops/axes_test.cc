// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/axes.h"

#include <algorithm>

#include "halftone/ir/ops/traits.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Axes = std::vector<std::size_t>;

/// Operators whose axes are those of their inputs, which are all alike.
struct AlignedCase {
  Operator op;
  ElementType element = ElementType::kFloat32;
  std::size_t num_inputs = 1;
};

std::vector<AlignedCase> aligned_cases() {
  const AffineParameters affine{{0.5F, 1, 2}, {1, 0, 2}, 1};
  std::vector<std::int32_t> squares;
  for (std::int32_t code = -128; code < 128; ++code) squares.push_back(code * code);
  return {
      {test::kTanh},
      {test::kAdd, ElementType::kFloat32, 2},
      {Cast{ElementType::kInt32}},
      {Lookup{ElementType::kInt32, squares}, ElementType::kInt8},
      {Softmax{1}},
      {Concat{2}, ElementType::kFloat32, 2},
      {Slice{0, 1, -1, 2}},
      {CumSum{1}},
      {CumSum{2, true, true}},
      {TopK{2, 2}},
      {Resize{1, 6, 2}},
      {LocalNormalize{2, 1, 0}},
      {QuantizeLinear{affine, ElementType::kInt8}},
      {QuantizeLinear{{{0.5F}, {1}, 0}, ElementType::kInt8}},
      {DequantizeLinear{affine}, ElementType::kInt8},
      {Normalize{{0, 2}}},
      {Tile{{1, 2, 3}}},
      {Pad{PadMode::kConstant, {1, 0, 2}, {0, 0, 1}}},
      {Reduce{ReduceKind::kSum, {0, 2}}},
      {Reduce{ReduceKind::kMax, {1}, false}},
      {Reduce{ReduceKind::kSum, {0, 1}, false}},
      {ArgReduce{1}},
      {ArgReduce{2, false, true, false}},
  };
}

/// Numbers of both signs in no order, [2, 3, 4].
std::vector<Tensor> inputs_of(const AlignedCase& given) {
  std::vector<Tensor> inputs;
  for (std::size_t input = 0; input < given.num_inputs; ++input) {
    Tensor x = test::counting({2, 3, 4});
    for (float& value : x.as<float>()) {
      value = static_cast<float>((static_cast<int>(value) * 7 + static_cast<int>(input)) % 24 - 11);
    }
    inputs.push_back(x.cast(given.element));
  }
  return inputs;
}

Tensor evaluate_on(const Operator& op, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  return evaluate_operator(op, pointers);
}

TEST(Axes, AnOperatorBeforeATransposeGivesWhatItGivesAfterIt) {
  for (const AlignedCase& each : aligned_cases()) {
    for (Axes permutation{0, 1, 2}; std::ranges::next_permutation(permutation).found;) {
      SCOPED_TRACE(std::string(name_of(each.op)) + " after " + joined(permutation));
      const std::vector<Tensor> x = inputs_of(each);
      // The cases name axes of the transposed inputs, some of which have more elements then.
      std::vector<Tensor> transposed;
      Axes inverse(3);
      for (std::size_t i = 0; i < 3; ++i) inverse[permutation[i]] = i;
      for (const Tensor& input : x) {
        transposed.push_back(test::evaluate(Transpose{inverse}, input));
      }
      const auto moved = before_transpose(each.op, permutation);
      ASSERT_TRUE(moved.has_value());
      const Tensor before = evaluate_on(moved->op, transposed);
      EXPECT_EQ(test::numbers(test::evaluate(Transpose{moved->after}, before)),
                test::numbers(evaluate_on(each.op, x)));
    }
  }
}

TEST(Axes, NothingPassesATransposeUnlessItAlignsAxes) {
  const Axes swap{1, 0};
  EXPECT_FALSE(before_transpose(Reshape{{6}}, swap).has_value());
  EXPECT_FALSE(before_transpose(Gather{0}, swap).has_value());
  EXPECT_FALSE(before_transpose(FullyConnected{}, swap).has_value());
  EXPECT_FALSE(before_transpose(Encode{test::odd_encoding()}, swap).has_value());
}

TEST(Axes, RoundingPassesATransposeThatKeepsItsBlocks) {
  using numerics::Granularity;
  for (const Granularity granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    const std::size_t group_size = granularity == Granularity::kGroup ? 2 : 0;
    const FakeQuantize op{&numerics::find_system("int"), 4, {granularity, group_size}};
    int passed = 0;
    for (Axes permutation{0, 1, 2}; std::ranges::next_permutation(permutation).found;) {
      SCOPED_TRACE(std::string(to_string(granularity)) + " after " + joined(permutation));
      const std::vector<Tensor> x = inputs_of({op});
      const Tensor after = test::evaluate(op, test::evaluate(Transpose{permutation}, x.front()));
      const auto moved = before_transpose(op, permutation);
      if (!moved.has_value()) continue;
      ++passed;
      const Tensor before = evaluate_on(moved->op, x);
      EXPECT_EQ(test::numbers(test::evaluate(Transpose{moved->after}, before)),
                test::numbers(after));
    }
    EXPECT_EQ(passed, 1);  // of five that are no identity: 0, 2, 1 or 1, 0, 2
  }
}

TEST(Axes, NamesTheMixedAxesOfRounding) {
  FakeQuantize op{&numerics::find_system("int"), 4, {numerics::Granularity::kTensor}};
  EXPECT_THAT(mixed_axes(op, 3), ElementsAre(1u, 2u));
  op.blocks.granularity = numerics::Granularity::kChannel;
  EXPECT_THAT(mixed_axes(op, 3), ElementsAre(2u));
}

/// The index along an axis of each element.
std::vector<std::size_t> indices_along(const Shape& shape, std::size_t axis) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  std::vector<std::size_t> result(shape.element_count());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = i / inner % static_cast<std::size_t>(shape[axis]);
  }
  return result;
}

/// Expects outputs to keep their values if inputs change at index 1 of an axis, except at index 1.
void expect_apart(const AlignedCase& given, std::size_t axis) {
  const std::vector<Tensor> inputs = inputs_of(given);
  const Tensor before = evaluate_on(given.op, inputs);
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) {
    changed.push_back(input.clone());
    const auto along = indices_along(input.shape(), axis);
    const std::size_t bytes = size_bytes(input.element());
    for (std::size_t i = 0; i < along.size(); ++i) {
      if (along[i] != 1) continue;
      std::ranges::fill(changed.back().bytes().subspan(i * bytes, bytes), std::byte{0});
    }
  }
  const std::vector<float> after = test::numbers(evaluate_on(given.op, changed));
  const auto along = indices_along(before.shape(), axis);
  for (std::size_t i = 0; i < along.size(); ++i) {
    if (along[i] != 1) {
      EXPECT_EQ(after[i], test::numbers(before)[i]) << i;
    }
  }
}

TEST(Axes, OutputsDependOnOtherIndicesAlongMixedAxesOnly) {
  for (const AlignedCase& each : aligned_cases()) {
    if (traits_of(each.op).axes != AxisMap::kAligned) continue;
    const Axes mixed = mixed_axes(each.op, 3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      SCOPED_TRACE(std::string(name_of(each.op)) + " axis " + std::to_string(axis));
      if (std::ranges::count(mixed, axis) == 0) expect_apart(each, axis);
    }
  }
}

TEST(Axes, NamesTheMixedAxesOfProductsAndWindows) {
  EXPECT_THAT(mixed_axes(FullyConnected{}, 3), ElementsAre(2u));
  EXPECT_THAT(mixed_axes(MatMul{}, 3), ElementsAre(2u));
  EXPECT_THAT(mixed_axes(MatMul{true}, 3), ElementsAre(1u));
  EXPECT_THAT(mixed_axes(MatMul{true}, 1), ElementsAre(0u));
  EXPECT_THAT(mixed_axes(Conv{}, 4), ElementsAre(1u, 2u, 3u));
  EXPECT_THAT(mixed_axes(ConvTranspose{}, 3), ElementsAre(1u, 2u));
  EXPECT_THAT(mixed_axes(Pool{}, 4), ElementsAre(1u, 2u));
  EXPECT_THAT(mixed_axes(GridSample{}, 4), ElementsAre(1u, 2u));
  Recurrent recurrent;
  recurrent.batch_major = false;
  EXPECT_THAT(mixed_axes(recurrent, 3), ElementsAre(0u, 2u));
  recurrent.batch_major = true;
  EXPECT_THAT(mixed_axes(recurrent, 3), ElementsAre(1u, 2u));
}

TEST(Axes, NamesTheMixedAxesOfMoves) {
  EXPECT_THAT(mixed_axes(Reduce{ReduceKind::kSum, {0, 2}}, 3), ElementsAre(0u, 2u));
  EXPECT_THAT(mixed_axes(ReverseSequence{0, 1}, 3), ElementsAre(1u));
  EXPECT_THAT(mixed_axes(Tile{{1, 2, 1}}, 3), ElementsAre(1u));
  EXPECT_THAT(mixed_axes(Pad{PadMode::kConstant, {0, 1, 0}, {0, 0, 1}}, 3), ElementsAre(1u, 2u));
  EXPECT_THAT(mixed_axes(OneHot{0, 3}, 1), IsEmpty());
  EXPECT_THAT(mixed_axes(test::kTanh, 3), IsEmpty());
}

}  // namespace
}  // namespace halftone::ir
