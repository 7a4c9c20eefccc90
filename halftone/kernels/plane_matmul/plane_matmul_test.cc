// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/plane_matmul/plane_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/quantize_rows.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using PlaneMatmul = PerTarget;
using numerics::Granularity;

struct Case {
  std::size_t rows, inputs, outputs;
  int bits;
  bool offset = true, bias = true;
  Granularity granularity = Granularity::kChannel;
  std::size_t group_size = 0;
};

std::vector<std::uint32_t> bit_patterns(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<std::int8_t> random_int8(Random& random, std::size_t count) {
  std::vector<std::int8_t> values(count);
  for (auto& value : values) {
    value = static_cast<std::int8_t>(static_cast<int>(random.next() % 255) - 127);
  }
  return values;
}

void expect_matches(Random& random, const Case& c) {
  const auto q = random_int8(random, c.rows * c.inputs);
  const auto scales = numerics::random_floats(random, c.rows);
  const Int8Rows x{MatrixView<const std::int8_t>(q, c.rows, c.inputs), scales};
  const auto w = numerics::random_planes(random, c.outputs, c.inputs, c.bits);
  const auto encoding = numerics::random_encoding(random, c.outputs, c.inputs, c.bits, c.offset,
                                                  c.granularity, c.group_size);
  const auto bias = numerics::random_floats(random, c.bias ? c.outputs : 0);
  std::vector<float> expected(c.rows * c.outputs);
  plane_matmul_reference(x, w, encoding, bias, MatrixView<float>(expected, c.rows, c.outputs));
  const PlaneMatmulWeights weights(w, encoding, bias);
  std::vector<float> y(c.rows * c.outputs, -1.0F);
  plane_matmul(x, weights, {0, weights.num_blocks()}, MatrixView<float>(y, c.rows, c.outputs));
  EXPECT_EQ(bit_patterns(y), bit_patterns(expected))
      << c.rows << " x " << c.inputs << " x " << c.outputs << ", " << c.bits << " bits, offset "
      << c.offset << ", bias " << c.bias << ", groups of " << c.group_size;
}

TEST_P(PlaneMatmul, MatchesReferenceForEveryNumberOfInputs) {
  Random random(10);
  for (std::size_t inputs = 0; inputs <= 200; ++inputs) expect_matches(random, {2, inputs, 5, 2});
  // Around the chunks of 2048 inputs.
  for (const std::size_t inputs : {2047U, 2048U, 2049U, 4095U, 4096U, 4097U, 4200U}) {
    expect_matches(random, {2, inputs, 9, 2});
  }
}

TEST_P(PlaneMatmul, MatchesReferenceForEveryBatchAndOutputTail) {
  Random random(11);
  for (std::size_t rows = 0; rows <= 5; ++rows) {
    for (const std::size_t outputs : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 65U}) {
      expect_matches(random, {rows, 100, outputs, 1});
      expect_matches(random, {rows, 70, outputs, 3});
    }
  }
  // More blocks than are gathered at a time.
  expect_matches(random, {2, 40, 64 * 32 + 1, 8});
}

TEST_P(PlaneMatmul, MatchesReferenceForEveryNumberOfBits) {
  Random random(12);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const bool offset : {false, true}) {
      for (const bool bias : {false, true}) {
        expect_matches(random, {3, 97, 40, bits, offset, bias});
        expect_matches(random, {3, 97, 40, bits, offset, bias, Granularity::kTensor});
        expect_matches(random, {3, 97, 40, bits, offset, bias, Granularity::kGroup, 32});
      }
    }
  }
}

TEST_P(PlaneMatmul, MatchesReferenceForGroupsOfAnySize) {
  Random random(13);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 8U, 9U, 20U, 31U, 32U, 33U, 64U, 100U, 128U}) {
    expect_matches(random, {2, 301, 33, 2, true, true, Granularity::kGroup, size});
  }
  // Groups that are more than a chunk, and that end where a row does.
  expect_matches(random, {2, 5000, 33, 2, true, true, Granularity::kGroup, 2100});
  expect_matches(random, {2, 4096, 33, 2, true, true, Granularity::kGroup, 2048});
  expect_matches(random, {1, 5000, 7, 1, true, true, Granularity::kGroup, 128});
}

TEST_P(PlaneMatmul, ExtremeSumsAreExact) {
  for (const std::size_t n : {2048U, 5000U, 100000U}) {
    for (const int q : {-127, 127}) {
      const std::vector<std::int8_t> x(n, static_cast<std::int8_t>(q));
      const float scales[] = {1.0F};
      numerics::BitPlanes w(2, n, 1);
      for (std::size_t c = 0; c < n; ++c) w.set_code(1, c, 1);
      const float one[] = {1.0F};
      const PlaneMatmulWeights weights(w, numerics::tensor_encoding(numerics::make_basis(one)));
      std::vector<float> y(2);
      plane_matmul({MatrixView<const std::int8_t>(x, 1, n), scales}, weights, {0, 1},
                   MatrixView<float>(y, 1, 2));
      const auto sum = static_cast<float>(static_cast<std::int64_t>(n) * q);
      EXPECT_THAT(y, testing::ElementsAre(-sum, sum));
    }
  }
}

TEST_P(PlaneMatmul, WritesOnlyTheBlocksAskedForAndReadsStridedRows) {
  constexpr std::size_t kOutputs = 110;
  constexpr std::size_t kInputs = 50;
  constexpr std::size_t kStride = 120;  // the gaps stay untouched too
  Random random(14);
  const auto q = random_int8(random, 3 * kStride);
  const auto scales = numerics::random_floats(random, 3);
  const Int8Rows x{MatrixView<const std::int8_t>(q.data() + 1, 3, kInputs, kStride - 1), scales};
  const auto w = numerics::random_planes(random, kOutputs, kInputs, 2);
  const auto encoding =
      numerics::random_encoding(random, kOutputs, kInputs, 2, true, Granularity::kChannel);
  std::vector<float> expected(3 * kOutputs);
  plane_matmul_reference(x, w, encoding, {}, MatrixView<float>(expected, 3, kOutputs));
  const PlaneMatmulWeights weights(w, encoding);
  std::vector<float> y(3 * kStride, -1.0F);
  plane_matmul(x, weights, {1, 3}, MatrixView<float>(y.data(), 3, kOutputs, kStride));
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t o = 0; o < kStride; ++o) {
      const bool inside = o >= 32 && o < 96;
      EXPECT_EQ(y[r * kStride + o], inside ? expected[r * kOutputs + o] : -1.0F) << r << " " << o;
    }
  }
}

TEST_P(PlaneMatmul, IsNearTheProductOfTheNumbers) {
  constexpr std::size_t kInputs = 300;
  constexpr std::size_t kOutputs = 40;
  Random random(15);
  const auto values = numerics::random_floats(random, 2 * kInputs);
  std::vector<std::int8_t> q(2 * kInputs);
  std::vector<float> scales(2);
  quantize_rows(MatrixView<const float>(values, 2, kInputs), MatrixView<std::int8_t>(q, 2, kInputs),
                scales);
  const auto w = numerics::random_planes(random, kOutputs, kInputs, 3);
  const auto encoding =
      numerics::random_encoding(random, kOutputs, kInputs, 3, true, Granularity::kGroup, 64);
  const std::vector<float> levels = numerics::decode(w, encoding);
  const PlaneMatmulWeights weights(w, encoding);
  std::vector<float> y(2 * kOutputs);
  plane_matmul({MatrixView<const std::int8_t>(q, 2, kInputs), scales}, weights,
               {0, weights.num_blocks()}, MatrixView<float>(y, 2, kOutputs));
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t o = 0; o < kOutputs; ++o) {
      double exact = 0;
      double bound = 1e-3;  // half a step of every input, and float32 sums
      for (std::size_t i = 0; i < kInputs; ++i) {
        exact += double{values[r * kInputs + i]} * levels[o * kInputs + i];
        bound += scales[r] / 2 * std::abs(levels[o * kInputs + i]);
      }
      EXPECT_NEAR(y[r * kOutputs + o], exact, bound);
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(PlaneMatmul);

void expect_refused(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                    std::span<const float> bias, const std::string& message) {
  try {
    const PlaneMatmulWeights weights(codes, encoding, bias);
    FAIL() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(message));
  }
}

TEST(PlaneMatmulWeights, RefusesWhatDoesNotFit) {
  Random random(16);
  const auto codes = numerics::random_planes(random, 4, 20, 2);
  const auto encoding = numerics::random_encoding(random, 4, 20, 2, true, Granularity::kGroup, 8);
  const float bias[] = {1, 2, 3};
  expect_refused(codes, encoding, bias, "expected a bias for each output, found 3");
  expect_refused(codes, numerics::random_encoding(random, 3, 20, 2, true, Granularity::kChannel),
                 {}, "plane_matmul weights");
  expect_refused(codes, numerics::random_encoding(random, 4, 20, 3, true, Granularity::kChannel),
                 {}, "expected codes of 3 bits, found 2");
  expect_refused(numerics::BitPlanes(0, (std::size_t{1} << 24) + 1, 1),
                 numerics::random_encoding(random, 0, 1, 1, false, Granularity::kChannel), {},
                 "expected at most 16777216 inputs");
}

TEST(PlaneMatmulWeights, TakesLittleMoreMemoryThanTheBits) {
  Random random(17);
  const auto codes = numerics::random_planes(random, 64, 640, 2);
  const auto encoding = numerics::random_encoding(random, 64, 640, 2, true, Granularity::kChannel);
  const PlaneMatmulWeights weights(codes, encoding);
  EXPECT_EQ(weights.size_bytes(), 64 * 640 * 2 / 8 + 64 * 3 * sizeof(float));
}

}  // namespace
}  // namespace halftone::kernels
