// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/fit_testing.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using SearchScales = PerTarget;

constexpr float kAnyOffset = std::numeric_limits<float>::max();

void expect_finds_as_reference(ScaleSearch search, Random& random) {
  for (const std::size_t rows : {0U, 16U, 48U}) {
    for (const std::size_t g : {1U, 16U, 33U}) {
      auto weights = even_matrix(random, g, rows, 3);
      for (std::size_t i = 0; i < g && rows > 0; ++i) weights.view(i, 2) = 0;  // a row of zeros
      std::vector<float> importance = even_floats(random, g);
      for (float& v : importance) v = v < 0 ? 0 : v;
      search.weights = weights.view;
      search.importance = importance;
      std::vector<float> scales(rows), offsets(rows), expected_scales(rows), expected_offsets(rows);
      search_scales(search, scales, offsets);
      search_scales_reference(search, expected_scales, expected_offsets);
      EXPECT_EQ(bit_patterns(scales), bit_patterns(expected_scales)) << g << " x " << rows;
      EXPECT_EQ(bit_patterns(offsets), bit_patterns(expected_offsets)) << g << " x " << rows;
    }
  }
}

TEST_P(SearchScales, MatchesReferenceForAllKindsOfScales) {
  Random random(78);
  const std::vector<float> shares = {1.05F, 0.8F, 0.5F};
  for (const auto& levels : {stepped_levels(0, 1, 4), stepped_levels(-4, 1, 8),
                             std::vector<float>{-7, -3, -1, 0, 2, 5}}) {
    const Codewords codewords(levels, 1);
    for (const bool has_sign : {false, true}) {
      for (const bool has_offsets : {false, true}) {
        for (const float largest : {0.0F, kAnyOffset}) {
          ScaleSearch search{&codewords, {}, {}, shares};
          search.has_sign = has_sign;
          search.has_offsets = has_offsets;
          search.largest_offset = largest;
          expect_finds_as_reference(search, random);
        }
      }
    }
  }
}

TEST_P(SearchScales, FindsTheScaleAndOffsetThatWeightsWereMadeOf) {
  const Codewords codewords(stepped_levels(0, 1, 16), 1);
  const std::size_t g = 32;
  SpacedMatrix<float> weights(g, kFitLanes);
  for (std::size_t r = 0; r < kFitLanes; ++r) {
    for (std::size_t i = 0; i < g; ++i) {
      weights.view(i, r) = 0.5F * static_cast<float>(i % 16) - static_cast<float>(r);
    }
  }
  const std::vector<float> importance(g, 1.0F);
  const std::vector<float> shares = {1.05F, 1, 0.9F};
  std::vector<float> scales(kFitLanes), offsets(kFitLanes);
  ScaleSearch search{&codewords, weights.view, importance, shares};
  search.has_offsets = true;
  search.largest_offset = 0;
  search_scales(search, scales, offsets);
  for (std::size_t r = 0; r < kFitLanes; ++r) {
    // Rows that reach from below zero to above it; the others' ranges are wider than they.
    if (r > 7) continue;
    EXPECT_NEAR(scales[r], 0.5F, 1e-4F) << r;
    EXPECT_NEAR(offsets[r], -static_cast<float>(r), 1e-3F) << r;
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(SearchScales);

}  // namespace
}  // namespace halftone::kernels
