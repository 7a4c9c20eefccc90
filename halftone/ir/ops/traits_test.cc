// SPDX-License-Identifier: Apache-2.0
// What the table of traits claims, against the definitions of the operators.
#include "halftone/ir/ops/traits.h"

#include <algorithm>
#include <cmath>

#include "halftone/ir/operators_page.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct TraitCase {
  Operator op;
  std::vector<Tensor> inputs;
};

Tensor evaluate_case(const Operator& op, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  return evaluate_operator(op, pointers);
}

/// Numbers of both signs and zero, in no order.
Tensor signed_numbers(Shape shape) {
  Tensor result = test::counting(std::move(shape));
  const auto values = result.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7) % values.size()) - static_cast<float>(values.size() / 2);
  }
  return result;
}

Tensor indices(Shape shape, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(std::move(shape), values);
}

TraitCase with_data(Operator op, Shape shape = {2, 3}) {
  return {std::move(op), test::list(signed_numbers(std::move(shape)))};
}

TraitCase with_indices(Operator op, Tensor positions) {
  return {std::move(op), test::list(signed_numbers({2, 3}), std::move(positions))};
}

TraitCase with_updates(Operator op, Tensor positions, Shape updates) {
  return {std::move(op), test::list(signed_numbers({2, 3}), std::move(positions),
                                    signed_numbers(std::move(updates)))};
}

std::vector<TraitCase> selecting_cases() {
  std::vector<TraitCase> cases;
  cases.push_back(with_data(Reshape{{3, 2}}));
  cases.push_back(with_data(Transpose{{1, 0}}));
  cases.push_back({Concat{1}, test::list(signed_numbers({2, 3}), signed_numbers({2, 1}))});
  cases.push_back(with_data(Slice{1, 2, -1, 3}));
  cases.push_back(with_data(Reduce{ReduceKind::kMax, {1}}));
  cases.push_back(with_data(Reduce{ReduceKind::kMin, {1}, false}));
  cases.push_back(with_data(Pool{PoolKind::kMax, {2}, plain_window(1)}, {1, 5, 2}));
  cases.push_back(
      {Binary{BinaryKind::kMax, {}}, test::list(signed_numbers({2, 3}), signed_numbers({3}))});
  cases.push_back({Where{}, test::list(signed_numbers({2, 3}).cast(ElementType::kBool),
                                       signed_numbers({2, 3}), signed_numbers({3}))});
  cases.push_back(with_indices(Gather{1}, indices({2}, {2, 0})));
  cases.push_back(with_indices(GatherElements{1}, indices({2, 1}, {2, 0})));
  cases.push_back(with_indices(GatherND{}, indices({1, 2}, {1, 2})));
  cases.push_back(with_indices(ReverseSequence{0, 1}, indices({2}, {2, 3})));
  cases.push_back(with_updates(ScatterElements{1}, indices({2, 1}, {2, 0}), {2, 1}));
  cases.push_back(with_updates(ScatterElements{1, Scatter::kMax}, indices({2, 1}, {2, 0}), {2, 1}));
  cases.push_back(with_updates(ScatterND{Scatter::kMin}, indices({1, 1}, {1}), {1, 3}));
  cases.push_back({OneHot{1, 3}, test::list(indices({2}, {2, 0}), test::floats({2}, {-1, 3}))});
  cases.push_back(with_data(Pad{PadMode::kConstant, {0, 1}, {1, 0}}));
  cases.push_back(with_data(BroadcastTo{{2, 2, 3}}));
  cases.push_back(with_data(Tile{{2, 1}}));
  cases.push_back(with_data(Resize{1, 6, 2}));
  return cases;
}

std::vector<TraitCase> elementwise_cases() {
  const AffineParameters affine{{0.5F}, {1}, 0};
  const auto codes = [] { return signed_numbers({2, 3}).cast(ElementType::kInt8); };
  std::vector<TraitCase> cases;
  cases.push_back(with_data(test::kTanh));
  cases.push_back({test::kAdd, test::list(signed_numbers({2, 3}), signed_numbers({2, 3}))});
  cases.push_back(with_data(Cast{ElementType::kInt32}));
  cases.push_back(with_data(Encode{test::odd_encoding()}));
  cases.push_back(with_data(QuantizeLinear{affine, ElementType::kInt8}));
  cases.push_back({DequantizeLinear{affine}, test::list(codes())});
  cases.push_back({Requantize{{0.5}, 3}, test::list(codes().cast(ElementType::kInt32))});
  std::vector<std::int32_t> squares;
  for (std::int32_t code = -128; code < 128; ++code) squares.push_back(code * code);
  cases.push_back({Lookup{ElementType::kInt32, squares}, test::list(codes())});
  return cases;
}

std::vector<Tensor> cubed_data(const TraitCase& given) {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    result.push_back(given.inputs[i].clone());
    if (input_role(given.op, i) != InputRole::kData) continue;
    for (float& x : result.back().as<float>()) x = x * x * x;
  }
  return result;
}

TEST(Traits, SelectingOperatorsCommuteWithIncreasingFunctions) {
  for (const TraitCase& each : selecting_cases()) {
    SCOPED_TRACE(name_of(each.op));
    EXPECT_TRUE(traits_of(each.op).selects);
    std::vector<float> expected = test::elements<float>(evaluate_case(each.op, each.inputs));
    for (float& x : expected) x = x * x * x;
    EXPECT_EQ(test::elements<float>(evaluate_case(each.op, cubed_data(each))), expected);
  }
}

TEST(Traits, CopyingOperatorsCommuteWithEveryFunctionThatKeepsZero) {
  const auto function = [](float x) { return x * x - 2.5F * x; };  // neither rises nor falls
  std::size_t num_copying = 0;
  for (const TraitCase& each : selecting_cases()) {
    if (!copies_elements(each.op)) continue;
    SCOPED_TRACE(name_of(each.op));
    ++num_copying;
    std::vector<float> expected = test::elements<float>(evaluate_case(each.op, each.inputs));
    std::ranges::transform(expected, expected.begin(), function);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < each.inputs.size(); ++i) {
      inputs.push_back(each.inputs[i].clone());
      if (input_role(each.op, i) != InputRole::kData) continue;
      std::ranges::transform(inputs[i].as<float>(), inputs[i].as<float>().begin(), function);
    }
    EXPECT_EQ(test::elements<float>(evaluate_case(each.op, inputs)), expected);
  }
  EXPECT_EQ(num_copying, 15u);
  EXPECT_FALSE(copies_elements(ScatterElements{1, Scatter::kMax}));
  EXPECT_FALSE(copies_elements(ScatterND{Scatter::kMin}));
  EXPECT_FALSE(copies_elements(Reduce{ReduceKind::kMax, {1}}));
}

TEST(Traits, PermutingOperatorsKeepEveryElementOnce) {
  std::size_t num_permuting = 0;
  for (const TraitCase& each : selecting_cases()) {
    if (!permutes_elements(each.op)) continue;
    ++num_permuting;
    std::vector<float> before = test::elements<float>(each.inputs[0]);
    std::vector<float> after = test::elements<float>(evaluate_case(each.op, each.inputs));
    std::ranges::sort(before);
    std::ranges::sort(after);
    EXPECT_EQ(after, before) << name_of(each.op);
  }
  EXPECT_EQ(num_permuting, 2u);
}

TEST(Traits, OtherOperatorsDoNotSelect) {
  EXPECT_FALSE(traits_of(ScatterElements{1, Scatter::kAdd}).selects);
  EXPECT_FALSE(traits_of(ScatterND{Scatter::kMul}).selects);
  EXPECT_FALSE(traits_of(Binary{BinaryKind::kMax, {ActivationKind::kTanh}}).selects);
  EXPECT_FALSE(traits_of(Pool{PoolKind::kAverage, {2}, plain_window(1)}).selects);
  EXPECT_FALSE(traits_of(Reduce{ReduceKind::kSum, {1}}).selects);
  EXPECT_FALSE(traits_of(CumSum{1}).selects);
  Resize cropped{1, 6, 2};
  cropped.coordinates = Coordinates::kCropAndResize;
  EXPECT_FALSE(traits_of(cropped).selects);
}

TEST(Traits, ElementwiseOperatorsReadOneElementOfAnInput) {
  for (const TraitCase& each : elementwise_cases()) {
    SCOPED_TRACE(name_of(each.op));
    EXPECT_TRUE(works_elementwise(each.op));
    const Tensor before = evaluate_case(each.op, each.inputs);
    for (std::size_t changed = 0; changed < each.inputs[0].size(); ++changed) {
      std::vector<Tensor> inputs;
      for (const Tensor& input : each.inputs) inputs.push_back(input.clone());
      const std::size_t size = size_bytes(inputs[0].element());
      std::ranges::fill(inputs[0].bytes().subspan(changed * size, size), std::byte{0});
      const Tensor after = evaluate_case(each.op, inputs);
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (i == changed) continue;
        EXPECT_EQ(test::numbers(after)[i], test::numbers(before)[i]) << changed << " " << i;
      }
    }
  }
}

TEST(Traits, MovesAreNotElementwise) {
  EXPECT_TRUE(moves_elements(Transpose{{1, 0}}));
  EXPECT_FALSE(works_elementwise(Transpose{{1, 0}}));
  EXPECT_FALSE(moves_elements(test::kTanh));
  EXPECT_FALSE(moves_elements(Softmax{1}));
}

TEST(Traits, ProductsNormalizationsAndWindowsComputeSums) {
  EXPECT_TRUE(computes_sums(MatMul{}));
  EXPECT_TRUE(computes_sums(Softmax{1}));
  EXPECT_TRUE(computes_sums(GridSample{}));
  EXPECT_FALSE(computes_sums(Resize{1, 6, 2}));
  EXPECT_FALSE(computes_sums(CumSum{1}));
  EXPECT_FALSE(computes_sums(test::kAdd));
}

TEST(Traits, NamesLayersAndTheirParameters) {
  EXPECT_TRUE(is_layer(Conv{}));
  EXPECT_FALSE(is_layer(Recurrent{}));
  EXPECT_EQ(traits_of(Recurrent{}).layer, LayerKind::kRecurrent);
  EXPECT_TRUE(is_table(Gather{0}));
  EXPECT_FALSE(is_table(Gather{1}));
  EXPECT_TRUE(is_recurrent(Recurrent{}));
  EXPECT_FALSE(is_recurrent(Conv{}));
  EXPECT_EQ(num_groups(Conv{plain_window(1), 4, {}}), 4);
  EXPECT_EQ(num_groups(FullyConnected{}), 1);
  EXPECT_THAT(parameter_inputs(FullyConnected{}), ElementsAre(1u, 2u));
  EXPECT_THAT(parameter_inputs(ConvTranspose{}), ElementsAre(1u, 2u));
  EXPECT_THAT(parameter_inputs(MatMul{}), ElementsAre(0u, 1u));
  EXPECT_THAT(parameter_inputs(Recurrent{}),
              ElementsAre(kRecurrenceWeights, kRecurrenceBias, kPeepholes));
  EXPECT_THAT(parameter_inputs(Gather{0}), ElementsAre(0u));
  EXPECT_THAT(parameter_inputs(Gather{1}), IsEmpty());
  EXPECT_THAT(parameter_inputs(test::kAdd), IsEmpty());
  EXPECT_EQ(input_role(Concat{0}, 100), InputRole::kData);
}

TEST(Traits, StepsHaveNoDerivative) {
  EXPECT_TRUE(traits_of(test::kTanh).differentiable);
  EXPECT_TRUE(traits_of(CumSum{1}).differentiable);
  EXPECT_FALSE(traits_of(Unary{{ActivationKind::kIsNan}}).differentiable);
  EXPECT_FALSE(traits_of(Binary{BinaryKind::kLess, {}}).differentiable);
  EXPECT_FALSE(traits_of(Cast{ElementType::kInt8}).differentiable);
  EXPECT_FALSE(traits_of(ArgReduce{1}).differentiable);
}

TEST(Traits, GivesAccessToTheFusedActivation) {
  Operator conv = Conv{};
  fused_activation(conv)->kind = ActivationKind::kRelu;
  EXPECT_EQ(std::get<Conv>(conv).activation.kind, ActivationKind::kRelu);
  const Operator add = Binary{BinaryKind::kAdd, {ActivationKind::kTanh}};
  EXPECT_EQ(fused_activation(add)->kind, ActivationKind::kTanh);
  const Operator tanh = test::kTanh;
  EXPECT_EQ(fused_activation(tanh), nullptr);
  const Operator encode = Encode{test::odd_encoding()};
  EXPECT_EQ(fused_activation(encode), nullptr);
  const Operator softmax = Softmax{1};
  EXPECT_EQ(fused_activation(softmax), nullptr);
}

TEST(Traits, GivesAccessToTheEncodingOfActivations) {
  Operator recurrent = Recurrent{};
  EXPECT_EQ(*activation_encoding(recurrent), nullptr);
  *activation_encoding(recurrent) = test::odd_encoding();
  EXPECT_EQ(std::get<Recurrent>(recurrent).state_encoding->bits, 2);
  const Operator encode = Encode{test::odd_encoding()};
  EXPECT_EQ((*activation_encoding(encode))->bits, 2);
  const Operator softmax = Softmax{1};
  EXPECT_EQ(activation_encoding(softmax), nullptr);
}

TEST(Traits, GivesAccessToTheZeroPointsOfProducts) {
  Operator product = MatMul{};
  zero_points(product)->x = 3;
  EXPECT_EQ(std::get<MatMul>(product).zero_points.x, 3);
  Operator softmax = Softmax{1};
  EXPECT_EQ(zero_points(softmax), nullptr);
}

TEST(TraitsOperatorsPage, NamesOperatorsThatTakeABasis) {
  test::expect_operator_column("low bit", [](const Operator& op) {
    return traits_of(op).layer != LayerKind::kNone || activation_encoding(op) != nullptr;
  });
}

}  // namespace
}  // namespace halftone::ir
