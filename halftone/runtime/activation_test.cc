// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

TEST(Activation, EveryKindIsItsDefinition) {
  std::vector<float> x;
  for (int i = -80; i <= 80; ++i) x.push_back(static_cast<float>(i) / 16);
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
  EXPECT_FALSE(has_vector_function({ir::ActivationKind::kErf}));
}

TEST(Activation, ClipWithCrossedBoundsHasNoVectorFunction) {
  EXPECT_FALSE(has_vector_function({ir::ActivationKind::kClip, 1, 0}));
}

}  // namespace
}  // namespace halftone::runtime
