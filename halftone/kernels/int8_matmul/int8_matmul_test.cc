// SPDX-License-Identifier: Apache-2.0
// Both methods of multiplying encoded weights by 8-bit activations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Int8Matmul = PerTarget;
using numerics::Granularity;

template <PlaneLayout kLayout>
struct PlanesAs {
  struct Weights : PlaneMatmulWeights {
    Weights(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
            std::span<const float> bias = {})
        : PlaneMatmulWeights(codes, encoding, bias, kLayout) {}
  };
  static constexpr const char* kName =
      kLayout == PlaneLayout::kFours ? "plane_matmul fours" : "plane_matmul fives";
  static constexpr int kMaxBits = PlaneMatmulWeights::kMaxBits;
  static constexpr auto kMultiply = plane_matmul;
};
template <LevelLayout kLayout>
struct LevelsAs {
  struct Weights : LevelMatmulWeights {
    Weights(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
            std::span<const float> bias = {})
        : LevelMatmulWeights(codes, encoding, bias, kLayout) {}
  };
  static constexpr auto kIndex = static_cast<std::size_t>(kLayout);
  static constexpr const char* kName =
      std::array{"level_matmul bytes", "level_matmul small bytes", "level_matmul nibbles"}[kIndex];
  static constexpr int kMaxBits = std::array{numerics::kMaxBits, numerics::kMaxBits,
                                             LevelMatmulWeights::kMaxNibbleBits}[kIndex];
  static constexpr auto kMultiply = level_matmul;
};

/// Calls body(way) for every method that supports this number of bits.
template <typename Body>
void for_each_way(int bits, const Body& body) {
  const auto call = [&](auto way) {
    if (bits <= way.kMaxBits) body(way);
  };
  call(PlanesAs<PlaneLayout::kFours>());
  call(PlanesAs<PlaneLayout::kSubsetTables>());
  call(LevelsAs<LevelLayout::kBytes>());
  call(LevelsAs<LevelLayout::kSmallBytes>());
  call(LevelsAs<LevelLayout::kNibbles>());
}

struct Int8MatmulCase {
  std::size_t rows, inputs, outputs;
  int bits;
  bool offset = true, bias = true;
  Granularity granularity = Granularity::kChannel;
  std::size_t group_size = 0;
};

std::vector<std::int8_t> random_int8(Random& random, std::size_t count) {
  std::vector<std::int8_t> values(count);
  for (auto& value : values) {
    value = static_cast<std::int8_t>(static_cast<int>(random.next() % 256) - 128);
  }
  return values;
}

void expect_int8_matmul_matches(Random& random, const Int8MatmulCase& c) {
  const auto q = random_int8(random, c.rows * c.inputs);
  const auto scales = numerics::random_floats(random, c.rows);
  Int8Rows x{MatrixView<const std::int8_t>(q, c.rows, c.inputs), scales};
  const auto w = numerics::random_planes(random, c.outputs, c.inputs, c.bits);
  const auto encoding = numerics::random_encoding(random, c.outputs, c.inputs, c.bits, c.offset,
                                                  c.granularity, c.group_size);
  const auto bias = numerics::random_floats(random, c.bias ? c.outputs : 0);
  for_each_way(c.bits, [&](auto way) {
    // Alternates between offset and no offset.
    x.offset = x.offset == 0 ? static_cast<float>(random.normal()) : 0;
    std::vector<float> expected(c.rows * c.outputs);
    level_matmul_reference(x, w, encoding, bias, MatrixView<float>(expected, c.rows, c.outputs));
    const typename decltype(way)::Weights weights(w, encoding, bias);
    std::vector<float> y(c.rows * c.outputs, -1.0F);
    way.kMultiply(x, weights, {0, weights.num_blocks()}, MatrixView<float>(y, c.rows, c.outputs));
    EXPECT_EQ(bit_patterns(y), bit_patterns(expected))
        << way.kName << " " << c.rows << " x " << c.inputs << " x " << c.outputs << ", " << c.bits
        << " bits, offset " << c.offset << ", bias " << c.bias << ", groups of " << c.group_size;
  });
}

TEST_P(Int8Matmul, MatchesReferenceForEveryNumberOfInputs) {
  Random random(10);
  for (std::size_t inputs = 0; inputs <= 200; ++inputs)
    expect_int8_matmul_matches(random, {2, inputs, 5, 2});
  // Around the pieces of 512 inputs and their eighths.
  for (const std::size_t inputs : {1U, 63U, 65U, 200U, 447U, 449U, 511U, 512U, 513U, 1025U}) {
    expect_int8_matmul_matches(random, {2, inputs, 35, 3});
  }
  // Around the runs of 480 inputs and the chunks of 2048 and 2400.
  for (const std::size_t inputs :
       {479U, 480U, 481U, 2047U, 2048U, 2049U, 2399U, 2400U, 2401U, 4095U, 4097U, 4801U}) {
    expect_int8_matmul_matches(random, {2, inputs, 9, 2});
  }
}

TEST_P(Int8Matmul, MatchesReferenceForEveryBatchAndOutputTail) {
  Random random(11);
  for (std::size_t rows = 0; rows <= 14; ++rows) {
    for (const std::size_t outputs : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 65U}) {
      expect_int8_matmul_matches(random, {rows, 100, outputs, 1});
      expect_int8_matmul_matches(random, {rows, 70, outputs, 3});
    }
  }
  // More blocks than are gathered at once.
  expect_int8_matmul_matches(random, {2, 40, 64 * 32 + 1, 8});
  // More rows than a band, of more blocks than share their activations.
  expect_int8_matmul_matches(random, {45, 50, 513, 1});
  expect_int8_matmul_matches(random, {45, 50, 97, 8});
}

TEST_P(Int8Matmul, MatchesReferenceForEveryNumberOfBits) {
  Random random(12);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const bool offset : {false, true}) {
      for (const bool bias : {false, true}) {
        expect_int8_matmul_matches(random, {3, 97, 40, bits, offset, bias});
        expect_int8_matmul_matches(random, {3, 97, 40, bits, offset, bias, Granularity::kTensor});
        expect_int8_matmul_matches(random,
                                   {3, 97, 40, bits, offset, bias, Granularity::kGroup, 32});
      }
    }
  }
}

TEST_P(Int8Matmul, MatchesReferenceForGroupsOfAnySize) {
  Random random(13);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 8U, 9U, 20U, 31U, 32U, 33U, 64U, 100U, 128U}) {
    expect_int8_matmul_matches(random, {2, 301, 33, 2, true, true, Granularity::kGroup, size});
  }
  // Groups larger than a chunk, and groups that end with the row.
  expect_int8_matmul_matches(random, {2, 5000, 33, 2, true, true, Granularity::kGroup, 2100});
  expect_int8_matmul_matches(random, {2, 4096, 33, 2, true, true, Granularity::kGroup, 2048});
  expect_int8_matmul_matches(random, {1, 5000, 7, 1, true, true, Granularity::kGroup, 128});
  expect_int8_matmul_matches(random, {13, 1000, 33, 2, true, true, Granularity::kGroup, 128});
  expect_int8_matmul_matches(random, {13, 1500, 33, 3, true, true, Granularity::kGroup, 700});
  expect_int8_matmul_matches(random, {1, 1300, 33, 3, true, true, Granularity::kGroup, 512});
}

TEST_P(Int8Matmul, ExtremeSumsAreExact) {
  for (const std::size_t n : {2048U, 5000U, 65536U}) {
    for (const int q : {-128, 127}) {
      const std::vector<std::int8_t> x(n, static_cast<std::int8_t>(q));
      const float scales[] = {1.0F};
      numerics::BitPlanes w(2, n, 1);
      for (std::size_t c = 0; c < n; ++c) w.set_code(1, c, 1);
      const float one[] = {1.0F};
      for_each_way(1, [&](auto way) {
        const typename decltype(way)::Weights weights(
            w, numerics::tensor_encoding(numerics::make_basis(one)));
        std::vector<float> y(2);
        way.kMultiply({MatrixView<const std::int8_t>(x, 1, n), scales}, weights, {0, 1},
                      MatrixView<float>(y, 1, 2));
        const auto sum = static_cast<float>(static_cast<std::int64_t>(n) * q);
        EXPECT_FLOAT_EQ(y[0], -sum);
        EXPECT_FLOAT_EQ(y[1], sum);
      });
    }
  }
}

TEST_P(Int8Matmul, WritesOnlyTheBlocksAskedForAndReadsStridedRows) {
  constexpr std::size_t kOutputs = 110;
  constexpr std::size_t kInputs = 50;
  constexpr std::size_t kStride = 120;  // the gaps must stay unchanged too
  Random random(14);
  const auto q = random_int8(random, 3 * kStride);
  const auto scales = numerics::random_floats(random, 3);
  const Int8Rows x{MatrixView<const std::int8_t>(q.data() + 1, 3, kInputs, kStride - 1), scales};
  const auto w = numerics::random_planes(random, kOutputs, kInputs, 2);
  const auto encoding =
      numerics::random_encoding(random, kOutputs, kInputs, 2, true, Granularity::kChannel);
  for_each_way(2, [&](auto way) {
    std::vector<float> expected(3 * kOutputs);
    level_matmul_reference(x, w, encoding, {}, MatrixView<float>(expected, 3, kOutputs));
    const typename decltype(way)::Weights weights(w, encoding);
    std::vector<float> y(3 * kStride, -1.0F);
    way.kMultiply(x, weights, {1, 3}, MatrixView<float>(y.data(), 3, kOutputs, kStride));
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t o = 0; o < kStride; ++o) {
        const bool inside = o >= 32 && o < 96;
        EXPECT_EQ(y[r * kStride + o], inside ? expected[r * kOutputs + o] : -1.0F) << r << " " << o;
      }
    }
  });
}

TEST_P(Int8Matmul, IsCloseToTheProductOfTheValues) {
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
  for_each_way(3, [&](auto way) {
    const typename decltype(way)::Weights weights(w, encoding);
    std::vector<float> y(2 * kOutputs);
    way.kMultiply({MatrixView<const std::int8_t>(q, 2, kInputs), scales}, weights,
                  {0, weights.num_blocks()}, MatrixView<float>(y, 2, kOutputs));
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t o = 0; o < kOutputs; ++o) {
        double exact = 0;
        double bound = 1e-3;  // of float32 sums
        for (std::size_t i = 0; i < kInputs; ++i) {
          const float level = levels[o * kInputs + i];
          const float value = values[r * kInputs + i];
          exact += double{value} * level;
          bound += scales[r] / 2 * std::abs(level);  // half a step of the activation
          // and, for each of three coefficients, one of 126 that they add up to
          const auto& basis = encoding.basis(o, i / 64, kInputs);
          for (const float a : basis.a()) bound += std::abs(value) * std::abs(a) * 3 / 126;
        }
        EXPECT_NEAR(y[r * kOutputs + o], exact, bound) << way.kName;
      }
    }
  });
}

TEST_P(Int8Matmul, KernelsAgreeOnEvenlySpacedLevels) {
  constexpr std::size_t kInputs = 200;
  constexpr std::size_t kOutputs = 33;
  Random random(18);
  const auto q = random_int8(random, kInputs);
  const float scales[] = {0.01F};
  const Int8Rows x{MatrixView<const std::int8_t>(q, 1, kInputs), scales};
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    const auto w = numerics::random_planes(random, kOutputs, kInputs, bits);
    const auto encoding = numerics::tensor_encoding(numerics::affine_basis(bits, 0.02F, 1.5F));
    std::vector<std::vector<float>> results;
    for_each_way(bits, [&](auto way) {
      const typename decltype(way)::Weights weights(w, encoding);
      std::vector<float> y(kOutputs);
      way.kMultiply(x, weights, {0, weights.num_blocks()}, MatrixView<float>(y, 1, kOutputs));
      results.push_back(y);
    });
    for (std::size_t o = 0; o < kOutputs; ++o) {
      for (const auto& result : results) EXPECT_EQ(results[0][o], result[o]) << bits;
    }
  }
}

TEST_P(Int8Matmul, ExtremeLevelsAreExact) {
  constexpr std::size_t kInputs = 4096;  // a power of two: float32 has every sum exactly
  constexpr std::size_t kRows = 6;
  const std::vector<float> scales(kRows, 1.0F);
  for (const int bits : {4, 8}) {
    const int last = (1 << bits) - 1;
    numerics::BitPlanes w(2, kInputs, bits);
    for (std::size_t c = 0; c < kInputs; ++c) w.set_code(1, c, static_cast<numerics::Code>(last));
    const float zero = static_cast<float>(last) / 2;
    const auto encoding = numerics::tensor_encoding(numerics::affine_basis(bits, 2, zero));
    for (const int q : {-128, 127}) {
      const std::vector<std::int8_t> x(kRows * kInputs, static_cast<std::int8_t>(q));
      const auto sum = static_cast<float>(last * q) * static_cast<float>(kInputs);
      for_each_way(bits, [&](auto way) {
        const typename decltype(way)::Weights weights(w, encoding);
        for (std::size_t rows = 1; rows <= kRows; ++rows) {
          std::vector<float> y(rows * 2);
          const auto q_rows = std::span(x).first(rows * kInputs);
          way.kMultiply(
              {MatrixView<const std::int8_t>(q_rows, rows, kInputs), std::span(scales).first(rows)},
              weights, {0, 1}, MatrixView<float>(y, rows, 2));
          for (std::size_t r = 0; r < rows; ++r) {
            EXPECT_EQ(y[2 * r], -sum) << way.kName;
            EXPECT_EQ(y[2 * r + 1], sum) << way.kName;
          }
        }
      });
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(Int8Matmul);

TEST(Int8MatmulWeights, RejectInvalidOperands) {
  Random random(16);
  const auto codes = numerics::random_planes(random, 4, 20, 2);
  const auto encoding = numerics::random_encoding(random, 4, 20, 2, true, Granularity::kGroup, 8);
  for_each_way(2, [&](auto way) {
    using Weights = typename decltype(way)::Weights;
    const std::string name = std::string(way.kName).substr(0, 5);
    const auto pack = [](const numerics::BitPlanes& w, const numerics::MatrixEncoding& e,
                         std::span<const float> bias) {
      return [&w, &e, bias] { const Weights weights(w, e, bias); };
    };
    const float bias[] = {1, 2, 3};
    expect_error(ErrorKind::kShape,
                 name + "_matmul weights of 4 x 20: expected a bias for each output",
                 pack(codes, encoding, bias));
    expect_error(
        ErrorKind::kShape, name + "_matmul weights",
        pack(codes, numerics::random_encoding(random, 3, 20, 2, true, Granularity::kChannel), {}));
    expect_error(
        ErrorKind::kShape, "expected codes of 3 bits, found 2",
        pack(codes, numerics::random_encoding(random, 4, 20, 3, true, Granularity::kChannel), {}));
    expect_error(
        ErrorKind::kUnsupported,
        "expected at most " + std::to_string(Weights::kMaxInputs) + " inputs",
        pack(numerics::BitPlanes(0, Weights::kMaxInputs + 1, 1),
             numerics::random_encoding(random, 0, 1, 1, false, Granularity::kChannel), {}));
  });
  const auto five = numerics::random_planes(random, 4, 20, 5);
  const auto five_encoding =
      numerics::random_encoding(random, 4, 20, 5, true, Granularity::kChannel);
  expect_error(ErrorKind::kUnsupported, "in nibbles: expected at most 4 bits, found 5", [&] {
    const LevelsAs<LevelLayout::kNibbles>::Weights weights(five, five_encoding);
  });
  const auto seven = numerics::random_planes(random, 4, 20, 7);
  const auto seven_encoding =
      numerics::random_encoding(random, 4, 20, 7, true, Granularity::kChannel);
  expect_error(
      ErrorKind::kUnsupported, "plane_matmul weights: expected at most 6 bits, found 7",
      [&] { const PlanesAs<PlaneLayout::kFours>::Weights weights(seven, seven_encoding); });
}

TEST(Int8MatmulWeights, TakeLittleMoreMemoryThanTheCodes) {
  Random random(17);
  const auto codes = numerics::random_planes(random, 64, 640, 2);
  const auto encoding = numerics::random_encoding(random, 64, 640, 2, true, Granularity::kChannel);
  EXPECT_EQ(PlaneMatmulWeights(codes, encoding, {}, PlaneLayout::kFours).size_bytes(),
            64 * 640 * 2 / 8 + 64 * (2 + 3 * sizeof(float)));
  // 640 inputs are 43 pieces of 15, in 16 bits each.
  EXPECT_EQ(PlaneMatmulWeights(codes, encoding, {}, PlaneLayout::kSubsetTables).size_bytes(),
            64 * 43 * 2 * 2 + 64 * (2 + 3 * sizeof(float)));
  EXPECT_EQ(LevelMatmulWeights(codes, encoding, {}, LevelLayout::kBytes).size_bytes(),
            64 * 640 + 64 * 3 * sizeof(float));
  EXPECT_EQ(LevelMatmulWeights(codes, encoding, {}, LevelLayout::kNibbles).size_bytes(),
            64 * 640 / 2 + 64 * 16 + 64 * 3 * sizeof(float));
}

}  // namespace
}  // namespace halftone::kernels
