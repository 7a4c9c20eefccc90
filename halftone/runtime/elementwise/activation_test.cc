// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::runtime {
namespace {

std::vector<ir::Activation> all_activations() {
  std::vector<ir::Activation> all;
  for (int kind = 0; kind <= static_cast<int>(ir::ActivationKind::kRound); ++kind) {
    all.push_back({static_cast<ir::ActivationKind>(kind), 0.25F, 0.75F});
  }
  all.push_back({ir::ActivationKind::kClip, 2, -1});
  return all;
}

TEST(Activation, EveryKindMatchesReference) {
  std::vector<float> x;
  for (int i = -80; i <= 80; ++i) x.push_back(static_cast<float>(i) / 16);
  x.insert(x.end(), {-1e30F, 1e30F, -1e-30F, -HUGE_VALF, HUGE_VALF, NAN});
  for (const ir::Activation& activation : all_activations()) {
    std::vector<float> y(x.size());
    apply_activation(activation, x, y);
    std::vector<float> in_place = x;
    apply_activation(activation, in_place, in_place);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float expected = ir::apply(activation, x[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << ir::to_string(activation) << " of " << x[i];
        continue;
      }
      if (std::isinf(expected)) {
        EXPECT_EQ(y[i], expected) << ir::to_string(activation) << " of " << x[i];
        continue;
      }
      EXPECT_NEAR(y[i], expected, 1e-6F * (1 + std::abs(expected)))
          << ir::to_string(activation) << " of " << x[i];
      EXPECT_EQ(in_place[i], y[i]);
    }
  }
}

TEST(Activation, VectorFunctionsAreThoseOfTheKernels) {
  EXPECT_TRUE(has_vector_function({ir::ActivationKind::kTanh}));
  EXPECT_TRUE(has_vector_function({ir::ActivationKind::kIdentity}));
  EXPECT_TRUE(has_vector_function({ir::ActivationKind::kClip, 0, 1}));
  EXPECT_TRUE(has_vector_function({ir::ActivationKind::kGelu}));
  EXPECT_FALSE(has_vector_function({ir::ActivationKind::kFloor}));
}

TEST(Activation, ClipWithCrossedBoundsHasNoVectorFunction) {
  EXPECT_FALSE(has_vector_function({ir::ActivationKind::kClip, 1, 0}));
}

/// Ascending values: half of them tiny, others dense where activations bend, and the extremes.
std::vector<float> ascending() {
  std::vector<float> x = {-HUGE_VALF, -3e38F, -1e3F};
  for (int i = -110000; i <= 90000; ++i) x.push_back(static_cast<float>(i) * 1e-3F);
  for (float tiny = 1e-45F; tiny < 1e-3F; tiny *= 2) x.insert(x.end(), {-tiny, tiny});
  x.insert(x.end(), {1e3F, 3e38F, HUGE_VALF});
  std::ranges::sort(x);
  return x;
}

TEST(NeverDecreasing, IsTheFunctionComputedAndNeverDecreases) {
  using K = ir::ActivationKind;
  const std::vector<float> x = ascending();
  for (const ir::Activation& activation :
       std::initializer_list<ir::Activation>{{K::kTanh},
                                             {K::kExp},
                                             {K::kElu, 1.5F},
                                             {K::kHardSigmoid, 0.2F, 0.5F},
                                             {K::kLeakyRelu, 0.1F},
                                             {K::kClip, -1, 2},
                                             {K::kRelu},
                                             {K::kReluN1To1},
                                             {K::kRelu6}}) {
    const auto function = never_decreasing(activation);
    ASSERT_TRUE(function) << ir::to_string(activation);
    std::vector<float> y(x.size());
    apply_activation(activation, x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(y[i], function(x[i])) << ir::to_string(activation) << " of " << x[i];
      if (i == 0) continue;
      ASSERT_GE(y[i], y[i - 1]) << ir::to_string(activation) << " of " << x[i];
    }
  }
}

TEST(NeverDecreasing, IsNotClaimedForDecreasingFunctions) {
  using K = ir::ActivationKind;
  for (const ir::Activation& activation :
       std::initializer_list<ir::Activation>{{K::kSigmoid},
                                             {K::kGelu},
                                             {K::kSilu},
                                             {K::kElu, -1},
                                             {K::kElu, HUGE_VALF},
                                             {K::kHardSigmoid, -0.2F, 0.5F},
                                             {K::kLeakyRelu, -0.1F},
                                             {K::kLeakyRelu, 0},
                                             {K::kClip, 2, -1},
                                             {K::kSquare}}) {
    EXPECT_FALSE(never_decreasing(activation)) << ir::to_string(activation);
  }
}

}  // namespace
}  // namespace halftone::runtime
