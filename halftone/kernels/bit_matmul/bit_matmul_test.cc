// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/bit_matmul/bit_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/error.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using BitMatmul = PerTarget;
using numerics::Granularity;

constexpr BitLayout kLayouts[] = {BitLayout::kWords, BitLayout::kLookup};

struct BitMatmulCase {
  std::size_t rows, inputs, outputs;
  int x_bits, w_bits;
  bool x_offset = true, w_offset = true, bias = true;
  Granularity granularity = Granularity::kChannel;
};

void expect_bit_matmul_matches(Random& random, const BitMatmulCase& c) {
  const auto x = numerics::random_planes(random, c.rows, c.inputs, c.x_bits);
  const auto x_basis = numerics::random_basis(random, c.x_bits, c.x_offset);
  const auto w = numerics::random_planes(random, c.outputs, c.inputs, c.w_bits);
  const auto encoding =
      numerics::random_encoding(random, c.outputs, c.inputs, c.w_bits, c.w_offset, c.granularity);
  const auto bias = numerics::random_floats(random, c.bias ? c.outputs : 0);
  std::vector<float> expected(c.rows * c.outputs);
  bit_matmul_reference({x, x_basis}, {w, encoding, bias},
                       MatrixView<float>(expected, c.rows, c.outputs));
  for (const BitLayout layout : kLayouts) {
    const BitMatmulWeights weights(w, encoding, bias, layout);
    std::vector<float> y(c.rows * c.outputs, -1.0F);
    bit_matmul(x.planes.words(), x_basis, weights, {0, weights.num_blocks()},
               MatrixView<float>(y, c.rows, c.outputs));
    EXPECT_EQ(bit_patterns(y), bit_patterns(expected))
        << c.rows << " x " << c.inputs << " x " << c.outputs << ", bits " << c.x_bits << " x "
        << c.w_bits << ", offsets " << c.x_offset << c.w_offset << ", bias " << c.bias
        << ", layout " << static_cast<int>(layout);
  }
}

TEST_P(BitMatmul, MatchesReferenceForEveryNumberOfInputs) {
  Random random(10);
  for (std::size_t inputs = 0; inputs <= 200; ++inputs)
    expect_bit_matmul_matches(random, {2, inputs, 5, 2, 1});
  // Around the 31 words or bytes after which byte counters are widened, and multiples of that.
  for (const std::size_t count : {30U, 31U, 32U, 61U, 62U, 63U, 93U, 94U, 123U, 124U, 125U, 249U}) {
    for (const std::size_t bits : {8U, 64U}) {
      for (const std::size_t inputs : {bits * count - 1, bits * count, bits * count + 1}) {
        expect_bit_matmul_matches(random, {3, inputs, 9, 1, 2});
      }
    }
  }
}

TEST_P(BitMatmul, MatchesReferenceForEveryBatchAndOutputTail) {
  Random random(11);
  for (std::size_t rows = 0; rows <= 9; ++rows) {
    for (const std::size_t outputs : {0U, 1U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 32U, 33U, 65U}) {
      expect_bit_matmul_matches(random, {rows, 100, outputs, 1, 1});
      expect_bit_matmul_matches(random, {rows, 70, outputs, 3, 2});
    }
  }
  expect_bit_matmul_matches(random, {131, 33, 10, 2, 2});
  // More blocks than are gathered at once.
  expect_bit_matmul_matches(random, {5, 40, 17 * 32 + 1, 1, 1});
  expect_bit_matmul_matches(random, {5, 40, 6 * 32 + 1, 8, 8});
}

TEST_P(BitMatmul, MatchesReferenceForEveryPairOfBits) {
  Random random(12);
  for (int x_bits = 1; x_bits <= numerics::kMaxBits; ++x_bits) {
    for (int w_bits = 1; w_bits <= numerics::kMaxBits; ++w_bits) {
      expect_bit_matmul_matches(random, {5, 97, 11, x_bits, w_bits});
    }
  }
}

TEST_P(BitMatmul, MatchesReferenceWithAndWithoutOffsetsAndBias) {
  Random random(13);
  for (const bool x_offset : {false, true}) {
    for (const bool w_offset : {false, true}) {
      for (const bool bias : {false, true}) {
        for (const auto granularity : {Granularity::kTensor, Granularity::kChannel}) {
          expect_bit_matmul_matches(random,
                                    {3, 129, 12, 2, 3, x_offset, w_offset, bias, granularity});
        }
      }
    }
  }
}

TEST_P(BitMatmul, ExtremeDotProductsAreExact) {
  for (const std::size_t n : {64U * 31U, 64U * 31U + 1U, 5000U}) {
    numerics::BitPlanes x(1, n, 1);
    numerics::BitPlanes w(2, n, 1);
    for (std::size_t c = 0; c < n; ++c) x.set_code(0, c, 1);
    for (std::size_t c = 0; c < n; ++c) w.set_code(1, c, 1);
    const float one[] = {1.0F};
    const auto basis = numerics::make_basis(one);
    for (const BitLayout layout : kLayouts) {
      const BitMatmulWeights weights(w, numerics::tensor_encoding(basis), {}, layout);
      std::vector<float> y(2);
      bit_matmul(x.planes.words(), basis, weights, {0, 1}, MatrixView<float>(y, 1, 2));
      EXPECT_THAT(y, testing::ElementsAre(-static_cast<float>(n), static_cast<float>(n)));
    }
  }
}

TEST_P(BitMatmul, WritesOnlyTheBlocksAskedFor) {
  constexpr std::size_t kOutputs = 110;
  constexpr std::size_t kStride = 120;  // the gap must stay unchanged too
  Random random(14);
  const auto x = numerics::random_planes(random, 3, 50, 2);
  const auto x_basis = numerics::random_basis(random, 2, true);
  const auto w = numerics::random_planes(random, kOutputs, 50, 2);
  const auto encoding =
      numerics::random_encoding(random, kOutputs, 50, 2, true, Granularity::kChannel);
  std::vector<float> expected(3 * kOutputs);
  bit_matmul_reference({x, x_basis}, {w, encoding}, MatrixView<float>(expected, 3, kOutputs));
  for (const BitLayout layout : kLayouts) {
    const BitMatmulWeights weights(w, encoding, {}, layout);
    const std::size_t block = weights.block_outputs();
    std::vector<float> y(3 * kStride, -1.0F);
    bit_matmul(x.planes.words(), x_basis, weights, {1, 3},
               MatrixView<float>(y.data(), 3, kOutputs, kStride));
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t o = 0; o < kStride; ++o) {
        const bool inside = o >= block && o < 3 * block;
        EXPECT_EQ(y[r * kStride + o], inside ? expected[r * kOutputs + o] : -1.0F) << r << " " << o;
      }
    }
  }
}

TEST_P(BitMatmul, TakesPlanesAndWritesRowsAtAnyAddress) {
  Random random(17);
  const auto x = numerics::random_planes(random, 3, 150, 2);
  const auto x_basis = numerics::random_basis(random, 2, true);
  const auto w = numerics::random_planes(random, 37, 150, 3);
  const auto encoding = numerics::random_encoding(random, 37, 150, 3, true, Granularity::kChannel);
  std::vector<float> expected(3 * 37);
  bit_matmul_reference({x, x_basis}, {w, encoding}, MatrixView<float>(expected, 3, 37));
  const auto words = x.planes.words();
  for (const BitLayout layout : kLayouts) {
    const BitMatmulWeights weights(w, encoding, {}, layout);
    for (std::size_t shift = 1; shift < 8; ++shift) {
      std::vector<std::uint64_t> shifted(shift);
      shifted.insert(shifted.end(), words.begin(), words.end());
      std::vector<float> y(shift + expected.size());
      bit_matmul(std::span(shifted).subspan(shift), x_basis, weights, {0, weights.num_blocks()},
                 MatrixView<float>(y.data() + shift, 3, 37, 37));
      y.erase(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(shift));
      EXPECT_EQ(bit_patterns(y), bit_patterns(expected)) << shift;
    }
  }
}

TEST_P(BitMatmul, AgreesWithTheProductOfTheLevels) {
  Random random(15);
  const auto x = numerics::random_planes(random, 4, 300, 2);
  const auto x_basis = numerics::random_basis(random, 2, true);
  const auto w = numerics::random_planes(random, 20, 300, 3);
  const auto encoding = numerics::random_encoding(random, 20, 300, 3, true, Granularity::kChannel);
  const auto x_levels = numerics::decode(x, numerics::tensor_encoding(x_basis));
  const auto w_levels = numerics::decode(w, encoding);
  const BitMatmulWeights weights(w, encoding, {}, preferred_bit_layout(20, 300));
  std::vector<float> y(4 * 20);
  bit_matmul(x.planes.words(), x_basis, weights, {0, weights.num_blocks()},
             MatrixView<float>(y, 4, 20));
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t o = 0; o < 20; ++o) {
      double sum = 0;
      double size = 0;
      for (std::size_t c = 0; c < 300; ++c) {
        const double term = double{x_levels[r * 300 + c]} * double{w_levels[o * 300 + c]};
        sum += term;
        size += std::abs(term);
      }
      // Levels are rounded sums of up to four terms, the result of up to nine: 16 half units.
      EXPECT_NEAR(y[r * 20 + o], sum, 16 * 0x1p-24 * size);
    }
  }
}

// FORMATS.md, section 1, LQ_FULLY_CONNECTED: the golden case.
TEST_P(BitMatmul, GoldenCaseOfCircle) {
  const float x_scales[] = {0.12F, 1.7F};
  const float x[] = {0.5F, 1.2F, 2.3F, -1.0F, 0.0F};
  const auto x_basis = numerics::make_basis(x_scales);
  std::vector<std::uint64_t> planes(2);
  encode(MatrixView<const float>(x, 1, 5), EncodeTable(x_basis), planes);
  EXPECT_THAT(planes, testing::ElementsAre(28, 7));

  const float scales[4][3] = {
      {.11F, .23F, .31F}, {.23F, .41F, .53F}, {.13F, .22F, .46F}, {.32F, .33F, .35F}};
  const std::uint64_t binary[] = {7, 13, 20, 4, 15, 3, 31, 17, 11, 22, 19, 2};
  numerics::BitPlanes w(4, 5, 3);
  std::copy(std::begin(binary), std::end(binary), w.planes.words().begin());
  std::vector<numerics::Basis> bases;
  for (const auto& row : scales) bases.push_back(numerics::make_basis(row));
  const auto encoding = numerics::basis_encoding(bases, false, Granularity::kChannel);

  const auto run = [&](std::span<const float> bias) {
    std::vector<float> y(4);
    bit_matmul(planes, x_basis,
               BitMatmulWeights(w, encoding, bias, preferred_bit_layout(w.rows, w.cols)), {0, 1},
               MatrixView<float>(y, 1, 4));
    return y;
  };
  const auto near = [](float value) { return testing::FloatNear(value, 1e-5F); };
  const float bias[] = {-1.1F, -5.0F, -0.3F, 2.8F};
  EXPECT_THAT(run(bias),
              testing::ElementsAre(near(-0.2014F), near(-0.1546F), near(0.1526F), near(4.2936F)));
  EXPECT_THAT(run({}),
              testing::ElementsAre(near(0.8986F), near(4.8454F), near(0.4526F), near(1.4936F)));
}

HALFTONE_INSTANTIATE_PER_TARGET(BitMatmul);

void expect_refused(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                    std::span<const float> bias, ErrorKind kind, const char* text) {
  try {
    BitMatmulWeights weights(codes, encoding, bias, BitLayout::kWords);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

TEST(BitMatmulWeights, RejectsUnsupportedWeights) {
  Random random(16);
  const auto codes = numerics::random_planes(random, 4, 20, 2);
  const auto channel = numerics::random_encoding(random, 4, 20, 2, true, Granularity::kChannel);
  expect_refused(codes, numerics::random_encoding(random, 4, 20, 2, true, Granularity::kGroup, 8),
                 {}, ErrorKind::kUnsupported, "groups of 8");
  expect_refused(numerics::BitPlanes(0, (1 << 24) + 1, 1),
                 numerics::random_encoding(random, 0, 1, 1, false, Granularity::kChannel), {},
                 ErrorKind::kUnsupported, "at most 16777216 inputs");
  expect_refused(codes, numerics::random_encoding(random, 3, 20, 2, true, Granularity::kChannel),
                 {}, ErrorKind::kShape, "coefficients");
  expect_refused(codes, numerics::random_encoding(random, 4, 20, 3, true, Granularity::kChannel),
                 {}, ErrorKind::kShape, "expected codes of 3 bits");
  const float bias[] = {1.0F};
  expect_refused(codes, channel, bias, ErrorKind::kShape, "a bias for each output");
}

TEST(BitMatmulWeights, TakesOneBitPerWeightAndAFewFloatsPerOutput) {
  Random random(17);
  const auto codes = numerics::random_planes(random, 64, 640, 2);
  const auto encoding = numerics::random_encoding(random, 64, 640, 2, true, Granularity::kChannel);
  for (const BitLayout layout : kLayouts) {
    const BitMatmulWeights weights(codes, encoding, {}, layout);
    EXPECT_EQ(weights.size_bytes(), 64 * 640 * 2 / 8 + 64 * (2 + 3) * sizeof(float));
  }
}

}  // namespace
}  // namespace halftone::kernels
