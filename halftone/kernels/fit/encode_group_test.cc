// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/fit_testing.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using EncodeGroup = PerTarget;

struct EncodeExtents {
  std::size_t g;
  std::size_t rows;
  std::size_t candidates;
};

/// What encode_group() writes.
struct EncodedArrays {
  EncodedArrays(const EncodeExtents& e, std::size_t d)
      : errors(e.g, e.rows, 2), values(e.g, e.rows, 1), codes(e.g / d, e.rows, 3), chosen(e.rows) {}
  [[nodiscard]] EncodedGroup views() { return {errors.view, values.view, codes.view, chosen}; }

  SpacedMatrix<float> errors;
  SpacedMatrix<float> values;
  SpacedMatrix<std::int32_t> codes;
  std::vector<std::int32_t> chosen;
};

/// Random scales, among them zero, the least float32 and negative ones.
SpacedMatrix<float> hard_scales(Random& random, std::size_t candidates, std::size_t rows) {
  SpacedMatrix<float> scales = even_matrix(random, candidates, rows, 5);
  for (std::size_t i = 0; i < scales.elements.size(); i += 7) scales.elements[i] = 0;
  for (std::size_t i = 3; i < scales.elements.size(); i += 11) scales.elements[i] = 1e-45F;
  return scales;
}

void expect_encodes_as_reference(const Codewords& codewords, const EncodeExtents& e,
                                 Random& random) {
  const std::size_t d = codewords.numbers();
  SCOPED_TRACE(std::to_string(codewords.count()) + " codewords of " + std::to_string(d) + ", " +
               std::to_string(e.g) + " columns, " + std::to_string(e.rows) + " rows, " +
               std::to_string(e.candidates) + " candidates");
  const auto weights = even_matrix(random, e.g, e.rows, 4);
  const auto factor = even_matrix(random, e.g, e.g, 1);
  const auto scales = hard_scales(random, e.candidates, e.rows);
  const auto offsets = even_matrix(random, e.candidates, e.rows, 2);
  const std::vector<float> inverse = even_floats(random, e.g * d);
  const CodeMetric metric(even_floats(random, e.g * d), codewords);
  const GroupToEncode group{&codewords,  metric.gram.data(), metric.norms.data(), inverse.data(),
                            factor.view, weights.view,       scales.view,         offsets.view};
  EncodedArrays found(e, d);
  EncodedArrays expected(e, d);
  encode_group(group, found.views());
  encode_group_reference(group, expected.views());
  EXPECT_EQ(bit_patterns(found.errors.elements), bit_patterns(expected.errors.elements));
  EXPECT_EQ(bit_patterns(found.values.elements), bit_patterns(expected.values.elements));
  EXPECT_EQ(found.codes.elements, expected.codes.elements);
  EXPECT_EQ(found.chosen, expected.chosen);
}

TEST_P(EncodeGroup, MatchesReferenceForAllKindsOfCodewords) {
  Random random(70);
  for (const Codewords& codewords : codewords_of_all_kinds(random)) {
    for (const std::size_t rows : {0U, 16U, 32U, 48U}) {
      for (const std::size_t candidates : {1U, 3U}) {
        expect_encodes_as_reference(codewords, {12, rows, candidates}, random);
      }
    }
    expect_encodes_as_reference(codewords, {kMaxFitGroup, 16, 2}, random);
  }
}

TEST_P(EncodeGroup, TakesTheNearestLevelAndSpreadsItsError) {
  // One row that counts: levels 0 ... 3 of scale 2, U = [1, 0.5; 0, 1].
  const Codewords codewords(stepped_levels(0, 1, 4), 1);
  const CodeMetric metric({1, 1}, codewords);
  const std::vector<float> inverse = {1, 1};
  const std::vector<float> factor = {1, 0.5F, 0, 1};
  SpacedMatrix<float> weights(2, kFitLanes);
  weights.view(0, 0) = 2.8F;
  weights.view(1, 0) = 3.2F;
  SpacedMatrix<float> scales(1, kFitLanes);
  scales.view(0, 0) = 2;
  const SpacedMatrix<float> offsets(1, kFitLanes);
  EncodedArrays found({2, kFitLanes, 1}, 1);
  encode_group({&codewords, metric.gram.data(), metric.norms.data(), inverse.data(),
                MatrixView<const float>(factor, 2, 2), weights.view, scales.view, offsets.view},
               found.views());
  EXPECT_EQ(found.codes.view(0, 0), 1);
  EXPECT_FLOAT_EQ(found.errors.view(0, 0), 0.8F);
  // 3.2 - 0.8 / 2 is nearer to 2 than to 4.
  EXPECT_EQ(found.codes.view(1, 0), 1);
  EXPECT_FLOAT_EQ(found.errors.view(1, 0), 0.8F);
}

TEST_P(EncodeGroup, TakesTheNearestOfManyCodewordsInItsMetric) {
  Random random(71);
  const std::size_t d = 4;
  const Codewords codewords(even_floats(random, 1024 * d), d);
  const auto gram = positive_matrix(random, d);
  const CodeMetric metric(gram.elements, codewords);
  const auto weights = even_matrix(random, d, kFitLanes);
  SpacedMatrix<float> scales(1, kFitLanes);
  for (float& scale : scales.elements) scale = 1;
  const SpacedMatrix<float> offsets(1, kFitLanes);
  const std::vector<float> inverse(d * d);
  EncodedArrays found({d, kFitLanes, 1}, d);
  encode_group({&codewords, metric.gram.data(), metric.norms.data(), inverse.data(), gram.view,
                weights.view, scales.view, offsets.view},
               found.views());
  const auto distance = [&](std::size_t r, std::size_t code) {
    double sum = 0;
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t q = 0; q < d; ++q) {
        const auto x = [&](std::size_t i) {
          return static_cast<double>(weights.view(i, r)) -
                 static_cast<double>(codewords.words()[code * d + i]);
        };
        sum += x(p) * static_cast<double>(gram.view(p, q)) * x(q);
      }
    }
    return sum;
  };
  for (std::size_t r = 0; r < kFitLanes; ++r) {
    const auto code = static_cast<std::size_t>(found.codes.view(0, r));
    for (std::size_t k = 0; k < codewords.count(); ++k) {
      // Gains are sums of d + 1 float32 terms of up to 64, compared with each other.
      EXPECT_LE(distance(r, code), distance(r, k) + 2 * 6 * 64 * 0x1p-24) << r << ", " << k;
    }
  }
}

TEST_P(EncodeGroup, KeepsTheBestCandidateOfEachRow) {
  const Codewords codewords(stepped_levels(-1, 1, 3), 1);
  const CodeMetric metric({1}, codewords);
  const std::vector<float> one = {1};
  SpacedMatrix<float> weights(1, kFitLanes);
  SpacedMatrix<float> scales(3, kFitLanes);
  for (std::size_t r = 0; r < kFitLanes; ++r) {
    weights.view(0, r) = 1;
    scales.view(0, r) = 5;
    scales.view(1, r) = r % 2 == 0 ? 1.1F : 7;
    scales.view(2, r) = r % 2 == 0 ? 1.1F : -0.9F;
  }
  const SpacedMatrix<float> offsets(3, kFitLanes);
  EncodedArrays found({1, kFitLanes, 3}, 1);
  encode_group({&codewords, metric.gram.data(), metric.norms.data(), one.data(),
                MatrixView<const float>(one, 1, 1), weights.view, scales.view, offsets.view},
               found.views());
  for (std::size_t r = 0; r < kFitLanes; ++r) {
    EXPECT_EQ(found.chosen[r], r % 2 == 0 ? 1 : 2);
    EXPECT_EQ(found.codes.view(0, r), r % 2 == 0 ? 2 : 0);
    EXPECT_EQ(found.values.view(0, r), r % 2 == 0 ? 1.1F : 0.9F);
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(EncodeGroup);

}  // namespace
}  // namespace halftone::kernels
