// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/distortion.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/testing.h"

namespace halftone::numerics {
namespace {

TEST(Distortion, MatchesItsFormulas) {
  Distortion distortion;
  distortion.add(std::vector{3.0F, -4.0F}, std::vector{2.0F, -4.0F});
  distortion.add(std::vector{0.0F, 5.0F}, std::vector{0.5F, 7.0F});
  EXPECT_EQ(distortion.count(), 4u);
  EXPECT_DOUBLE_EQ(distortion.mse(), (1 + 0 + 0.25 + 4) / 4);
  EXPECT_DOUBLE_EQ(distortion.max_abs_error(), 2);
  EXPECT_NEAR(distortion.sqnr_db(), 9.788107, 1e-6);  // 10 log10(50 / 5.25)
}

TEST(Distortion, IsTheSameInPieces) {
  const std::vector<float> reference = {0.1F, 0.2F, 1e10F, -0.3F, 1e-10F};
  const std::vector<float> approximation = {0.2F, 0.1F, 1e9F, -0.4F, 0.0F};
  Distortion whole;
  whole.add(reference, approximation);
  Distortion pieces;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    pieces.add(std::span(reference).subspan(i, 1), std::span(approximation).subspan(i, 1));
  }
  EXPECT_EQ(whole.mse(), pieces.mse());
  EXPECT_EQ(whole.sqnr_db(), pieces.sqnr_db());
}

TEST(Distortion, AnswersAtTheEnds) {
  Distortion nothing;
  EXPECT_EQ(nothing.mse(), 0);
  EXPECT_EQ(nothing.max_abs_error(), 0);
  EXPECT_EQ(nothing.sqnr_db(), kInfinity);
  Distortion lossless;
  lossless.add(std::vector{1.0F}, std::vector{1.0F});
  EXPECT_EQ(lossless.sqnr_db(), kInfinity);
  Distortion only_noise;
  only_noise.add(std::vector{0.0F}, std::vector{1.0F});
  EXPECT_EQ(only_noise.sqnr_db(), -kInfinity);
}

}  // namespace
}  // namespace halftone::numerics
