// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/type_costs.h"

#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

constexpr WeightId kUpId = {.role = WeightRole::kUp};
constexpr WeightId kDownId = {.role = WeightRole::kDown};

TypeCost cost(const char* type, double loss, std::size_t bytes) {
  return {&weight_type(type), loss, bytes};
}

TypeCosts two_matrices() {
  return {{kUpId, {cost("4x8", 1.0, 10), cost("2x6", 0.4, 16), cost("2x8", 0.1, 20)}},
          {kDownId, {cost("4x8", 0.5, 10), cost("2x6", 0.3, 16), cost("2x8", 0.2, 20)}}};
}

compress::Budget limit_of(compress::Measure measure, double limit) {
  compress::Budget budget;
  budget[measure] = limit;
  return budget;
}
BudgetedTypes in_bytes(double bytes, const TensorsOfMatrices& tensor_of = {}) {
  return choose_within(two_matrices(), limit_of(compress::Measure::kBytes, bytes), 0, tensor_of);
}
BudgetedTypes in_loss(double loss, const TensorsOfMatrices& tensor_of = {}) {
  return choose_within(two_matrices(), limit_of(compress::Measure::kLoss, loss), 0, tensor_of);
}

std::vector<std::string> types_of(const BudgetedTypes& types) {
  return {types.choice.at(kUpId)->name, types.choice.at(kDownId)->name};
}

TEST(TypeCosts, ChooseTheLeastLossWithinASize) {
  const BudgetedTypes least = in_bytes(20);
  EXPECT_THAT(types_of(least), testing::ElementsAre("4x8", "4x8"));
  EXPECT_EQ(least.bytes, 20U);
  EXPECT_DOUBLE_EQ(least.loss, 1.5);
  const BudgetedTypes more = in_bytes(31);
  EXPECT_THAT(types_of(more), testing::ElementsAre("2x8", "4x8"));
  EXPECT_DOUBLE_EQ(more.loss, 0.6);
  EXPECT_THAT(types_of(in_bytes(1000)), testing::ElementsAre("2x8", "2x8"));
  const auto limit = limit_of(compress::Measure::kBytes, 31 + 100);
  const BudgetedTypes beside = choose_within(two_matrices(), limit, 100);
  EXPECT_THAT(types_of(beside), testing::ElementsAre("2x8", "4x8"));
  EXPECT_EQ(beside.bytes, 130U);
  EXPECT_EQ(beside.front.front().bytes, 120);
  EXPECT_DOUBLE_EQ(beside.front.front().loss, 1.5);
  EXPECT_EQ(beside.front.back().bytes, 140);
  EXPECT_FALSE(beside.front.back().us.has_value());
}

TEST(TypeCosts, GiveMatricesOfATensorOneType) {
  const BudgetedTypes types = in_bytes(35, {{kUpId, "t"}, {kDownId, "t"}});
  EXPECT_THAT(types_of(types), testing::ElementsAre("2x6", "2x6"));
  EXPECT_EQ(types.bytes, 32U);
}

TEST(TypeCosts, SayWhichSizeIsPossible) {
  expect_error(ErrorKind::kUnsupported,
               "budget bytes=19 cannot be met with these choices: the least is 20",
               [] { (void)in_bytes(19); });
  const auto beside = [](double bytes) {
    check_budget(two_matrices(), limit_of(compress::Measure::kBytes, 25), bytes, {});
  };
  beside(5);
  expect_error(ErrorKind::kUnsupported,
               "budget bytes=25 cannot be met with these choices: the least is 26",
               [&] { beside(6); });
}

TEST(TypeCosts, ChooseTheFewestBytesWithinALoss) {
  const BudgetedTypes found = in_loss(0.6001);
  EXPECT_THAT(types_of(found), testing::ElementsAre("2x8", "4x8"));
  EXPECT_EQ(found.bytes, 30U);
  EXPECT_DOUBLE_EQ(found.loss, 0.6);
  EXPECT_THAT(types_of(in_loss(0.599)), testing::ElementsAre("2x8", "2x6"));
  EXPECT_THAT(types_of(in_loss(1000)), testing::ElementsAre("4x8", "4x8"));
  EXPECT_THAT(types_of(in_loss(0.75, {{kUpId, "t"}, {kDownId, "t"}})),
              testing::ElementsAre("2x6", "2x6"));
  expect_error(ErrorKind::kUnsupported,
               "budget loss=0.29 cannot be met with these choices: the least is 0.3",
               [] { (void)in_loss(0.29); });
  expect_error(ErrorKind::kUsage, "budget loss: expected a number above 0",
               [] { (void)in_loss(0); });
}

TEST(TypeCosts, AreASensitivityByTypesAndTensors) {
  TypeCosts costs = two_matrices();
  costs[kDownId].erase(costs[kDownId].begin());
  const WeightType* large = &weight_type("Q8_0");
  const compress::Sensitivity each = sensitivity_of(costs, {}, {large});
  ASSERT_EQ(each.units.size(), 2U);
  std::vector<std::string> names;
  for (const compress::ChoiceSensitivity& choice : each.choices) names.push_back(choice.name);
  EXPECT_THAT(names, testing::ElementsAre("4x8", "2x6", "2x8", "Q8_0"));
  EXPECT_TRUE(each.choices[0].units[0].is_possible);
  EXPECT_FALSE(each.choices[0].units[1].is_possible);
  EXPECT_FALSE(each.choices[3].units[0].is_possible);
  EXPECT_EQ(each.choices[1].layers[0].weight_bits, weight_type("2x6").bits());
  const compress::Sensitivity tied = sensitivity_of(costs, {{kUpId, "t"}, {kDownId, "t"}});
  ASSERT_EQ(tied.units.size(), 1U);
  EXPECT_THAT(tied.units[0].layers, testing::ElementsAre(0, 1));
  EXPECT_FALSE(tied.choices[0].units[0].is_possible);
  EXPECT_DOUBLE_EQ(tied.choices[1].units[0].loss, 0.7);
  EXPECT_EQ(tied.choices[1].units[0].bytes, 32U);
  const auto limit = limit_of(compress::Measure::kBytes, 32);
  EXPECT_THAT(types_of(choose_within(costs, limit)), testing::ElementsAre("2x6", "2x6"))
      << "a matrix gets a type of its own list";
}

TEST(TypeCosts, ChooseFromTypesThatHoldTheRows) {
  const auto names = [](bool is_gguf, const WeightId& id, std::size_t cols) {
    std::vector<std::string> list;
    for (const WeightType* type : types_to_choose(is_gguf, id, cols)) list.push_back(type->name);
    return list;
  };
  const WeightId head{.role = WeightRole::kHead};
  EXPECT_THAT(names(false, kUpId, 576),
              testing::ElementsAre("4x8", "4x9", "4x10", "2x6", "2x7", "2x8", "2x10"));
  EXPECT_THAT(names(false, head, 576), testing::ElementsAre("2x6", "2x7", "2x8", "2x10", "Q8_0"));
  EXPECT_THAT(names(true, kUpId, 576), testing::ElementsAre("Q2_0", "Q4_0", "Q5_0", "Q8_0"));
  EXPECT_THAT(names(true, kUpId, 96), testing::ElementsAre("Q4_0", "Q5_0", "Q8_0"));
  EXPECT_THAT(names(true, head, 512),
              testing::ElementsAre("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_0"));
  EXPECT_THAT(names(false, kUpId, 172), testing::IsEmpty());
}

/// The types are in the order of rising bits, and fits to random weights leave less with each.
TEST(TypeCosts, FallWithMoreBits) {
  for (const char* name : {"llama", "qwen3moe"}) {
    SmallSizes sizes = {
        .width = 64, .inner = 128, .heads = 2, .kv_heads = 1, .head_width = 32, .vocabulary = 40};
    if (std::string_view(name) == "qwen3moe") sizes.experts = 4;
    RandomWeights weights;
    const ModelParts model = tiny_model(small_description(name, sizes), weights);
    Samples samples{8, {}, {}};
    for (TokenId i = 0; i < 8; ++i) samples.fit.push_back({i, 1, i, 3, 39 - i, 5, 6, i});
    const Folding folding(model, {.rotates = true, .seed = 1});
    TypeMenu types;
    for (const WeightId& id : matrices_to_fit(model.description)) {
      types[id] = {&weight_type("4x8"), &weight_type("2x6"), &weight_type("2x10")};
    }
    const SquaredGradients gradients =
        measure_squared_gradients(model.description, model.weights, samples.fit);
    TypeCosts costs;
    measure_type_costs({model, folding, samples}, gradients, types, costs);
    ASSERT_EQ(costs.size(), types.size());
    for (const auto& [id, list] : costs) {
      ASSERT_EQ(list.size(), 3U);
      EXPECT_GT(list[0].loss, list[1].loss) << to_string(id);
      EXPECT_GT(list[1].loss, list[2].loss) << to_string(id);
      EXPECT_GT(list[2].loss, 0) << to_string(id);
      EXPECT_LT(list[0].bytes, list[1].bytes);
    }
  }
}

/// Half of the squared errors of the rows that tokens look up, times their gradients. Tokens
/// behind the table have row 0.
TEST(TypeCosts, OfTheTableOfBlockInputsAreThoseOfItsRows) {
  Description d = stream_description({.width = 64, .inner = 64, .vocabulary = 11});
  d.block_input_width = 16;
  d.block_input_rows = 7;
  RandomWeights weights;
  const ModelParts model = tiny_model(d, weights);
  const Samples samples{4, {{0, 9, 3, 3}}, {}};
  const Folding folding(model, {});
  SquaredGradients gradients;
  for (int i = 0; i < 64; ++i) gradients.block_inputs.push_back(1 + i % 5);
  const WeightId table{.role = WeightRole::kBlockInputTable};
  const WeightType& type = weight_type("Q4_0");
  TypeCosts costs;
  measure_type_costs({.model = model, .folding = folding, .samples = samples, .piece = 2 * 64},
                     gradients, {{table, {&type}}}, costs);
  const std::vector<float> values = model.weights.at(table).decode();
  const compress::MatrixFitOptions quick = {.feedback = true, .candidates = 2, .sweeps = 0};
  const auto fit =
      compress::fit_matrix(MatrixView<const float>(values, 7, 64),
                           compress::Metric<float>::identity(64), *type.encoding, quick);
  std::vector<float> fitted(values.size());
  compress::decode(fit, *type.encoding, MatrixView<float>(fitted.data(), 7, 64, 64));
  double expected = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double frequency = i / 64 == 0 || i / 64 == 3 ? 0.5 : 0;
    const double error = double{values[i]} - double{fitted[i]};
    expected += frequency / 2 * gradients.block_inputs[i % 64] * error * error;
  }
  ASSERT_EQ(costs.at(table).size(), 1U);
  EXPECT_NEAR(costs.at(table)[0].loss, expected, 1e-6 * expected);
  EXPECT_EQ(costs.at(table)[0].bytes, type.size_bytes(7, 64));
  EXPECT_EQ(types_to_choose(false, table, 64).back()->name, "Q8_0");
}

}  // namespace
}  // namespace halftone::lm
