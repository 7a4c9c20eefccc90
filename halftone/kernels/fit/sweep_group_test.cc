// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/fit_testing.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using SweepGroup = PerTarget;

/// A group in the middle of a fit.
struct GroupInFit {
  GroupInFit(Random& random, const Codewords& words, std::size_t g, std::size_t rows)
      : codewords(words),
        hessian(positive_matrix(random, g)),
        gradient(even_matrix(random, g, rows, 3)),
        values(even_matrix(random, g, rows, 2)),
        deltas(g, rows, 1),
        codes(g / words.numbers(), rows, 4),
        scales(even_floats(random, rows)),
        offsets(even_floats(random, rows)),
        metric(blocks(), words),
        reciprocals(g) {
    for (std::int32_t& code : codes.elements) {
      code = static_cast<std::int32_t>(random.below(words.count()));
    }
    for (std::size_t r = 0; r < rows; r += 5) scales[r] = 0;
    for (std::size_t i = 0; i < g; ++i) reciprocals[i] = 1 / hessian.view(i, i);
  }

  [[nodiscard]] std::vector<float> blocks() const {
    const std::size_t d = codewords.numbers();
    std::vector<float> all;
    for (std::size_t i = 0; i < hessian.view.rows(); ++i) {
      for (std::size_t q = 0; q < d; ++q) all.push_back(hessian.view(i, i / d * d + q));
    }
    return all;
  }
  [[nodiscard]] GroupToSweep group() const {
    return {&codewords,
            metric.gram.data(),
            metric.norms.data(),
            reciprocals.data(),
            hessian.view,
            gradient.view,
            scales,
            offsets};
  }
  [[nodiscard]] SweptGroup result() { return {values.view, deltas.view, codes.view}; }
  /// The number of a codeword of column c and row r.
  [[nodiscard]] double level(std::size_t c, std::size_t r) const {
    const std::size_t d = codewords.numbers();
    const auto code = static_cast<std::size_t>(codes.view(c / d, r));
    return static_cast<double>(codewords.words()[code * d + c % d]);
  }

  const Codewords& codewords;
  SpacedMatrix<float> hessian;
  SpacedMatrix<float> gradient;
  SpacedMatrix<float> values;
  SpacedMatrix<float> deltas;
  SpacedMatrix<std::int32_t> codes;
  std::vector<float> scales;
  std::vector<float> offsets;
  CodeMetric metric;
  std::vector<float> reciprocals;
};

void expect_sweeps_as_reference(const Codewords& codewords, std::size_t g, std::size_t rows,
                                std::uint64_t seed) {
  SCOPED_TRACE(std::to_string(codewords.count()) + " codewords of " +
               std::to_string(codewords.numbers()) + ", " + std::to_string(g) + " columns, " +
               std::to_string(rows) + " rows");
  Random random(seed);
  GroupInFit found(random, codewords, g, rows);
  Random again(seed);
  GroupInFit expected(again, codewords, g, rows);
  sweep_group(found.group(), found.result());
  sweep_group_reference(expected.group(), expected.result());
  EXPECT_EQ(bit_patterns(found.values.elements), bit_patterns(expected.values.elements));
  EXPECT_EQ(bit_patterns(found.deltas.elements), bit_patterns(expected.deltas.elements));
  EXPECT_EQ(found.codes.elements, expected.codes.elements);
}

TEST_P(SweepGroup, MatchesReferenceForAllKindsOfCodewords) {
  Random random(72);
  for (const Codewords& codewords : codewords_of_all_kinds(random)) {
    for (const std::size_t rows : {0U, 16U, 32U, 48U}) {
      expect_sweeps_as_reference(codewords, 12, rows, 73);
    }
    expect_sweeps_as_reference(codewords, kMaxFitGroup, 16, 74);
  }
}

/// The sums of sum_levels(), each [rows].
struct SumArrays {
  explicit SumArrays(std::size_t rows) : sums(4, std::vector<float>(rows)) {}
  [[nodiscard]] LevelSums spans() { return {sums[0], sums[1], sums[2], sums[3]}; }
  std::vector<std::vector<float>> sums;
};

TEST_P(SweepGroup, SumsMatchReference) {
  Random random(75);
  for (const Codewords& codewords : codewords_of_all_kinds(random)) {
    for (const std::size_t rows : {0U, 16U, 48U}) {
      const GroupInFit fit(random, codewords, 20, rows);
      const LevelsToSum group{&codewords, fit.hessian.view, fit.gradient.view, fit.codes.view};
      SumArrays found(rows);
      SumArrays expected(rows);
      sum_levels(group, found.spans());
      sum_levels_reference(group, expected.spans());
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(bit_patterns(found.sums[i]), bit_patterns(expected.sums[i])) << i;
      }
    }
  }
}

TEST_P(SweepGroup, SumsAreWhatTheySay) {
  Random random(76);
  const Codewords codewords(stepped_levels(-2, 1, 4), 1);
  const std::size_t g = 8;
  const GroupInFit fit(random, codewords, g, kFitLanes);
  SumArrays found(kFitLanes);
  sum_levels({&codewords, fit.hessian.view, fit.gradient.view, fit.codes.view}, found.spans());
  for (std::size_t r = 0; r < kFitLanes; ++r) {
    double level_gradient = 0, gradient = 0, level_norm = 0, level_sum = 0;
    for (std::size_t i = 0; i < g; ++i) {
      level_gradient += fit.level(i, r) * static_cast<double>(fit.gradient.view(i, r));
      gradient += static_cast<double>(fit.gradient.view(i, r));
      for (std::size_t l = 0; l < g; ++l) {
        const double h = static_cast<double>(fit.hessian.view(i, l));
        level_norm += fit.level(i, r) * h * fit.level(l, r);
        level_sum += h * fit.level(l, r);
      }
    }
    // Sums of at most 64 products of up to 2 * 2 * 11, rounded after each of 72 operations.
    const double tolerance = 64 * 44 * 72 * 0x1p-24;
    EXPECT_NEAR(static_cast<double>(found.sums[0][r]), level_gradient, tolerance);
    EXPECT_NEAR(static_cast<double>(found.sums[1][r]), gradient, tolerance);
    EXPECT_NEAR(static_cast<double>(found.sums[2][r]), level_norm, tolerance);
    EXPECT_NEAR(static_cast<double>(found.sums[3][r]), level_sum, tolerance);
  }
}

/// (w - v)' H (w - v) with w = v + H^-1 r, less its part without v: -2 r' (v' - v) + (v' - v)' H
/// (v' - v) for the values v' that a sweep leaves.
double change_of_error(const GroupInFit& before, const GroupInFit& after, std::size_t r) {
  double change = 0;
  const std::size_t g = before.hessian.view.rows();
  const auto delta = [&](std::size_t i) { return static_cast<double>(after.deltas.view(i, r)); };
  for (std::size_t i = 0; i < g; ++i) {
    change -= 2 * static_cast<double>(before.gradient.view(i, r)) * delta(i);
    for (std::size_t l = 0; l < g; ++l) {
      change += delta(i) * static_cast<double>(before.hessian.view(i, l)) * delta(l);
    }
  }
  return change;
}

TEST_P(SweepGroup, LowersTheError) {
  Random random(77);
  bool any_lower = false;
  for (const Codewords& codewords : codewords_of_all_kinds(random)) {
    GroupInFit fit(random, codewords, 12, 16);
    // Values as the codes have them.
    for (std::size_t r = 0; r < 16; ++r) {
      for (std::size_t c = 0; c < 12; ++c) {
        const float product = fit.scales[r] * static_cast<float>(fit.level(c, r));
        fit.values.view(c, r) = product + fit.offsets[r];
      }
    }
    sweep_group(fit.group(), fit.result());
    for (std::size_t r = 0; r < 16; ++r) {
      const double change = change_of_error(fit, fit, r);
      EXPECT_LE(change, 1e-4) << r;  // rounding of gains of up to 12 * 4^2 * 11
      any_lower = any_lower || change < -0.01;
    }
  }
  EXPECT_TRUE(any_lower);
}

HALFTONE_INSTANTIATE_PER_TARGET(SweepGroup);

}  // namespace
}  // namespace halftone::kernels
