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
std::vector<float> hidden_rows(const ModelParts& model, const std::vector<TokenId>& sample) {
  const ir::Graph body = build_samples(model.description, model.weights, sample.size()).body;
  std::vector<ir::Tensor> inputs;
  inputs.push_back(
      ir::Tensor::from<std::int32_t>({1, static_cast<ir::Dim>(sample.size())}, sample));
  const ir::Tensor rows = ir::evaluate_graph(body, inputs)[0].clone();
  return {rows.as<float>().begin(), rows.as<float>().end()};
}

/// Of sums of at most 12 numbers below 4 behind some thirty operators.
constexpr float kRounding = 30 * 12 * 0x1p-22F;

TEST(SampleWalk, ComputesTheHiddenRowsOfAllSamples) {
  RandomWeights weights;
  const ModelParts model = tiny_model(small_description("llama", kOddSizes), weights);
  const Samples samples = six_samples();
  SampleWalk walk(model.description, model.weights, samples, 2);
  while (walk.blocks_done() < model.description.blocks) (void)walk.next_block();
  for (std::size_t i = 0; i < 6; ++i) {
    const auto expected = hidden_rows(model, i < 5 ? samples.fit[i] : samples.held_out[0]);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(walk.rows(i)[k], expected[k], kRounding) << i;
    }
  }
}

TEST(SampleWalk, CarriesWhatLaterBlocksRead) {
  RandomWeights weights;
  const ModelParts model = tiny_model(per_block_description(), weights);
  const Samples samples = six_samples();
  SampleWalk walk(model.description, model.weights, samples, 2);
  EXPECT_EQ(walk.rows(0).size(), 3U * (8 + 4 * 3));
  (void)walk.next_block();
  EXPECT_EQ(walk.rows(0).size(), 3U * (8 + 3 * 3 + 2 * 8));
  (void)walk.next_block();
  EXPECT_EQ(walk.rows(0).size(), 3U * (8 + 2 * 3 + 2 * 8 + 2 * 8));
  const std::vector<InputMoments> inputs = walk.next_block();
  EXPECT_EQ(inputs[0].matrices.size(), 1U);  // the query alone
  (void)walk.next_block();
  for (std::size_t i = 0; i < 6; ++i) {
    const auto expected = hidden_rows(model, i < 5 ? samples.fit[i] : samples.held_out[0]);
    ASSERT_EQ(walk.rows(i).size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(walk.rows(i)[k], expected[k], kRounding) << i;
    }
  }
}

TEST(SampleWalk, CarriesAllStreams) {
  RandomWeights weights;
  const ModelParts model = tiny_model(stream_description(), weights);
  const Samples samples = six_samples();
  SampleWalk walk(model.description, model.weights, samples, 2);
  EXPECT_EQ(walk.rows(0).size(), 3U * (3 * 8 + 4 * 3));
  (void)walk.next_block();
  EXPECT_EQ(walk.rows(0).size(), 3U * (3 * 8 + 3 * 3 + 2 * 8));
  while (walk.blocks_done() < model.description.blocks) (void)walk.next_block();
  for (std::size_t i = 0; i < 6; ++i) {
    const auto expected = hidden_rows(model, i < 5 ? samples.fit[i] : samples.held_out[0]);
    ASSERT_EQ(walk.rows(i).size(), expected.size());
    // As of llama above.
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(walk.rows(i)[k], expected[k], 1e-4) << i;
    }
  }
}

TEST(SampleWalk, MeasuresWhatMatricesRead) {
  RandomWeights weights;
  const ModelParts model = tiny_model(small_description("llama", kOddSizes), weights);
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
  const ModelParts model = tiny_model(small_description("llama", kOddSizes), weights);
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

/// The mean of -log p over the tokens behind `first`, first + step, ...
double expected_loss(const ModelParts& model, const std::vector<TokenId>& sample, std::size_t first,
                     std::size_t step) {
  const DecoderGraphs graphs = build_samples(model.description, model.weights, sample.size());
  std::vector<ir::Tensor> inputs;
  inputs.push_back(
      ir::Tensor::from<std::int32_t>({1, static_cast<ir::Dim>(sample.size())}, sample));
  std::vector<ir::Tensor> rows = ir::evaluate_graph(graphs.body, inputs);
  const std::vector<ir::Tensor> outputs = ir::evaluate_graph(graphs.head, rows);
  const std::span<const float> logits = outputs[0].as<float>();
  double loss = 0;
  std::size_t count = 0;
  for (std::size_t t = first; t + 1 < sample.size(); t += step, ++count) {
    double sum = 0;
    for (std::size_t i = 0; i < 11; ++i) sum += std::exp(double{logits[t * 11 + i]});
    const auto next = static_cast<std::size_t>(sample[t + 1]);
    loss += std::log(sum) - double{logits[t * 11 + next]};
  }
  return loss / static_cast<double>(count);
}

TEST(SampleWalk, MeasuresTheLossOfEachSample) {
  RandomWeights weights;
  const ModelParts model = tiny_model(small_description("llama", kOddSizes), weights);
  const auto losses = [&](const Samples& samples) {
    SampleWalk walk(model.description, model.weights, samples, 2);
    while (walk.blocks_done() < model.description.blocks) (void)walk.next_block();
    return walk.losses();
  };
  const std::vector<TokenId> tokens = {1, 5, 9, 2, 7, 0};
  const std::vector<double> found = losses({6, {tokens}, {}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0], expected_loss(model, tokens, 0, 1), kRounding);  // as the rows
  // Of 40 tokens every second one is enough.
  std::vector<TokenId> up;
  std::vector<TokenId> down;
  for (TokenId t = 0; t < 40; ++t) {
    up.push_back(t * t % 11);
    down.push_back((40 - t) * 3 % 11);
  }
  const std::vector<double> some = losses({40, {up}, {down}});
  ASSERT_EQ(some.size(), 2U);
  EXPECT_NEAR(some[0], expected_loss(model, up, 1, 2), kRounding);
  EXPECT_NEAR(some[1], expected_loss(model, down, 1, 2), kRounding);
}

TEST(SampleWalk, HasTheSameBitsForAllThreads) {
  RandomWeights weights;
  const ModelParts model = tiny_model(small_description("qwen2moe", {.experts = 4}), weights);
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
