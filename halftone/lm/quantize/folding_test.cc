// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/folding.h"

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

Description small(const std::string& name, bool ties_embeddings) {
  SmallSizes sizes = kOddSizes;
  sizes.experts = name == "qwen2moe" ? 4 : 0;
  sizes.ties_embeddings = ties_embeddings;
  return small_description(name, sizes);
}

ModelParts random_model(const Description& d) {
  RandomWeights weights;
  return tiny_model(d, weights);
}

/// The folded weights as a model of their own.
ModelParts folded_model(const Folding& folding) {
  return tiny_model(folding.description(),
                    [&](const WeightId& id, std::size_t) { return folding.weight(id); });
}

/// Logits are of order 1 after about forty operators in float32 over sums of up to 12 terms, which
/// gains of up to 2 may double: 2^-23 * 40 * 12 * 2 is 1.1e-4.
constexpr double kFunctionTolerance = 1.2e-4;

TEST(Folding, KeepsTheFunction) {
  for (const char* name :
       {"llama", "qwen2", "qwen3", "gemma", "gemma2", "gpt2", "bitnet", "qwen2moe"}) {
    for (const bool ties : {false, true}) {
      const ModelParts model = random_model(small(name, ties));
      const Folding folding(model, {.rotates = true, .seed = 4});
      const std::vector<float> expected = logits_of(model);
      const std::vector<float> found = logits_of(folded_model(folding));
      ASSERT_EQ(found.size(), expected.size());
      double largest = 0;
      for (const float logit : expected) largest = std::max(largest, std::abs(double{logit}));
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], kFunctionTolerance * std::max(1.0, largest)) << name;
      }
    }
  }
}

TEST(Folding, ChangesNothingWithoutRotations) {
  const ModelParts model = random_model(small("llama", true));
  const Folding folding(model, {});
  EXPECT_EQ(folding.description(), model.description);
  for (const WeightId& id : needed_weights(model.description)) {
    EXPECT_EQ(folding.weight(id), model.weights.at(id).decode()) << to_string(id);
  }
}

TEST(Folding, RotatesRowsOnlyBetweenRmsNorms) {
  const auto rotates = [](const char* name) {
    const ModelParts model = random_model(small(name, true));
    return Folding(model, {.rotates = true}).rotates_rows();
  };
  EXPECT_TRUE(rotates("llama"));
  EXPECT_TRUE(rotates("gemma"));
  EXPECT_FALSE(rotates("gemma2"));
  EXPECT_FALSE(rotates("gpt2"));
}

TEST(Folding, IsUndone) {
  const ModelParts model = random_model(small("llama", false));
  const Folding folding(model, {.rotates = true, .seed = 9});
  for (const WeightRole role : {WeightRole::kQuery, WeightRole::kValue, WeightRole::kDown,
                                WeightRole::kAttentionOutput, WeightRole::kHead}) {
    const WeightId id{.role = role};
    std::vector<float> weights = folding.weight(id);
    folding.unfold(id, weights);
    const std::vector<float> expected = model.weights.at(id).decode();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Numbers below 1, times gains of up to 2 and 1 over them: of these the smallest is 0.02.
      EXPECT_NEAR(weights[i], expected[i], 1e-4) << to_string(role) << " " << i;
    }
  }
}

/// tr(E H E') of a matrix is what it was before both are folded, but for the damping.
TEST(Folding, MomentsFollowTheirMatrices) {
  const ModelParts model = random_model(small("llama", true));
  const Folding folding(model, {.rotates = true, .seed = 2});
  const std::size_t n = model.description.width;
  std::vector<float> moments(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 1; k < 5; ++k) {
        moments[i * n + j] +=
            std::sin(static_cast<float>(k * (i + 1))) * std::sin(static_cast<float>(k * (j + 1)));
      }
    }
  }
  const auto energy = [&](const std::vector<float>& w, const std::vector<float>& h) {
    double sum = 0;
    for (std::size_t r = 0; r < w.size() / n; ++r) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          sum += double{w[r * n + i]} * double{h[i * n + j]} * double{w[r * n + j]};
        }
      }
    }
    return sum;
  };
  for (const WeightRole role : {WeightRole::kQuery, WeightRole::kUp, WeightRole::kTokenEmbedding}) {
    const WeightId id{.role = role};
    std::vector<float> folded = moments;
    folding.fold_moments(id, 0, folded);
    const double expected = energy(model.weights.at(id).decode(), moments);
    EXPECT_NEAR(energy(folding.weight(id), folded), expected, 1e-4 * expected) << to_string(role);
    std::vector<float> damped = moments;
    folding.fold_moments(id, 0.5, damped);
    EXPECT_GT(energy(folding.weight(id), damped), 1.01 * expected);
  }
}

}  // namespace
}  // namespace halftone::lm
