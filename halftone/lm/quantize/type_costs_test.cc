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

std::vector<std::string> types_of(const BudgetedTypes& types) {
  return {types.choice.at(kUpId)->name, types.choice.at(kDownId)->name};
}

TEST(TypeCosts, ChooseTheLeastLossWithinASize) {
  const BudgetedTypes least = choose_within(two_matrices(), 20);
  EXPECT_THAT(types_of(least), testing::ElementsAre("4x8", "4x8"));
  EXPECT_EQ(least.bytes, 20U);
  EXPECT_DOUBLE_EQ(least.loss, 1.5);
  const BudgetedTypes more = choose_within(two_matrices(), 31);
  EXPECT_THAT(types_of(more), testing::ElementsAre("2x8", "4x8"));
  EXPECT_DOUBLE_EQ(more.loss, 0.6);
  EXPECT_THAT(types_of(choose_within(two_matrices(), 1000)), testing::ElementsAre("2x8", "2x8"));
}

TEST(TypeCosts, GiveMatricesOfATensorOneType) {
  const BudgetedTypes types = choose_within(two_matrices(), 35, {{kUpId, "t"}, {kDownId, "t"}});
  EXPECT_THAT(types_of(types), testing::ElementsAre("2x6", "2x6"));
  EXPECT_EQ(types.bytes, 32U);
}

TEST(TypeCosts, SayWhichSizeIsPossible) {
  expect_error(ErrorKind::kUsage, "the smallest types take 20; ask for 1 bytes more",
               [] { (void)choose_within(two_matrices(), 19); });
  require_size(20, 20);
  expect_error(ErrorKind::kUsage, "ask for 5 bytes more", [] { require_size(20, 15); });
}

TEST(TypeCosts, ChooseTheFewestBytesWithinALoss) {
  const BudgetedTypes found = choose_below(two_matrices(), 0.6001);
  EXPECT_THAT(types_of(found), testing::ElementsAre("2x8", "4x8"));
  EXPECT_EQ(found.bytes, 30U);
  EXPECT_DOUBLE_EQ(found.loss, 0.6);
  EXPECT_THAT(types_of(choose_below(two_matrices(), 0.599)), testing::ElementsAre("2x8", "2x6"));
  EXPECT_THAT(types_of(choose_below(two_matrices(), 1000)), testing::ElementsAre("4x8", "4x8"));
  EXPECT_THAT(types_of(choose_below(two_matrices(), 0.75, {{kUpId, "t"}, {kDownId, "t"}})),
              testing::ElementsAre("2x6", "2x6"));
  expect_error(ErrorKind::kUsage, "have a predicted divergence of 0.3 nats per token; allow more",
               [] { (void)choose_below(two_matrices(), 0.29); });
  expect_error(ErrorKind::kUsage, "loss: expected a finite number above 0",
               [] { (void)choose_below(two_matrices(), 0); });
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
    const Model model = tiny_model(small_description(name, sizes), weights);
    Samples samples{8, {}, {}};
    for (TokenId i = 0; i < 8; ++i) samples.fit.push_back({i, 1, i, 3, 39 - i, 5, 6, i});
    const Folding folding(model, {.rotates = true, .seed = 1});
    std::map<WeightId, std::vector<const WeightType*>> types;
    for (const WeightId& id : matrices_to_fit(model.description)) {
      types[id] = {&weight_type("4x8"), &weight_type("2x6"), &weight_type("2x10")};
    }
    const Sensitivities sensitivities =
        measure_sensitivities(model.description, model.weights, samples.fit);
    const TypeCosts costs = measure_type_costs({model, folding, samples}, sensitivities, types);
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

/// Half of the squared errors of the rows that tokens look up, times their sensitivities. Tokens
/// behind the table have row 0.
TEST(TypeCosts, OfTheTableOfBlockInputsAreThoseOfItsRows) {
  Description d = stream_description({.width = 64, .inner = 64, .vocabulary = 11});
  d.block_input_width = 16;
  d.block_input_rows = 7;
  RandomWeights weights;
  const Model model = tiny_model(d, weights);
  const Samples samples{4, {{0, 9, 3, 3}}, {}};
  const Folding folding(model, {});
  Sensitivities sensitivities;
  for (int i = 0; i < 64; ++i) sensitivities.block_inputs.push_back(1 + i % 5);
  const WeightId table{.role = WeightRole::kBlockInputTable};
  const WeightType& type = weight_type("Q4_0");
  const TypeCosts costs =
      measure_type_costs({.model = model, .folding = folding, .samples = samples, .piece = 2 * 64},
                         sensitivities, {{table, {&type}}});
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
    expected += frequency / 2 * sensitivities.block_inputs[i % 64] * error * error;
  }
  ASSERT_EQ(costs.at(table).size(), 1U);
  EXPECT_NEAR(costs.at(table)[0].loss, expected, 1e-6 * expected);
  EXPECT_EQ(costs.at(table)[0].bytes, type.size_bytes(7, 64));
  EXPECT_EQ(types_to_choose(false, table, 64).back()->name, "Q8_0");
}

}  // namespace
}  // namespace halftone::lm
