// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/tuner.h"

#include <ATen/ATen.h>

#include <cmath>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/train/graph/torch_memory.h"
#include "halftone/train/tune/testing.h"

namespace halftone::train {
namespace {

using test::SequenceNetwork;
using test::token_samples;

class Tuners : public testing::Test {
 protected:
  void SetUp() override { prepare_torch(2); }

  Tuner tuner() const { return {teacher_.parts, student_.parts, student_.tuned, {}}; }
  double divergence(const Tuner& tuner) const {
    return tuner.divergence(samples_, tuner.taught(samples_));
  }

  const SequenceNetwork teacher_{""};
  const SequenceNetwork student_{"2x6"};
  const std::vector<TokenSample> samples_ = token_samples(3, 1);
};

/// The logits of a sample by the reference implementation, [tokens, vocabulary].
std::vector<float> reference_logits(const SequenceNetwork& network, const TokenSample& sample) {
  ir::Tensor rows = ir::Tensor::from<std::int32_t>({1, test::kTokens}, sample);
  for (const ir::Graph& part : network.parts) {
    if (&part == &network.parts.back()) rows = rows.reshaped({test::kTokens, 1, test::kWidth});
    rows = ir::test::run_reference(part, ir::test::list(std::move(rows)))[0].clone();
  }
  return {rows.as<float>().begin(), rows.as<float>().end()};
}

double reference_divergence(std::span<const float> teacher, std::span<const float> student) {
  const auto log_sum = [](std::span<const float> logits) {
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x});
    return std::log(sum);
  };
  const double t = log_sum(teacher);
  const double s = log_sum(student);
  double sum = 0;
  for (std::size_t i = 0; i < teacher.size(); ++i) {
    const double log_p = double{teacher[i]} - t;
    sum += std::exp(log_p) * (log_p - (double{student[i]} - s));
  }
  return sum;
}

TEST_F(Tuners, MeasureTheDivergence) {
  double sum = 0;
  double largest = 0;
  for (const TokenSample& sample : samples_) {
    const std::vector<float> teacher = reference_logits(teacher_, sample);
    const std::vector<float> student = reference_logits(student_, sample);
    for (const float x : teacher) largest = std::max(largest, std::fabs(double{x}));
    for (std::size_t t = 0; t < test::kTokens; ++t) {
      const auto row = [t](const std::vector<float>& all) {
        return std::span(all).subspan(t * test::kVocabulary, test::kVocabulary);
      };
      sum += reference_divergence(row(teacher), row(student));
    }
  }
  const double mean = sum / static_cast<double>(samples_.size() * test::kTokens);
  EXPECT_GT(mean, 0.01);
  // Logits are sums of 64 products after two layers of sums of 128 at most, in any order.
  EXPECT_NEAR(divergence(tuner()), mean, (64 + 2 * 128) * 0x1p-23 * (1 + largest));
  const Tuner same(teacher_.parts, teacher_.parts, {}, {});
  EXPECT_NEAR(same.divergence(samples_, same.taught(samples_)), 0, 0x1p-20 * (1 + largest));
}

/// Central differences at two step sizes bound what the third derivative adds.
TEST_F(Tuners, HaveTheSlopesOfGains) {
  Tuner looked = tuner();
  const Tuner::Look look = looked.look_at(samples_);
  EXPECT_NEAR(look.loss, divergence(looked), 0x1p-20);
  const NamedTensors state = looked.numbers_state();
  ASSERT_EQ(state.size(), look.gradients.size());
  std::size_t num_compared = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!state[i].name.starts_with("vector/")) continue;
    for (const std::int64_t element : {0, 17, 63}) {
      const auto slope = [&](float step) {
        double values[2];
        for (const int side : {0, 1}) {
          NamedTensors moved = copy_of(state);
          moved[i].tensor[element] += side == 0 ? -step : step;
          Tuner other = tuner();
          other.set_numbers_state(moved);
          values[side] = divergence(other);
        }
        return (values[1] - values[0]) / (2 * double{step});
      };
      constexpr float kStep = 0x1p-5F;
      const double near = slope(kStep);
      const double far = slope(2 * kStep);
      const double rounding = 320 * 0x1p-23 / double{kStep};
      EXPECT_NEAR(look.gradients[i][element].item<double>(), near,
                  std::fabs(far - near) + rounding * look.loss)
          << state[i].name << " " << element;
      ++num_compared;
    }
  }
  EXPECT_EQ(num_compared, 3 * 3U);
}

TEST_F(Tuners, GiveTheSameBitsForAllThreads) {
  Tuner a = tuner();
  Tuner b = tuner();
  for (int step = 0; step < 3; ++step) {
    a.learn(a.look_at(samples_), 0.01);
    const ThreadLimit limit(1);
    b.learn(b.look_at(samples_), 0.01);
  }
  const NamedTensors state = a.numbers_state();
  const NamedTensors other = b.numbers_state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_TRUE(state[i].tensor.equal(other[i].tensor)) << state[i].name;
  }
}

TEST_F(Tuners, TuneTheTableOfEmbeddingAndHeadOnce) {
  Tuner looked = tuner();
  const Tuner::Look look = looked.look_at(samples_);
  const NamedTensors state = looked.numbers_state();
  EXPECT_EQ(looked.numbers().bases(), std::vector<std::string>{"2x6"});
  std::size_t num_tables = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_TRUE(look.gradients[i].defined()) << state[i].name;
    if (state[i].name == "scales/table") {
      ++num_tables;
      EXPECT_EQ(state[i].tensor.numel(), test::kVocabulary);
      EXPECT_GT(look.gradients[i].abs().max().item<double>(), 0);
    }
  }
  EXPECT_EQ(num_tables, 1U);
}

TEST_F(Tuners, RefuseWhatHasNoGradientAndOtherBases) {
  SequenceParts parts = student_.parts;
  ir::Graph& graph = parts[1];
  graph.set_outputs(
      {graph.add_node("odd", ir::Unary{{ir::ActivationKind::kFloor}}, {graph.outputs()[0]})});
  expect_error(ErrorKind::kUnsupported, "no gradient for node 'odd'",
               [&] { (void)Tuner(teacher_.parts, parts, student_.tuned, {}); });
  NamedConstants tuned = student_.tuned;
  const auto& blocks = std::get<ir::BlockTensor>(*tuned.at("q.weight"));
  std::vector<std::int8_t> matrix(blocks.encoding->basis->matrix().begin(),
                                  blocks.encoding->basis->matrix().end());
  --matrix[0];
  ir::BlockTensor other{blocks.shape,
                        std::make_shared<const numerics::VectorEncoding>(
                            std::make_shared<const numerics::VectorBasis>(2, matrix), 0.01F),
                        blocks.bytes};
  tuned["q.weight"] = std::make_shared<const ir::Constant>(std::move(other));
  expect_error(ErrorKind::kUnsupported, "another basis 2x6", [&] { (void)TunedNumbers(tuned); });
}

}  // namespace
}  // namespace halftone::train
