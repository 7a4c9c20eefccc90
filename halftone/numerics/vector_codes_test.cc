// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/vector_codes.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

std::vector<std::uint16_t> random_vectors(Random& random, const VectorBasis& basis,
                                          std::size_t rows, std::size_t cols) {
  std::vector<std::uint16_t> vectors(rows * vectors_per_row(basis, cols));
  for (auto& each : vectors) each = static_cast<std::uint16_t>(random.next() % basis.num_codes());
  return vectors;
}

MatrixEncoding vector_encoding(std::string_view rate, std::size_t rows, std::size_t cols) {
  const NumberSystem& system = find_system(rate);
  return empty_encoding(system, system.max_bits, system.blocks, rows, cols);
}

TEST(VectorCodes, PackAndUnpackAreInverse) {
  Random random(1);
  for (const std::string_view rate : vector_rates()) {
    const auto basis = shipped_vector_basis(rate);
    for (std::size_t cols = 1; cols <= 67; ++cols) {
      const auto vectors = random_vectors(random, *basis, 3, cols);
      const auto bytes = pack_vectors(vectors, *basis, 3, cols);
      ASSERT_EQ(bytes.size(), 3 * vector_row_bytes(*basis, cols));
      ASSERT_EQ(unpack_vectors(bytes, *basis, 3, cols), vectors) << rate << " " << cols;
    }
  }
}

TEST(VectorCodes, FirstCodeIsInTheLowestBits) {
  const auto basis = shipped_vector_basis("2x6");
  const std::vector<std::uint16_t> vectors = {0b100001, 0b000011, 0b111100};
  const std::vector<std::byte> bytes = {std::byte{0b11100001}, std::byte{0b11000000},
                                        std::byte{0b00000011}};
  EXPECT_EQ(pack_vectors(vectors, *basis, 1, 6), bytes);
  EXPECT_EQ(pack_vectors(vectors, *basis, 1, 5), bytes);
}

TEST(VectorCodes, BitsBehindARowAreAnError) {
  const auto basis = shipped_vector_basis("2x6");
  std::vector<std::byte> bytes(6);
  EXPECT_EQ(unpack_vectors(bytes, *basis, 2, 6).size(), 6U);
  bytes[5] = std::byte{4};
  expect_error(ErrorKind::kFormat, "codes of 2x6: expected zero bits behind code 3 of row 1",
               [&] { unpack_vectors(bytes, *basis, 2, 6); });
}

TEST(VectorCodes, LevelsAreTheNumbersOfCodewords) {
  Random random(2);
  for (const std::string_view rate : vector_rates()) {
    const auto basis = shipped_vector_basis(rate);
    const auto d = static_cast<std::size_t>(basis->numbers());
    for (const std::size_t cols : {1U, 2U, 3U, 27U, 64U, 130U}) {
      const auto vectors = random_vectors(random, *basis, 2, cols);
      const BitPlanes planes = planes_of_vectors(vectors, *basis, 2, cols);
      const std::vector<float> values = decode(planes, vector_encoding(rate, 2, cols));
      const std::size_t per_row = vectors_per_row(*basis, cols);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t code = vectors[i / cols * per_row + i % cols / d];
        ASSERT_EQ(values[i], basis->codeword(code)[i % cols % d]);
      }
      const auto again = vectors_of_planes(planes, *basis);
      ASSERT_TRUE(again.has_value());
      EXPECT_EQ(planes_of_vectors(*again, *basis, 2, cols), planes);
      EXPECT_EQ(why_no_vectors(planes, *basis), "");
    }
  }
}

TEST(VectorCodes, OtherNumbersAreNoCodewords) {
  const auto basis = shipped_vector_basis("2x6");
  BitPlanes planes = planes_of_vectors(std::vector<std::uint16_t>(4), *basis, 2, 3);
  planes.set_code(1, 0, 128 + 127);
  planes.set_code(1, 1, 128 - 128);
  EXPECT_FALSE(vectors_of_planes(planes, *basis).has_value());
  EXPECT_EQ(why_no_vectors(planes, *basis), "row 1, columns 0 to 1: no codeword of 2x6");
}

TEST(VectorCodes, SystemIsInNoTableAndHasNoRule) {
  for (const NumberSystem& system : number_systems()) EXPECT_EQ(system.vectors, nullptr);
  const NumberSystem& system = find_system("2x6");
  EXPECT_EQ(&system, &find_system("2x6"));
  EXPECT_EQ(system.name, "2x6");
  EXPECT_EQ(*system.vectors, *shipped_vector_basis("2x6"));
  const std::vector<float> values(8);
  expect_error(ErrorKind::kUsage, "number system '2x6': no rule gives its vectors", [&] {
    encoding_by_rule(system, 8, system.blocks, MatrixView<const float>(values, 1, 8));
  });
}

TEST(VectorCodes, EncodingChecksWhatGoesWithVectors) {
  const MatrixEncoding good = vector_encoding("2x6", 2, 65);
  EXPECT_NO_THROW(good.check(2, 65));
  EXPECT_EQ(system_name(good), "2x6");
  MatrixEncoding single = good;
  single.vectors = nullptr;
  EXPECT_FALSE(single == good);
  EXPECT_EQ(system_name(single), "int");
  MatrixEncoding other = good;
  other.vectors = shipped_vector_basis("2x7");
  EXPECT_FALSE(other == good);
  MatrixEncoding odd = good;
  odd.group_size = 63;
  expect_error(ErrorKind::kShape, "a vector basis: expected int of 8 bits in groups",
               [&] { odd.check(2, 65); });
}

}  // namespace
}  // namespace halftone::numerics
