// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/sample_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

Samples six_samples() {
  Samples samples{3, {}, {}};
  for (TokenId i = 0; i < 5; ++i) samples.fit.push_back({i, i + 1, i + 2});
  samples.held_out.push_back({9, 3, 1});
  return samples;
}

/// Hidden rows behind all blocks, of one sample.
std::vector<float> hidden_rows(const Model& model, const std::vector<TokenId>& sample) {
  const ir::Graph body = build_samples(model.description, model.weights, sample.size()).body;
  std::vector<ir::Tensor> inputs;
  inputs.push_back(
      ir::Tensor::from<std::int32_t>({1, static_cast<ir::Dim>(sample.size())}, sample));
  const ir::Tensor rows = ir::evaluate_graph(body, inputs)[0].clone();
  return {rows.as<float>().begin(), rows.as<float>().end()};
}

TEST(SampleWalk, ComputesTheHiddenRowsOfAllSamples) {
  RandomWeights weights;
  const Model model = tiny_model(small_description("llama", kOddSizes), weights);
  const Samples samples = six_samples();
  SampleWalk walk(model.description, model.weights, samples, 2);
  while (walk.blocks_done() < model.description.blocks) (void)walk.next_block();
  for (std::size_t i = 0; i < 6; ++i) {
    const auto expected = hidden_rows(model, i < 5 ? samples.fit[i] : samples.held_out[0]);
    // Sums of at most 12 numbers of order 1 behind some thirty operators.
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(walk.rows(i)[k], expected[k], 1e-4) << i;
    }
  }
}

TEST(SampleWalk, MeasuresWhatMatricesRead) {
  RandomWeights weights;
  const Model model = tiny_model(small_description("llama", kOddSizes), weights);
  const Samples samples = six_samples();
  SampleWalk walk(model.description, model.weights, samples, 1);
  const std::vector<InputMoments> inputs = walk.next_block();
  ASSERT_EQ(inputs.size(), 4U);
  EXPECT_EQ(inputs[0].matrices.size(), 3U);
  EXPECT_EQ(inputs[3].width, 10U);
  EXPECT_EQ(inputs[3].fit.size(), 100U);
  // The norm's rows without their gains have a mean square of 1, less epsilon.
  const std::vector<float> gains = model.weights.at({.role = WeightRole::kAttentionNorm}).decode();
  for (const std::vector<float>* moments : {&inputs[0].fit, &inputs[0].held_out}) {
    double sum = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      sum += double{(*moments)[i * 12 + i]} / (double{gains[i]} * double{gains[i]});
    }
    EXPECT_NEAR(sum, 12, 0.01);
  }
  EXPECT_NE(inputs[0].fit, inputs[0].held_out);
}

TEST(SampleWalk, MeasuresOnlyWhatIsWanted) {
  RandomWeights weights;
  const Model model = tiny_model(small_description("llama", kOddSizes), weights);
  const Samples samples = six_samples();
  SampleWalk walk(model.description, model.weights, samples, 1);
  SampleWalk all(model.description, model.weights, samples, 1);
  const auto inputs =
      walk.next_block([](const WeightId& id) { return id.role == WeightRole::kUp; });
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].fit, all.next_block()[2].fit);
  EXPECT_TRUE(walk.next_block([](const WeightId& /*id*/) { return false; }).empty());
  (void)all.next_block();
  EXPECT_TRUE(std::ranges::equal(walk.rows(5), all.rows(5)));
}

TEST(SampleWalk, MeasuresTheLossOfEachSample) {
  RandomWeights weights;
  const Model model = tiny_model(small_description("llama", kOddSizes), weights);
  const Samples samples{6, {{1, 5, 9, 2, 7, 0}}, {}};
  SampleWalk walk(model.description, model.weights, samples, 2);
  while (walk.blocks_done() < model.description.blocks) (void)walk.next_block();
  const std::vector<float> logits = logits_of(model);
  double expected = 0;
  for (std::size_t t = 0; t < 5; ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < 11; ++i) sum += std::exp(double{logits[t * 11 + i]});
    const auto next = static_cast<std::size_t>(samples.fit[0][t + 1]);
    expected += (std::log(sum) - double{logits[t * 11 + next]}) / 5;
  }
  ASSERT_EQ(walk.losses().size(), 1U);
  EXPECT_NEAR(walk.losses()[0], expected, 1e-4);  // as the rows
}

TEST(SampleWalk, HasTheSameBitsForAllThreads) {
  RandomWeights weights;
  const Model model = tiny_model(small_description("qwen2moe", {.experts = 4}), weights);
  const Samples samples = six_samples();
  const auto moments = [&](int threads) {
    SampleWalk walk(model.description, model.weights, samples, threads);
    std::vector<float> all;
    while (walk.blocks_done() < model.description.blocks) {
      for (const InputMoments& input : walk.next_block()) {
        all.insert(all.end(), input.fit.begin(), input.fit.end());
      }
    }
    const InputMoments head = walk.head();
    all.insert(all.end(), head.fit.begin(), head.fit.end());
    for (const double loss : walk.losses()) all.push_back(static_cast<float>(loss));
    return all;
  };
  EXPECT_EQ(moments(1), moments(3));
}

}  // namespace
}  // namespace halftone::lm
