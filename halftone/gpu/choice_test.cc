// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/choice.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "halftone/base/random.h"
#include "halftone/gpu/testing.h"
#include "halftone/kernels/activation/activation.h"

namespace halftone::gpu {
namespace {

using ChoiceOnDevice = OnDevice;

std::vector<float> random_scores(std::size_t count) {
  Random random(4);
  std::vector<float> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<float>(random.normal() * 3));
  return x;
}

TEST_F(ChoiceOnDevice, SoftmaxHasTheBitsOfTheReference) {
  for (const std::size_t cols : std::initializer_list<std::size_t>{1, 8, 16, 65}) {
    const std::vector<float> x = random_scores(5 * cols);
    std::vector<float> want(x.size());
    kernels::softmax_reference(MatrixView<const float>(x, 5, cols),
                               MatrixView<float>(want, 5, cols));
    const auto from = on_device(x);
    const auto y = unset(x.size());
    device->launch(softmax(*programs, {5, cols}, *from, *y));
    EXPECT_EQ(differing_bits(download<float>(*device, *y, x.size()), want), 0U) << cols;
  }
}

TEST_F(ChoiceOnDevice, TakesTheLargestAndOfEqualOnesTheFirst) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto from = on_device(std::vector<float>{1, 3, 3, 2, 0, kNan, 5, kNan});
  const auto ids = unset(6);
  device->launch(top_k(*programs, {2, 4}, 3, *from, *ids));
  EXPECT_EQ(download<std::int32_t>(*device, *ids, 6),
            (std::vector<std::int32_t>{1, 2, 3, 1, 3, 2}));
  const auto some = on_device(std::vector<std::int32_t>{1, 0, 2, 2});
  const auto y = unset(4);
  device->launch(gather_elements(*programs, {2, 4, 2, *some}, *from, *y));
  EXPECT_EQ(download<float>(*device, *y, 4), (std::vector<float>{3, 1, 5, 5}));
}

TEST_F(ChoiceOnDevice, SumsAsTheProcessorDoes) {
  const std::vector<float> x = random_scores(3 * 21 * 2);
  const auto from = on_device(x);
  const auto y = unset(6);
  device->launch(sum_axis(*programs, {3, 21, 2}, *from, *y));
  std::vector<float> want;
  for (std::size_t i = 0; i < 6; ++i) {
    double sum = 0;
    for (std::size_t e = 0; e < 21; ++e) {
      sum += static_cast<double>(x[i / 2 * 42 + e * 2 + i % 2]);
    }
    want.push_back(static_cast<float>(sum));
  }
  EXPECT_EQ(differing_bits(download<float>(*device, *y, 6), want), 0U);
  device->launch(sum_axis(*programs, {3, 42, 1}, *from, *y));
  want.clear();
  for (std::size_t r = 0; r < 3; ++r) {
    std::array<double, 16> lanes{};
    for (std::size_t e = 0; e < 42; ++e) lanes[e % 16] += static_cast<double>(x[r * 42 + e]);
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    want.push_back(static_cast<float>(lanes[0]));
  }
  EXPECT_EQ(differing_bits(download<float>(*device, *y, 3), want), 0U);
}

}  // namespace
}  // namespace halftone::gpu
