// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/cost_measurement.h"

#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

ModelParts measured_model() {
  RandomWeights weights;
  return tiny_model(small_description("llama", kFitSizes), weights);
}

TEST(CostMeasurement, HasAMenuOfTypesThatHoldTheRows) {
  const ModelParts model = measured_model();
  const TypeMenu all = type_menu(model, false);
  EXPECT_EQ(all.size(), matrices_to_fit(model.description).size());
  const WeightId up{.role = WeightRole::kUp, .block = 1};
  EXPECT_EQ(all.at(up), types_to_choose(false, up, 64));
  const TypeMenu two = type_menu(model, false, {"Q4_0", "2x6", "Q4_K"});
  EXPECT_THAT(two.at(up), testing::ElementsAre(&weight_type("Q4_0"), &weight_type("2x6")));
  expect_error(ErrorKind::kUsage, "types: none holds the rows of a matrix",
               [&] { (void)type_menu(model, false, {"Q4_K"}); });
  expect_error(ErrorKind::kUsage, "types: 'Q4_0' comes twice", [&] {
    (void)type_menu(model, false, {"Q4_0", "q4_0"});
  });
  expect_error(ErrorKind::kUsage, "'2/8'", [&] { (void)type_menu(model, false, {"2/8"}); });
}

TEST(CostMeasurement, ContinuesWithWhatAStateLacks) {
  const ModelParts model = measured_model();
  const Samples samples = some_samples();
  const Folding folding(model, {.rotates = true, .seed = 1});
  const TypeMenu menu = type_menu(model, false, {"4x8", "Q4_0"});
  QuantizeState whole;
  std::size_t saves = 0;
  CostMeasurement how{.model = model, .folding = folding, .samples = samples};
  how.save = [&] { ++saves; };
  measure_costs(how, menu, whole);
  EXPECT_EQ(saves, 1 + 2 + 1U) << "sensitivities, two blocks, the table";
  EXPECT_EQ(whole.losses.size(), samples.fit.size() + samples.held_out.size());
  ASSERT_EQ(whole.costs.size(), menu.size());
  QuantizeState part;
  how.save = [&] {
    if (!part.costs.empty()) fail(ErrorKind::kInterrupted, "stopped");
  };
  expect_error(ErrorKind::kInterrupted, "stopped", [&] { measure_costs(how, menu, part); });
  EXPECT_EQ(part.costs.size(), 7U) << "the first block";
  how.save = {};
  measure_costs(how, menu, part);
  EXPECT_EQ(part.losses, whole.losses);
  for (const auto& [id, costs] : whole.costs) {
    for (std::size_t i = 0; i < costs.size(); ++i) {
      EXPECT_EQ(part.costs.at(id)[i].loss, costs[i].loss);
      EXPECT_EQ(part.costs.at(id)[i].bytes, costs[i].bytes);
    }
  }
}

TEST(CostMeasurement, NeedsGradients) {
  Description d = measured_model().description;
  check_gradients(d);
  d.mixers.resize(2);
  expect_error(ErrorKind::kUnsupported, "the recurrences of llama have no gradient yet",
               [&] { check_gradients(d); });
}

}  // namespace
}  // namespace halftone::lm
