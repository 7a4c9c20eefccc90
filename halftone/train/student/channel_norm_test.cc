// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/channel_norm.h"

#include <ATen/ATen.h>

#include <cmath>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::train {
namespace {

at::Tensor random_images(std::uint64_t seed) {
  Random random(seed);
  at::Tensor x = at::empty({4, 3, 3, 2}, at::TensorOptions(at::kFloat));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double number = random.normal();
    x.data_ptr<float>()[i] = static_cast<float>(i % 2 == 0 ? number : 2 * number + 3);
  }
  return x;
}

TEST(ChannelNorm, LearnsWithTheMomentsOfThePart) {
  const at::Tensor x = random_images(1);
  ChannelNorm norm(2);
  norm.gain().data().fill_(2);
  norm.shift().data().fill_(-1);
  ChannelMoments moments;
  const at::Tensor y = norm.learn(x, moments);
  ASSERT_EQ(y.sizes(), x.sizes());
  for (std::int64_t c = 0; c < 2; ++c) {
    const at::Tensor channel = x.select(3, c).to(at::kDouble);
    const double mean = channel.mean().item<double>();
    const double variance = (channel - mean).square().mean().item<double>();
    const at::Tensor expected =
        2 * (channel - mean) / std::sqrt(variance + ChannelNorm::kEpsilon) - 1;
    EXPECT_TRUE(at::allclose(y.select(3, c).to(at::kDouble), expected, 1e-5, 1e-5));
    EXPECT_NEAR(moments.sums[0][c].item<double>(), mean, 1e-5);
    EXPECT_NEAR(moments.sums[1][c].item<double>(), variance, 1e-4);
    EXPECT_EQ(moments.sums[2][c].item<double>(), 1);
  }
  const at::Tensor measured = ChannelNorm::measure(x).sums;
  EXPECT_TRUE(at::allclose(measured, moments.sums, 1e-4, 1e-4));
}

TEST(ChannelNorm, StartsWhereItChangesNothing) {
  const at::Tensor x = random_images(2);
  ChannelNorm norm(2);
  norm.start_at({ChannelNorm::measure(x).sums + ChannelNorm::measure(x).sums});
  ChannelMoments moments;
  EXPECT_TRUE(at::allclose(norm.apply(x), x, 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(norm.learn(x, moments), x, 1e-5, 1e-5));
}

TEST(ChannelNorm, AveragesTheMomentsOfPartsAndSteps) {
  ChannelNorm norm(2);
  const ChannelMoments first = ChannelNorm::measure(random_images(3));
  const ChannelMoments second = ChannelNorm::measure(random_images(4));
  norm.update({first.sums + second.sums});
  const at::Tensor means = (first.sums + second.sums) / 2;
  EXPECT_TRUE(at::allclose(norm.mean().to(at::kDouble), 0.1 * means[0], 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(norm.variance().to(at::kDouble), 0.9 + 0.1 * means[1], 1e-5, 1e-5));
}

TEST(ChannelNorm, FoldsIntoAFactorAndATerm) {
  const at::Tensor x = random_images(5);
  ChannelNorm norm(2);
  norm.start_at(ChannelNorm::measure(random_images(6)));
  norm.gain().data().mul_(-1.5);
  norm.shift().data().add_(0.25);
  const ChannelNorm::Folded folded = norm.fold();
  EXPECT_TRUE(at::allclose(norm.apply(x), folded.factor * x + folded.term, 1e-5, 1e-5));
}

TEST(ChannelNorm, NeedsTwoNumbersOfAChannel) {
  const ChannelNorm norm(2);
  ChannelMoments moments;
  expect_error(ErrorKind::kUsage, "batch normalization: expected at least two values per channel",
               [&] {
                 EXPECT_FALSE(norm.learn(at::ones({1, 2}), moments).defined());
               });
}

}  // namespace
}  // namespace halftone::train
