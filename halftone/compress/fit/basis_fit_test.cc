// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/basis_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/numerics/digits.h"

namespace halftone::compress {
namespace {

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random.normal());
  return x;
}

double mean_error(Scheme scheme, int bits, bool offset, const std::vector<float>& x) {
  const ParameterSpace space(scheme, bits, offset);
  return fit_basis(space, x, {}, {}).error / static_cast<double>(x.size());
}

TEST(FitBasis, ReachesThePublishedOptimumForNormalNumbers) {
  // Optimal quantizers for N(0, 1): mean squared error 0.3634, 0.1175, 0.03454 at 2, 4, 8 levels.
  // Max, Quantizing for Minimum Distortion, IRE Trans. Inf. Theory 1960, Table I. Eight symmetric
  // levels of a basis have 3 degrees of freedom where Max has 4, so they lie between his and evenly
  // spaced ones (Table II: 0.03744).
  const std::vector<float> x = normal_numbers(200000, 1);
  EXPECT_NEAR(mean_error(Scheme::kBasis, 1, false, x), 0.3634, 0.003);
  EXPECT_NEAR(mean_error(Scheme::kBasis, 2, false, x), 0.1175, 0.001);
  EXPECT_GT(mean_error(Scheme::kBasis, 3, false, x), 0.0345);
  EXPECT_LT(mean_error(Scheme::kBasis, 3, false, x), 0.0374);
  EXPECT_NEAR(mean_error(Scheme::kSymmetric, 3, false, x), 0.03744, 0.0005);
}

TEST(FitBasis, FindsTheBasisThatMadeTheNumbers) {
  const numerics::Basis truth = numerics::make_basis(std::vector<float>{0.25F, 1.0F, 3.5F}, 0.5F);
  Random random(2);
  std::vector<float> x(500);
  for (float& value : x) value = truth.value(static_cast<numerics::Code>(random.below(8)));
  const BasisFit fit = fit_basis(ParameterSpace(Scheme::kBasis, 3, true), x, {}, {});
  EXPECT_LT(fit.error / 500, 1e-6);
}

TEST(FitBasis, IsNeverWorseThanEvenlySpacedLevels) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> x = normal_numbers(300, seed);
    for (float& value : x) value = seed % 2 == 0 ? std::exp(value) : value * value * value;
    for (int bits = 1; bits <= 5; ++bits) {
      EXPECT_LE(mean_error(Scheme::kBasis, bits, true, x),
                mean_error(Scheme::kAffine, bits, true, x))
          << "seed " << seed << ", bits " << bits;
      EXPECT_LE(mean_error(Scheme::kBasis, bits, false, x),
                mean_error(Scheme::kSymmetric, bits, false, x))
          << "seed " << seed << ", bits " << bits;
    }
  }
}

TEST(FitBasis, GivesFixedPointAStepThatIsAPowerOfTwo) {
  const BasisFit fit =
      fit_basis(ParameterSpace(Scheme::kFixed, 4, false), normal_numbers(1000, 3), {}, {});
  const float step = 2 * fit.basis.coefficients[0];
  EXPECT_EQ(std::exp2(std::round(std::log2(step))), step);
  EXPECT_EQ(fit.basis, numerics::fixed_point_basis(4, static_cast<int>(-std::log2(step))));
}

TEST(FitBasis, IgnoresNumbersOfWeightZero) {
  std::vector<float> x = {1, 1, 3, 3, 100};
  const std::vector<float> weights = {1, 1, 1, 1, 0};
  const BasisFit fit = fit_basis(ParameterSpace(Scheme::kBasis, 1, true), x, {}, weights);
  EXPECT_NEAR(fit.error, 0, 1e-4);
  EXPECT_NEAR(numerics::LevelTable(fit.basis).nearest(1), 1, 1e-3);
  EXPECT_NEAR(numerics::LevelTable(fit.basis).nearest(3), 3, 1e-3);
}

TEST(FitBasis, FitsLevelsToTargetsRatherThanToTheNumbersThemselves) {
  // The actual values are a little smaller than their targets.
  std::vector<float> x;
  std::vector<float> targets;
  for (int i = 0; i < 400; ++i) {
    x.push_back(i % 2 == 0 ? -1.0F : 1.0F);
    targets.push_back(1.25F * x.back());
  }
  const BasisFit fit = fit_basis(ParameterSpace(Scheme::kBasis, 1, true), x, targets, {});
  EXPECT_FLOAT_EQ(numerics::LevelTable(fit.basis).nearest(1), 1.25F);
  EXPECT_LT(fit.error, 1e-9);
}

TEST(FitBasis, TakesConstantAndMissingNumbers) {
  for (const Scheme scheme : {Scheme::kBasis, Scheme::kAffine}) {
    const ParameterSpace space(scheme, 2, true);
    const std::vector<float> constant(10, 0.75F);
    const BasisFit fit = fit_basis(space, constant, {}, {});
    EXPECT_NEAR(numerics::LevelTable(fit.basis).nearest(0.75F), 0.75F, 1e-3);
    EXPECT_EQ(fit_basis(space, {}, {}, {}).error, 0);
    const std::vector<float> zeros(10, 0.0F);
    EXPECT_NEAR(numerics::LevelTable(fit_basis(space, zeros, {}, {}).basis).nearest(0), 0, 1e-6);
  }
}

TEST(FitBasis, RoundsToBinary16WhereThatLosesLittle) {
  const BasisFit fit =
      fit_basis(ParameterSpace(Scheme::kBasis, 3, true), normal_numbers(500, 4), {}, {});
  for (const float a : fit.basis.a()) EXPECT_EQ(float_from_half(half_from_float(a)), a);
  std::vector<float> tiny = normal_numbers(500, 4);
  for (float& value : tiny) value *= 1e-7F;
  const BasisFit small = fit_basis(ParameterSpace(Scheme::kBasis, 3, true), tiny, {}, {});
  EXPECT_LT(small.error / 500, 0.04e-14) << "numbers below binary16's range keep float32 bases";
}

TEST(FitBasis, ApproachesLeastSquaresByGradientDescent) {
  const std::vector<float> x = normal_numbers(2000, 5);
  const ParameterSpace space(Scheme::kBasis, 2, true);
  BasisFitOptions gradient;
  gradient.solver = BasisSolver::kGradient;
  gradient.iterations = 500;
  gradient.l2_penalty = 0;
  const double closed_form = fit_basis(space, x, {}, {}).error;
  EXPECT_LT(fit_basis(space, x, {}, {}, gradient).error, 1.01 * closed_form);
}

TEST(FitSmallRatio, FindsTheLevelsThatMadeTheNumbers) {
  const numerics::Basis truth = numerics::make_basis(std::vector<float>{1.25F, 0.5F}, 2.0F);
  Random random(6);
  std::vector<float> x(500);
  for (float& value : x) value = truth.value(static_cast<numerics::Code>(random.below(4)));
  const BasisFit free = fit_basis(ParameterSpace(Scheme::kBasis, 2, true), x, {}, {});
  const BasisFit fit = fit_small_ratio(free, true, x, {});
  EXPECT_LT(fit.error, 1e-4);
  EXPECT_EQ(numerics::split_digits(fit.basis, 100).size(), 1U);
}

TEST(FitSmallRatio, CostsLittleAndGivesOneDigit) {
  for (const bool offset : {false, true}) {
    for (const float scale : {1.0F, 0.037F, 1e-6F}) {
      std::vector<float> x = normal_numbers(5000, 7);
      for (float& value : x) value = scale * std::abs(value);
      const BasisFit free = fit_basis(ParameterSpace(Scheme::kBasis, 2, offset), x, {}, {});
      const BasisFit fit = fit_small_ratio(free, offset, x, {});
      EXPECT_EQ(numerics::split_digits(fit.basis, 100).size(), 1U) << scale;
      EXPECT_LT(fit.error, 1.05 * free.error) << scale;
    }
  }
}

TEST(ParameterSpace, HasTheFreedomOfItsScheme) {
  EXPECT_EQ(ParameterSpace(Scheme::kBasis, 3, true).size(), 4);
  EXPECT_EQ(ParameterSpace(Scheme::kBasis, 3, false).size(), 3);
  EXPECT_EQ(ParameterSpace(Scheme::kAffine, 3, true).size(), 2);
  EXPECT_EQ(ParameterSpace(Scheme::kSymmetric, 3, true).size(), 1);
  EXPECT_EQ(ParameterSpace(Scheme::kFixed, 3, true).size(), 1);
}

TEST(ParameterSpace, OfActivationsKeepsASmallRatio) {
  const auto size = [](float a, float b) {
    return activation_space(Scheme::kBasis, numerics::make_basis(std::array{a, b}), true).size();
  };
  EXPECT_EQ(size(0.5F, 0.75F), 2);
  EXPECT_EQ(size(0.5F, 0.77F), 3);
  EXPECT_EQ(activation_space(Scheme::kAffine, numerics::affine_basis(2, 1, 0), true).size(), 2);
}

TEST(ParameterSpace, AgreesWithTheLevelsOfItsBasis) {
  for (const Scheme scheme :
       {Scheme::kBasis, Scheme::kAffine, Scheme::kSymmetric, Scheme::kFixed}) {
    for (const bool offset : {false, true}) {
      const ParameterSpace space(scheme, 4, offset);
      Vector parameters = Vector::LinSpaced(space.size(), 0.5, 2);
      const numerics::Basis basis = space.to_basis(parameters);
      for (Eigen::Index code = 0; code < 16; ++code) {
        EXPECT_NEAR(basis.value(static_cast<numerics::Code>(code)),
                    space.features().row(code).dot(parameters), 0.01)
            << to_string(scheme);
      }
    }
  }
}

TEST(SchemeFrom, KnowsItsNamesAndListsThemOtherwise) {
  EXPECT_EQ(scheme_from("affine"), Scheme::kAffine);
  expect_error(ErrorKind::kUsage, "expected basis, affine, symmetric, fixed or float, found 'int4'",
               [] { scheme_from("int4"); });
}

}  // namespace
}  // namespace halftone::compress
