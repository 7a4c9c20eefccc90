// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/rows.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "halftone/base/random.h"
#include "halftone/gpu/testing.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/dense/float_matmul.h"

namespace halftone::gpu {
namespace {

using RowsOnDevice = OnDevice;

/// Random bits: all exponents, denormal numbers, infinities and NaN; and numbers near zero.
std::vector<float> all_kinds(std::size_t count) {
  Random random(11);
  std::vector<float> x = {0.0F,
                          -0.0F,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(),
                          1e-45F,
                          -1e-40F};
  while (x.size() < count / 2) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.below(1ULL << 32))));
  }
  while (x.size() < count) x.push_back(static_cast<float>(random.normal() * 6));
  return x;
}

struct NamedFunction {
  Function function;
  float (*reference)(float);
};

TEST_F(RowsOnDevice, FunctionsHaveTheBitsOfTheReferences) {
  constexpr std::size_t kCount = 200'001;
  const std::vector<float> x = all_kinds(kCount);
  const auto from = on_device(x);
  for (const auto& [function, reference] :
       std::initializer_list<NamedFunction>{{Function::kSilu, kernels::silu_reference},
                                            {Function::kGelu, kernels::gelu_reference},
                                            {Function::kGeluTanh, kernels::gelu_tanh_reference},
                                            {Function::kSigmoid, kernels::sigmoid_reference},
                                            {Function::kTanh, kernels::tanh_reference},
                                            {Function::kExp, kernels::exp_reference}}) {
    const auto to = unset(kCount);
    device->launch(apply(*programs, function, *from, *to, kCount));
    std::vector<float> want;
    for (const float each : x) want.push_back(reference(each));
    EXPECT_EQ(differing_bits(download<float>(*device, *to, kCount), want), 0U)
        << static_cast<int>(function);
  }
}

TEST_F(RowsOnDevice, OperationsRepeatTheSmallerOperand) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<float> b = {10, 20, 30};
  const auto left = on_device(a);
  const auto right = on_device(b);
  const auto y = unset(6);
  const auto result = [&](Operation op, Function f, Operand p, Operand q) {
    device->launch(combine(*programs, {op, f}, p, q, *y));
    return download<float>(*device, *y, 6);
  };
  const Operand six{*left, 6};
  const Operand three{*right, 3};
  using Floats = std::vector<float>;
  EXPECT_EQ(result(Operation::kAdd, Function::kNone, six, three), Floats({11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(result(Operation::kSub, Function::kNone, three, six), Floats({9, 18, 27, 6, 15, 24}));
  EXPECT_EQ(result(Operation::kMul, Function::kNone, six, six), Floats({1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(result(Operation::kSub, Function::kRelu, six, three), Floats({0, 0, 0, 0, 0, 0}));
}

TEST_F(RowsOnDevice, QuotientsAreRounded) {
  Random random(3);
  std::vector<float> a;
  std::vector<float> b;
  for (std::size_t i = 0; i < 100'000; ++i) {
    // Exponents from denormal quotients to infinite ones.
    a.push_back(static_cast<float>(std::ldexp(random.normal(), static_cast<int>(i % 240) - 120)));
    b.push_back(static_cast<float>(std::ldexp(random.normal(), 40 - static_cast<int>(i % 81))));
  }
  const auto left = on_device(a);
  const auto right = on_device(b);
  const auto y = unset(a.size());
  device->launch(combine(*programs, {Operation::kDiv}, {*left, a.size()}, {*right, b.size()}, *y));
  std::vector<float> want;
  for (std::size_t i = 0; i < a.size(); ++i) want.push_back(a[i] / b[i]);
  EXPECT_EQ(differing_bits(download<float>(*device, *y, a.size()), want), 0U);
}

/// The sum of terms as runtime/statistics adds them: 16 partial sums, then pairs.
template <typename Term>
double lane_sum(std::size_t count, const Term& term) {
  std::array<double, 16> lanes{};
  for (std::size_t i = 0; i < count; ++i) lanes[i % 16] += term(i);
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

std::vector<float> normalized(const std::vector<float>& x, const NormShape& shape) {
  std::vector<float> y;
  const auto count = static_cast<double>(shape.cols);
  for (std::size_t r = 0; r < shape.rows; ++r) {
    const float* row = x.data() + r * shape.cols;
    const auto at = [&](std::size_t c) { return static_cast<double>(row[c]); };
    const double mean = shape.subtracts_mean ? lane_sum(shape.cols, at) / count : 0;
    const double squares =
        lane_sum(shape.cols, [&](std::size_t c) { return (at(c) - mean) * (at(c) - mean); });
    const double factor = 1 / std::sqrt(squares / count + static_cast<double>(shape.epsilon));
    for (std::size_t c = 0; c < shape.cols; ++c) {
      y.push_back(static_cast<float>((at(c) - mean) * factor));
    }
  }
  return y;
}

TEST_F(RowsOnDevice, NormsHaveTheBitsOfTheProcessor) {
  Random random(5);
  for (const bool subtracts_mean : {false, true}) {
    for (const std::size_t cols : std::initializer_list<std::size_t>{1, 15, 16, 17, 100, 577}) {
      const NormShape shape{5, cols, 1e-5F, subtracts_mean};
      std::vector<float> x;
      for (std::size_t i = 0; i < 5 * cols; ++i) x.push_back(static_cast<float>(random.normal()));
      const auto from = on_device(x);
      const auto y = unset(x.size());
      device->launch(normalize(*programs, shape, *from, *y));
      EXPECT_EQ(differing_bits(download<float>(*device, *y, x.size()), normalized(x, shape)), 0U)
          << cols;
    }
  }
}

TEST_F(RowsOnDevice, ProductsOfFloatsHaveTheBitsOfTheReference) {
  constexpr std::size_t kRows = 3;
  constexpr std::size_t kCols = 77;
  constexpr std::size_t kOutputs = 131;
  Random random(2);
  const auto numbers = [&](std::size_t count) {
    std::vector<float> x;
    for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<float>(random.normal()));
    return x;
  };
  const std::vector<float> x = numbers(kRows * kCols);
  const std::vector<float> w = numbers(kOutputs * kCols);
  const std::vector<float> bias = numbers(kOutputs);
  std::vector<float> turned(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) turned[i % kCols * kOutputs + i / kCols] = w[i];
  const auto from = on_device(x);
  const auto weights = on_device(turned);
  const auto biases = on_device(bias);
  for (const bool has_bias : {false, true}) {
    std::vector<float> want(kRows * kOutputs);
    for (std::size_t i = 0; has_bias && i < want.size(); ++i) want[i] = bias[i % kOutputs];
    kernels::float_matmul_reference(MatrixView<const float>(x, kRows, kCols),
                                    MatrixView<const float>(w, kOutputs, kCols),
                                    MatrixView<float>(want, kRows, kOutputs));
    const auto y = unset(want.size());
    device->launch(multiply_floats(
        *programs, {kRows, kCols, kOutputs, *weights, has_bias ? biases.get() : nullptr}, *from,
        *y));
    EXPECT_EQ(differing_bits(download<float>(*device, *y, want.size()), want), 0U);
  }
}

TEST_F(RowsOnDevice, CopiesColumnsAndRows) {
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto from = on_device(x);
  const auto y = unset(6);
  device->launch(copy_columns(*programs, {3, 4, 1, 2}, *from, *y));
  EXPECT_EQ(download<float>(*device, *y, 6), (std::vector<float>{1, 2, 5, 6, 9, 10}));
  const auto ids = on_device(std::vector<std::int32_t>{2, 0});
  device->launch(gather_rows(*programs, {*from, 3}, *ids, 2, *y));
  EXPECT_EQ(download<float>(*device, *y, 6), (std::vector<float>{6, 7, 8, 0, 1, 2}));
}

}  // namespace
}  // namespace halftone::gpu
