// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/vector_basis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "halftone/base/testing.h"
#include "halftone/numerics/basis.h"
#include "halftone/numerics/stored_numbers.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

using testing::ElementsAre;

/// A mean of samples and its standard error.
struct SampledMean {
  double mean;
  double error;
};

/// The mean squared error of normal numbers of variance 1, each vector at its nearest codeword.
SampledMean normal_error(const VectorBasis& basis, double scale) {
  Random random(17);
  const auto d = static_cast<std::size_t>(basis.numbers());
  constexpr double kVectors = 8000;
  double sum = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < kVectors; ++i) {
    const std::vector<float> x = random_floats(random, d);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t code = 0; code < basis.num_codes(); ++code) {
      double squares = 0;
      for (std::size_t j = 0; j < d; ++j) {
        const double difference = x[j] - scale * basis.codeword(code)[j];
        squares += difference * difference;
      }
      least = std::min(least, squares / static_cast<double>(d));
    }
    sum += least;
    sum_of_squares += least * least;
  }
  const double mean = sum / kVectors;
  return {mean, std::sqrt((sum_of_squares / kVectors - mean * mean) / kVectors)};
}

/// What scripts/fit_vector_basis.py prints for them: errors and scales.
TEST(VectorBasis, ShippedMatricesFitNormalNumbers) {
  const auto expect = [](std::string_view rate, double error, double scale) {
    SCOPED_TRACE(rate);
    const SampledMean sampled = normal_error(*shipped_vector_basis(rate), scale);
    EXPECT_NEAR(sampled.mean, error, 4 * sampled.error);
  };
  expect("4x8", 0.10161, 0.02095);
  expect("4x9", 0.07461, 0.02404);
  expect("4x10", 0.05439, 0.02619);
  expect("2x6", 0.03219, 0.02348);
  expect("2x7", 0.01749, 0.02459);
  expect("2x8", 0.00937, 0.02395);
  expect("2x10", 0.00292, 0.02508);
}

TEST(VectorBasis, ShippedMatricesHaveTheirRates) {
  EXPECT_THAT(vector_rates(), ElementsAre("4x8", "4x9", "4x10", "2x6", "2x7", "2x8", "2x10"));
  for (const std::string_view rate : vector_rates()) {
    SCOPED_TRACE(rate);
    const auto basis = shipped_vector_basis(rate);
    ASSERT_NE(basis, nullptr);
    EXPECT_EQ(basis->rate(), rate);
    EXPECT_EQ(basis->codewords().size(),
              basis->num_codes() * static_cast<std::size_t>(basis->numbers()));
  }
  EXPECT_EQ(shipped_vector_basis("3x8"), nullptr);
}

TEST(VectorBasis, CodewordsAreSignedSumsOfColumns) {
  const std::array<std::int8_t, 12> matrix = {1, 2, 4, 8, 16, 96, -127, 0, 0, 0, 0, 0};
  const VectorBasis basis(2, matrix);
  EXPECT_THAT(basis.codeword(0), ElementsAre(-127, 127));
  EXPECT_THAT(basis.codeword(0b111111), ElementsAre(127, -127));
  EXPECT_THAT(basis.codeword(0b000001), ElementsAre(-125, -127));
  EXPECT_THAT(basis.codeword(0b100110), ElementsAre(-127 + 2 * (2 + 4 + 96), 127));
}

TEST(VectorBasis, FindsTheCodeOfACodeword) {
  for (const std::string_view rate : vector_rates()) {
    const auto basis = shipped_vector_basis(rate);
    for (std::size_t code = 0; code < basis->num_codes(); ++code) {
      const auto found = basis->code_of(basis->codeword(code));
      ASSERT_TRUE(found.has_value());
      EXPECT_LE(*found, code);
      EXPECT_TRUE(std::ranges::equal(basis->codeword(*found), basis->codeword(code)));
    }
  }
  const std::array<std::int8_t, 12> matrix = {1, 2, 4, 8, 16, 96, 0, 0, 0, 0, 0, 0};
  const VectorBasis basis(2, matrix);
  EXPECT_EQ(basis.code_of(std::array<std::int8_t, 2>{0, 0}), std::nullopt);  // sums are odd
}

/// Neighbours that share no sign: codes are those of a basis of each number.
TEST(VectorBasis, HasTheScalarBasisAsASpecialCase) {
  const std::array<std::int8_t, 16> matrix = {73, 0,  35, 0,  13, 0,  5, 0,  //
                                              0,  73, 0,  35, 0,  13, 0, 5};
  const VectorBasis vectors(2, matrix);
  const Basis scalar = make_basis(std::array{73.0F, 35.0F, 13.0F, 5.0F});
  for (Code first = 0; first < 16; ++first) {
    for (Code second = 0; second < 16; ++second) {
      std::size_t code = 0;
      for (int k = 0; k < 4; ++k) {
        code |= static_cast<std::size_t>(first >> k & 1) << (2 * k);
        code |= static_cast<std::size_t>(second >> k & 1) << (2 * k + 1);
      }
      EXPECT_THAT(vectors.codeword(code), ElementsAre(static_cast<int>(scalar.value(first)),
                                                      static_cast<int>(scalar.value(second))));
    }
  }
}

TEST(VectorBasis, RefusesWhatIsNoBasis) {
  const auto making = [](int numbers, std::size_t elements, std::int8_t entry) {
    return [=] { VectorBasis(numbers, std::vector<std::int8_t>(elements, entry)); };
  };
  expect_error(ErrorKind::kFormat, "found 3 numbers and 24 elements", making(3, 24, 1));
  expect_error(ErrorKind::kFormat, "found 2 numbers and 10 elements", making(2, 10, 1));
  expect_error(ErrorKind::kFormat, "found 2 numbers and 22 elements", making(2, 22, 1));
  expect_error(ErrorKind::kFormat, "found 4 numbers and 33 elements", making(4, 33, 1));
  expect_error(ErrorKind::kFormat, "found 0 numbers and 0 elements", making(0, 0, 1));
  expect_error(ErrorKind::kFormat, "row 0: expected magnitudes that sum to at most 127, found 128",
               making(2, 16, -16));
}

struct RandomBlock {
  std::vector<std::uint16_t> codes;
  float scale;
  RandomBlock(const VectorEncoding& encoding, Random& random)
      : scale(e3m5_number(static_cast<std::uint8_t>(random.below(256)))) {
    for (std::size_t i = 0; i < encoding.codes_per_block(); ++i) {
      codes.push_back(static_cast<std::uint16_t>(random.below(encoding.basis->num_codes())));
    }
  }
};

TEST(VectorEncoding, GivesBackWhatWasPacked) {
  Random random(1);
  for (const std::string_view rate : vector_rates()) {
    SCOPED_TRACE(rate);
    const VectorEncoding encoding(shipped_vector_basis(rate), 0.37F);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const RandomBlock packed(encoding, random);
      std::vector<std::byte> bytes(encoding.block_bytes + 1, std::byte{77});
      encoding.pack_codes(packed.codes, packed.scale, bytes.data());
      EXPECT_EQ(bytes.back(), std::byte{77});
      std::vector<std::uint16_t> codes(packed.codes.size());
      EXPECT_EQ(encoding.unpack_codes(bytes.data(), codes), packed.scale);
      EXPECT_EQ(codes, packed.codes);
      std::vector<float> values(64);
      bytes.pop_back();
      decode_blocks(encoding, bytes, values);
      const auto d = static_cast<std::size_t>(encoding.basis->numbers());
      for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(values[i], 0.37F * packed.scale *
                                 static_cast<float>(encoding.basis->codeword(codes[i / d])[i % d]));
      }
    }
  }
}

TEST(VectorEncoding, PacksLowestBitsFirst) {
  const VectorEncoding encoding(shipped_vector_basis("4x10"), 1);
  std::vector<std::uint16_t> codes(16, 0);
  codes[0] = 0x3FF;
  codes[1] = 1;
  codes[15] = 0x200;
  std::vector<std::byte> bytes(encoding.block_bytes);
  encoding.pack_codes(codes, 2.0F, bytes.data());
  EXPECT_EQ(bytes.size(), 21U);
  EXPECT_EQ(bytes[0], std::byte{32});
  EXPECT_EQ(bytes[1], std::byte{0xFF});
  EXPECT_EQ(bytes[2], std::byte{0b111});
  EXPECT_EQ(bytes[20], std::byte{0x80});
}

TEST(VectorEncoding, HasTheBitsOfItsRate) {
  const auto bits = [](std::string_view rate) {
    return VectorEncoding(shipped_vector_basis(rate), 1).bits();
  };
  EXPECT_EQ(bits("4x8"), 2.125);
  EXPECT_EQ(bits("4x9"), 2.375);
  EXPECT_EQ(bits("4x10"), 2.625);
  EXPECT_EQ(bits("2x6"), 3.125);
  EXPECT_EQ(bits("2x7"), 3.625);
  EXPECT_EQ(bits("2x8"), 4.125);
  EXPECT_EQ(bits("2x10"), 5.125);
}

TEST(VectorEncoding, IsEqualByContents) {
  const auto shipped = shipped_vector_basis("4x8");
  const auto copy = std::make_shared<const VectorBasis>(4, shipped->matrix());
  std::vector<std::int8_t> matrix(shipped->matrix().begin(), shipped->matrix().end());
  matrix[3] = static_cast<std::int8_t>(-matrix[3]);
  const auto other = std::make_shared<const VectorBasis>(4, matrix);
  const auto encoding = [](const std::shared_ptr<const VectorBasis>& basis, float factor) {
    return std::make_shared<const VectorEncoding>(basis, factor);
  };
  EXPECT_TRUE(are_equal(encoding(shipped, 2), encoding(copy, 2)));
  EXPECT_FALSE(are_equal(encoding(shipped, 2), encoding(shipped, 3)));
  EXPECT_FALSE(are_equal(encoding(shipped, 2), encoding(other, 2)));
  EXPECT_FALSE(are_equal(encoding(shipped, 2), nullptr));
  EXPECT_TRUE(are_equal(nullptr, nullptr));
}

TEST(VectorEncoding, RefusesFactorsOfNoUse) {
  const auto making = [](float factor) {
    return [=] { VectorEncoding(shipped_vector_basis("4x8"), factor); };
  };
  for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(), 1e35F}) {
    expect_error(ErrorKind::kFormat, "vector 4x8: factor of the scales: expected a number above 0",
                 making(bad));
  }
}

}  // namespace
}  // namespace halftone::numerics
