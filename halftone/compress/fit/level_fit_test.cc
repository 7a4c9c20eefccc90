// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/level_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/testing.h"
#include "halftone/numerics/basis.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::compress {
namespace {

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random.normal());
  return x;
}

double mean_error(std::string_view system, int bits, bool offset, const std::vector<float>& x) {
  const ParameterSpace space = space_of(system, bits, offset);
  return fit_levels(space, x, {}, {}).error / static_cast<double>(x.size());
}

// Twice the range, so that what a sample lacks does not overflow at once.
TEST(FitLevels, OfASystemThatOverflowsCoverTheRange) {
  std::vector<float> x = normal_numbers(5000, 3);
  x.push_back(40);
  const ParameterSpace space(codebook_of(numerics::find_system("e4m3_nan"), 8), false);
  const numerics::Levels levels = fit_levels(space, x, {}, {}).levels;
  EXPECT_NEAR(levels.scale(), 2 * 40.0 / 448, 1e-3);
  const numerics::LevelTable table(levels);
  EXPECT_EQ(table.nearest(79), table.levels().back());
  EXPECT_TRUE(std::isnan(table.nearest(90)));
}

// Against all zero points and many scales.
TEST(FitLevels, WithZeroPointsAreNearTheBest) {
  for (const double middle : {0.0, 0.5, 4.0, -4.0}) {
    std::vector<float> x = normal_numbers(400, 5);
    for (float& value : x) value += static_cast<float>(middle);
    for (int bits = 2; bits <= 4; ++bits) {
      const auto codebook = codebook_of(numerics::find_system("asymmetric"), bits);
      const LevelFit fit = fit_levels(ParameterSpace(codebook, true), x, {}, {});
      double least = std::numeric_limits<double>::infinity();
      for (int z = 0; z < 1 << bits; ++z) {
        for (float scale = 0.02F; scale < 4; scale *= 1.02F) {
          const numerics::LevelTable table(
              numerics::Levels(codebook, scale, -scale * static_cast<float>(z)));
          double error = 0;
          for (const float value : x) error += std::pow(double{table.nearest(value) - value}, 2);
          least = std::min(least, error);
        }
      }
      // The grid of scales is coarse, and fits end in local minima.
      EXPECT_LT(fit.error, 1.05 * least) << middle << ", bits " << bits;
    }
  }
}

TEST(FitLevels, OfFloatsOf16BitsHaveNoScale) {
  const std::vector<float> x = normal_numbers(500, 4);
  for (const char* name : {"fp16", "bf16", "e6m9"}) {
    const ParameterSpace space(codebook_of(numerics::find_system(name), 16), false);
    EXPECT_EQ(fit_levels(space, x, {}, {}).levels.scale(), 1) << name;
  }
}

TEST(FitBasis, ReachesThePublishedOptimumForNormalNumbers) {
  // Optimal quantizers for N(0, 1): mean squared error 0.3634, 0.1175, 0.03454 at 2, 4, 8 levels.
  // Max, Quantizing for Minimum Distortion, IRE Trans. Inf. Theory 1960, Table I. Eight symmetric
  // levels of a basis have 3 degrees of freedom where Max has 4, so they lie between his and evenly
  // spaced ones (Table II: 0.03744).
  const std::vector<float> x = normal_numbers(200000, 1);
  EXPECT_NEAR(mean_error("basis", 1, false, x), 0.3634, 0.003);
  EXPECT_NEAR(mean_error("basis", 2, false, x), 0.1175, 0.001);
  EXPECT_GT(mean_error("basis", 3, false, x), 0.0345);
  EXPECT_LT(mean_error("basis", 3, false, x), 0.0374);
  EXPECT_NEAR(mean_error("symmetric", 3, false, x), 0.03744, 0.0005);
}

TEST(FitBasis, FindsTheBasisThatMadeTheNumbers) {
  const numerics::Basis truth =
      numerics::on_integer_grid(numerics::make_basis(std::vector<float>{0.25F, 1.0F, 3.5F}, 0.5F));
  Random random(2);
  std::vector<float> x(500);
  for (float& value : x) value = truth.value(static_cast<numerics::Code>(random.below(8)));
  const LevelFit fit = fit_levels(space_of("basis", 3, true), x, {}, {});
  EXPECT_LT(fit.error / 500, 1e-6);
}

TEST(FitBasis, IsNeverWorseThanEvenlySpacedLevels) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> x = normal_numbers(300, seed);
    for (float& value : x) value = seed % 2 == 0 ? std::exp(value) : value * value * value;
    const float largest =
        std::abs(*std::ranges::max_element(x, {}, [](float v) { return std::abs(v); }));
    for (int bits = 1; bits <= 5; ++bits) {
      // Each of the K + 1 numbers of a basis is rounded by up to 2^-11 of the largest.
      const double rounding = (bits + 1) * 0x1p-11 * double{largest};
      const auto expect_no_worse = [&](const char* even, bool offset) {
        const double most = std::sqrt(mean_error(even, bits, offset, x)) + rounding;
        EXPECT_LE(std::sqrt(mean_error("basis", bits, offset, x)), most)
            << even << ", seed " << seed << ", bits " << bits;
      };
      expect_no_worse("affine", true);
      expect_no_worse("symmetric", false);
    }
  }
}

TEST(FitBasis, GivesFixedPointAStepThatIsAPowerOfTwo) {
  const LevelFit fit = fit_levels(space_of("fixed", 4, false), normal_numbers(1000, 3), {}, {});
  const float step = fit.levels.scale();
  EXPECT_EQ(std::exp2(std::round(std::log2(step))), step);
  EXPECT_EQ(fit.levels.basis(), numerics::fixed_point_basis(4, static_cast<int>(-std::log2(step))));
}

/// The error of the nearest levels at this scale, which must be a power of two.
double error_at(const ParameterSpace& space, double scale, const std::vector<float>& x,
                const std::vector<float>& weights) {
  const numerics::Levels levels = space.to_levels(Vector::Constant(1, scale));
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = double{x[i]} - double{levels.value(levels.encode(x[i]))};
    sum += weights[i] * error * error;
  }
  return sum;
}

// Numbers with a few large ones, which fewer bits give up: the best exponent is up to four below
// the rule's, and more where large numbers have no weight.
TEST(FitLevels, TakesTheBestPowerOfTwo) {
  Random random(8);
  std::set<int> steps;
  for (const char* system : {"fixed", "bfp", "mxfp4", "mxint8", "mxfp8_e5m2"}) {
    const numerics::NumberSystem& found = numerics::find_system(system);
    for (const int bits : {2, 3, 4, 8}) {
      if (!found.allows(bits)) continue;
      const ParameterSpace space = space_of(system, bits);
      for (int i = 0; i < 40; ++i) {
        SCOPED_TRACE(std::string(system) + " of " + std::to_string(bits) + " bits, " +
                     std::to_string(i));
        std::vector<float> x = normal_numbers(32, random.next());
        x[0] *= static_cast<float>(std::exp2(5 * random.uniform()));
        std::vector<float> weights(x.size(), 1);
        weights[0] = i % 2 == 0 ? 1 : 0;
        const LevelFit fit = fit_levels(space, x, {}, weights);
        double least = std::numeric_limits<double>::infinity();
        double best = 0;
        for (int e = 12; e >= -20; --e) {
          const double covering =
              space.covering(*std::ranges::min_element(x), *std::ranges::max_element(x), false)[0];
          if (std::ldexp(1.0, e) >= 2 * covering) continue;
          const double error = error_at(space, std::ldexp(1.0, e), x, weights);
          if (error >= least * (1 - 1e-9)) continue;
          least = error;
          best = std::ldexp(1.0, e);
        }
        // Both are differences of sums of at most 32 squares in float64.
        double squares = 0;
        for (std::size_t k = 0; k < x.size(); ++k) {
          squares += double{weights[k]} * double{x[k]} * double{x[k]};
        }
        EXPECT_NEAR(fit.error, least, 4 * 32 * 0x1p-52 * squares);
        EXPECT_EQ(fit.levels.scale(), best);
        const numerics::MatrixEncoding by_rule =
            numerics::encoding_by_rule(found, bits, {numerics::Granularity::kTensor, 0},
                                       {std::span<const float>(x), 1, x.size()});
        steps.insert(std::ilogb(by_rule.scales[0]) - std::ilogb(fit.levels.scale()));
      }
    }
  }
  for (const int step : {-1, 0, 1, 2, 3, 4}) EXPECT_TRUE(steps.contains(step)) << step;
}

TEST(FitLevels, KeepsTheLargestOfEqualPowersOfTwo) {
  // 1 is a level at every scale from 2^-2 to 1, and -8 has no weight.
  const std::vector<float> x{1, -8};
  const std::vector<float> weights{1, 0};
  EXPECT_EQ(fit_levels(space_of("fixed", 4), x, {}, weights).levels.scale(), 1);
  const std::vector<float> zeros(3);
  EXPECT_EQ(fit_levels(space_of("fixed", 4), zeros, {}, {}).levels.scale(), 0x1p-127F);
}

/// The least error at scales in steps of 1 % down from those whose levels hold all numbers.
double least_error(const ParameterSpace& space, const std::vector<float>& x) {
  const double covering =
      space.covering(*std::ranges::min_element(x), *std::ranges::max_element(x), false)[0];
  const double top = std::abs(double{space.codebook()->sorted().back()});
  const std::vector<float> ones(x.size(), 1);
  double least = std::numeric_limits<double>::infinity();
  for (double scale = covering; scale < 4 * std::max(1.0, top) * covering; scale *= 1.01) {
    least = std::min(least, error_at(space, scale, x, ones));
  }
  for (double scale = covering; scale > covering / 16; scale /= 1.01) {
    least = std::min(least, error_at(space, scale, x, ones));
  }
  return least;
}

class FitTables : public testing::TestWithParam<std::string> {};

std::vector<std::string> uneven_tables() {
  std::vector<std::string> names;
  for (const numerics::NumberSystem& system : numerics::number_systems()) {
    if (system.is_learned() || system.name == "e8m0" || system.min_bits > numerics::kMaxBits)
      continue;
    const int bits = std::min(system.max_bits, numerics::kMaxBits);
    if (!codebook_of(system, bits)->is_even()) names.emplace_back(system.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Systems, FitTables, testing::ValuesIn(uneven_tables()),
                         [](const auto& test) { return test.param; });

// Wherever the levels are densest: of posits around 1, not near the largest.
TEST_P(FitTables, FindsAScaleNearTheBest) {
  const numerics::NumberSystem& system = numerics::find_system(GetParam());
  for (int bits = system.min_bits; bits <= std::min(system.max_bits, numerics::kMaxBits); ++bits) {
    const ParameterSpace space = space_of(GetParam(), bits);
    for (const bool is_half : {false, true}) {
      for (const std::size_t count : {64U, 400U}) {
        std::vector<float> x = normal_numbers(count, static_cast<std::uint64_t>(bits));
        for (float& value : x) value = 0.03F * (is_half ? std::abs(value) : value);
        const double error = fit_levels(space, x, {}, {}).error;
        EXPECT_LE(error, 1.5 * least_error(space, x))
            << bits << " bits, " << count << (is_half ? " half-normal" : " normal");
      }
    }
  }
}

TEST(FitLevels, TakesAGoodScaleForPositsOfManyBits) {
  const std::vector<float> x = normal_numbers(100, 9);
  const std::vector<float> ones(x.size(), 1);
  for (const int bits : {9, 12, 16}) {
    const ParameterSpace space = space_of("posit", bits);
    double least = std::numeric_limits<double>::infinity();
    for (int e = -20; e <= 4; ++e) {
      least = std::min(least, error_at(space, std::ldexp(1.0, e), x, ones));
    }
    EXPECT_LE(fit_levels(space, x, {}, {}).error, 2 * least) << bits;
  }
}

TEST(FitBasis, IgnoresNumbersOfWeightZero) {
  std::vector<float> x = {1, 1, 3, 3, 100};
  const std::vector<float> weights = {1, 1, 1, 1, 0};
  const LevelFit fit = fit_levels(space_of("basis", 1, true), x, {}, weights);
  EXPECT_NEAR(fit.error, 0, 1e-4);
  EXPECT_NEAR(numerics::LevelTable(fit.levels).nearest(1), 1, 1e-3);
  EXPECT_NEAR(numerics::LevelTable(fit.levels).nearest(3), 3, 1e-3);
}

TEST(FitBasis, FitsLevelsToTargetsRatherThanToTheNumbersThemselves) {
  // The actual values are a little smaller than their targets.
  std::vector<float> x;
  std::vector<float> targets;
  for (int i = 0; i < 400; ++i) {
    x.push_back(i % 2 == 0 ? -1.0F : 1.0F);
    targets.push_back(1.25F * x.back());
  }
  const LevelFit fit = fit_levels(space_of("basis", 1, true), x, targets, {});
  EXPECT_FLOAT_EQ(numerics::LevelTable(fit.levels).nearest(1), 1.25F);
  EXPECT_LT(fit.error, 1e-9);
}

TEST(FitBasis, TakesConstantAndMissingNumbers) {
  for (const char* system : {"basis", "affine"}) {
    const ParameterSpace space = space_of(system, 2, true);
    const std::vector<float> constant(10, 0.75F);
    const LevelFit fit = fit_levels(space, constant, {}, {});
    EXPECT_NEAR(numerics::LevelTable(fit.levels).nearest(0.75F), 0.75F, 1e-3);
    EXPECT_EQ(fit_levels(space, {}, {}, {}).error, 0);
    const std::vector<float> zeros(10, 0.0F);
    EXPECT_NEAR(numerics::LevelTable(fit_levels(space, zeros, {}, {}).levels).nearest(0), 0, 1e-6);
  }
}

TEST(FitBasis, RoundsToBinary16WhereThatLosesLittle) {
  const LevelFit fit = fit_levels(space_of("basis", 3, true), normal_numbers(500, 4), {}, {});
  const numerics::Basis basis = fit.levels.basis();
  for (const float a : basis.a()) EXPECT_EQ(float_from_half(half_from_float(a)), a);
  std::vector<float> tiny = normal_numbers(500, 4);
  for (float& value : tiny) value *= 1e-7F;
  const LevelFit small = fit_levels(space_of("basis", 3, true), tiny, {}, {});
  EXPECT_LT(small.error / 500, 0.04e-14) << "numbers below binary16's range keep float32 bases";
}

TEST(FitBasis, ApproachesLeastSquaresByGradientDescent) {
  const std::vector<float> x = normal_numbers(2000, 5);
  const ParameterSpace space = space_of("basis", 2, true);
  LevelFitOptions gradient;
  gradient.solver = LevelSolver::kGradient;
  gradient.iterations = 500;
  gradient.l2_penalty = 0;
  const double closed_form = fit_levels(space, x, {}, {}).error;
  EXPECT_LT(fit_levels(space, x, {}, {}, gradient).error, 1.01 * closed_form);
}

TEST(FitSmallRatio, FindsTheLevelsThatMadeTheNumbers) {
  const numerics::Basis truth = numerics::make_basis(std::vector<float>{1.25F, 0.5F}, 2.0F);
  Random random(6);
  std::vector<float> x(500);
  for (float& value : x) value = truth.value(static_cast<numerics::Code>(random.below(4)));
  const LevelFit free = fit_levels(space_of("basis", 2, true), x, {}, {});
  const LevelFit fit = fit_small_ratio(free, true, x, {});
  EXPECT_LT(fit.error, 1e-4);
  EXPECT_EQ(numerics::split_digits(fit.levels.basis(), 100).size(), 1U);
}

TEST(FitSmallRatio, CostsLittleAndGivesOneDigit) {
  for (const bool offset : {false, true}) {
    for (const float scale : {1.0F, 0.037F, 1e-6F}) {
      std::vector<float> x = normal_numbers(5000, 7);
      for (float& value : x) value = scale * std::abs(value);
      const LevelFit free = fit_levels(space_of("basis", 2, offset), x, {}, {});
      const LevelFit fit = fit_small_ratio(free, offset, x, {});
      EXPECT_EQ(numerics::split_digits(fit.levels.basis(), 100).size(), 1U) << scale;
      EXPECT_LT(fit.error, 1.05 * free.error) << scale;
    }
  }
}

TEST(ParameterSpace, HasTheFreedomOfItsScheme) {
  EXPECT_EQ(space_of("basis", 3, true).size(), 4);
  EXPECT_EQ(space_of("basis", 3, false).size(), 3);
  EXPECT_EQ(space_of("affine", 3, true).size(), 2);
  EXPECT_EQ(space_of("symmetric", 3, true).size(), 1);
  EXPECT_EQ(space_of("fixed", 3, true).size(), 1);
}

TEST(ParameterSpace, OfActivationsKeepsASmallRatio) {
  const auto size = [](float a, float b) {
    const std::vector<numerics::Basis> basis{numerics::make_basis(std::array{a, b})};
    return activation_space(basis_encoding(basis, true, numerics::Granularity::kTensor)).size();
  };
  EXPECT_EQ(size(0.5F, 0.75F), 2);
  EXPECT_EQ(size(0.5F, 0.77F), 3);
  const auto affine = numerics::empty_encoding(numerics::find_system("affine"), 2,
                                               {numerics::Granularity::kTensor, 0}, 1, 1);
  EXPECT_EQ(activation_space(affine).size(), 2);
}

TEST(ParameterSpace, AgreesWithItsLevels) {
  for (const char* system : {"basis", "affine", "symmetric", "fixed"}) {
    for (const bool offset : {false, true}) {
      const ParameterSpace space = space_of(system, 4, offset);
      Vector parameters = Vector::LinSpaced(space.size(), 0.5, 2);
      const numerics::Levels levels = space.to_levels(parameters);
      // Coefficients of up to 2 are learned on a grid, each within a step of it; all are stored
      // with 11 bits.
      const double step = space.is_free_basis() ? 4 * 2.0 / numerics::weight_steps(4) : 0;
      for (Eigen::Index code = 0; code < 16; ++code) {
        EXPECT_NEAR(levels.value(static_cast<numerics::Code>(code)),
                    space.features().row(code).dot(parameters), 4 * step + 0.01)
            << system;
      }
    }
  }
}

}  // namespace
}  // namespace halftone::compress
