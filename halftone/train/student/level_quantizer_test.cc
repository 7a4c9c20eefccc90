// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/level_quantizer.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <cmath>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/level_fit.h"
#include "halftone/compress/fit/testing.h"

namespace halftone::train {
namespace {

using compress::ParameterSpace;
using testing::ElementsAre;
using testing::FloatNear;

at::Tensor tensor(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions(at::kFloat))
      .clone();
}

std::vector<float> numbers(const at::Tensor& t) {
  const at::Tensor flat = t.detach().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random.normal());
  return x;
}

numerics::Basis two_bits() { return numerics::make_basis(std::vector<float>{0.5F, 1}, 0.25F); }

TEST(LevelQuantizer, GivesTheNearestLevelOfEachRow) {
  const std::vector<numerics::Levels> levels{two_bits(), numerics::symmetric_basis(2, 0.125F)};
  const LevelQuantizer quantizer(ParameterSpace(2, true), levels);
  const auto x = normal_numbers(2 * 50, 1);
  const auto y = numbers(quantizer.forward(tensor(x, {2, 50})));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], numerics::LevelTable(levels[i / 50]).nearest(x[i])) << i;
  }
}

TEST(LevelQuantizer, HasTheLevelsOfEveryNumberSystem) {
  for (const char* system : {"basis", "affine", "symmetric", "fixed"}) {
    for (const int bits : {1, 3, 8}) {
      const ParameterSpace space = compress::space_of(system, bits);
      const auto x = normal_numbers(400, 2);
      const numerics::Levels levels = compress::fit_levels(space, x, {}, {}).levels;
      const LevelQuantizer quantizer(space, {levels});
      const auto y = numbers(quantizer.forward(tensor(x, {20, 20})));
      const numerics::LevelTable table(levels);
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_THAT(y[i], FloatNear(table.nearest(x[i]), 2e-3F)) << system;
      }
    }
  }
}

TEST(LevelQuantizer, PassesGradientsStraightThrough) {
  const LevelQuantizer whole(ParameterSpace(2, true), {two_bits()});
  const LevelQuantizer clipped(ParameterSpace(2, true), {two_bits()}, {.clips = true});
  // Levels -1.25, -0.25, 0.75, 1.75: the gradient ends half a gap beyond the outer ones.
  const auto slopes = [](const LevelQuantizer& quantizer) {
    at::Tensor x = tensor({-3, -1.74F, 0, 1, 2.24F, 2.26F}, {6}).set_requires_grad(true);
    const at::Tensor y = quantizer.forward(x) * tensor({1, 2, 3, 4, 5, 6}, {6});
    return numbers(torch::autograd::grad({y.sum()}, {x})[0]);
  };
  EXPECT_THAT(slopes(whole), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(slopes(clipped), ElementsAre(0, 2, 3, 4, 5, 0));
}

TEST(LevelQuantizer, GivesParametersTheGradientOfTheirFeatures) {
  const LevelQuantizer quantizer(ParameterSpace(2, true), {two_bits()},
                                 {.rule = LevelRule::kGradient});
  const at::Tensor x = tensor({-2, -0.3F, 0.7F, 3}, {4});
  const at::Tensor y = quantizer.forward(x) * tensor({1, 10, 100, 1000}, {4});
  const at::Tensor slope = torch::autograd::grad({y.sum()}, {quantizer.parameters()})[0];
  // dL/da_i = sum b_i dL/dx, dL/dc = sum dL/dx; codes of the levels: --, +-, -+, ++.
  EXPECT_THAT(numbers(slope), ElementsAre(-1 + 10 - 100 + 1000, -1 - 10 + 100 + 1000, 1111));
}

TEST(LevelQuantizer, MovesToTheClosedForm) {
  const ParameterSpace space(2, true);
  LevelQuantizer quantizer(space, {two_bits()}, {.momentum = 0.5});
  const auto x = normal_numbers(5000, 3);
  const at::Tensor t = tensor(x, {5000});
  const auto error = [&] { return (quantizer.forward(t) - t).square().mean().item<float>(); };
  const float before = error();
  for (int step = 0; step < 60; ++step) quantizer.update(quantizer.sums(t));
  EXPECT_LT(error(), before);
  const double best = compress::fit_levels(space, x, {}, {}).error / 5000;
  EXPECT_THAT(error(), FloatNear(static_cast<float>(best), 0.02F * static_cast<float>(best)));
}

TEST(LevelRounding, ComputesOnDevicesWhatKernelsDo) {
  const ParameterSpace space(2, true);
  const std::vector<numerics::Levels> levels{two_bits(), numerics::symmetric_basis(2, 0.125F)};
  const auto rounding = [&](LevelRounding::Arithmetic arithmetic) {
    return std::make_shared<const LevelRounding>(space, levels, true, 0.5, arithmetic);
  };
  const auto kernels = rounding(LevelRounding::Arithmetic::kKernels);
  const auto libtorch = rounding(LevelRounding::Arithmetic::kLibtorch);
  at::Tensor x = tensor(normal_numbers(2 * 500, 7), {2, 500});
  x.data()[0][0].fill_(std::nan(""));
  x.data()[1][1].fill_(INFINITY);
  const at::Tensor g = tensor(normal_numbers(2 * 500, 8), {2, 500});
  EXPECT_TRUE(at::equal(kernels->levels_of(x), libtorch->levels_of(x)));
  EXPECT_TRUE(at::equal(kernels->value_gradient(x, g), libtorch->value_gradient(x, g)));
  EXPECT_TRUE(at::allclose(kernels->parameter_gradient(x, g), libtorch->parameter_gradient(x, g),
                           1e-5, 1e-5));
  const LevelSums sums = kernels->sums(g);
  const LevelSums others = libtorch->sums(g);
  EXPECT_TRUE(at::equal(sums.counts, others.counts));
  EXPECT_TRUE(at::allclose(sums.sums, others.sums, 1e-5, 1e-5));
}

TEST(LevelRounding, OverflowsWhereTheSystemDoes) {
  const auto codebook = codebook_of(numerics::find_system("e5m2_nan"), 8);
  const ParameterSpace space(codebook, false);
  const std::vector<numerics::Levels> levels{{codebook, 0x1p-10F, 0}, {codebook, 0x1p-12F, 0}};
  // The largest levels are 56 and 14; the next power of two is 64 and 16.
  const at::Tensor x = at::tensor({59.9F, 60.0F, -1e9F, NAN, 14.9F, 15.0F, -15.0F, -2.0F});
  const at::Tensor expected =
      at::tensor({56.0F, INFINITY, -INFINITY, NAN, 14.0F, INFINITY, -INFINITY, -2.0F});
  for (const auto arithmetic :
       {LevelRounding::Arithmetic::kKernels, LevelRounding::Arithmetic::kLibtorch}) {
    const auto rounding =
        std::make_shared<const LevelRounding>(space, levels, true, 0.5, arithmetic);
    const at::Tensor y = rounding->levels_of(x.reshape({2, 4})).reshape({8});
    EXPECT_TRUE(at::allclose(y, expected, 0, 0, true)) << y;
  }
}

TEST(LevelQuantizer, AddsUpWhatPartsOfABatchCount) {
  const LevelQuantizer quantizer(ParameterSpace(2, true), {two_bits(), two_bits()});
  const at::Tensor x = tensor(normal_numbers(2 * 60, 4), {2, 60});
  const LevelSums whole = quantizer.sums(x);
  const LevelSums first = quantizer.sums(x.slice(1, 0, 13));
  const LevelSums rest = quantizer.sums(x.slice(1, 13, 60));
  EXPECT_TRUE(at::equal(whole.counts, first.counts + rest.counts));
  EXPECT_TRUE(at::allclose(whole.sums, first.sums + rest.sums, 1e-5, 1e-5));
  EXPECT_EQ(whole.counts.sum().item<double>(), 120);
}

TEST(LevelQuantizer, KeepsLevelsThatNothingWasEncodedIn) {
  LevelQuantizer quantizer(ParameterSpace(2, true), {two_bits(), two_bits()});
  LevelSums sums = quantizer.sums(tensor(normal_numbers(2 * 60, 5), {2, 60}));
  sums.counts[1].zero_();
  sums.sums[1].zero_();
  quantizer.update(sums);
  EXPECT_NE(quantizer.levels()[0].basis(), two_bits());
  EXPECT_EQ(quantizer.levels()[1].basis(), two_bits());
}

TEST(LevelQuantizer, StaysInItsNumberSystem) {
  LevelQuantizer quantizer(compress::space_of("affine", 3), {numerics::range_basis(3, -1, 2)},
                           {.momentum = 0});
  quantizer.update(quantizer.sums(tensor(normal_numbers(900, 6), {900})));
  const numerics::Basis basis = quantizer.levels()[0].basis();
  EXPECT_FLOAT_EQ(basis.coefficients[1], 2 * basis.coefficients[0]);
  EXPECT_FLOAT_EQ(basis.coefficients[2], 4 * basis.coefficients[0]);
}

}  // namespace
}  // namespace halftone::train
