// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/encoding.h"

#include <limits>
#include <string>

#include "halftone/base/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

void expect_shape_error(const MatrixEncoding& encoding, const std::string& text) {
  expect_error(ErrorKind::kShape, text, [&] { encoding.check(2, 10); });
}

using Case = std::tuple<int, Granularity>;
class Encode : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Sweep, Encode,
                         testing::Combine(testing::Range(1, kMaxBits + 1),
                                          testing::Values(Granularity::kTensor,
                                                          Granularity::kChannel,
                                                          Granularity::kGroup)),
                         [](const auto& test) {
                           return std::string(to_string(std::get<1>(test.param))) +
                                  std::to_string(std::get<0>(test.param));
                         });

// Columns 0 to 130 pass two words; every count that 4 does not divide has a ragged last group.
TEST_P(Encode, GivesEachNumberTheCodeOfItsOwnBasis) {
  const auto [bits, granularity] = GetParam();
  Random random(21);
  for (const std::size_t cols : {0u, 1u, 3u, 4u, 5u, 63u, 64u, 65u, 130u}) {
    const std::size_t rows = 3;
    const MatrixEncoding encoding = random_encoding(random, rows, cols, bits, true, granularity,
                                                    granularity == Granularity::kGroup ? 4 : 0);
    std::vector<float> values(rows * cols);
    for (float& value : values) value = static_cast<float>(2 * random.normal());
    const BitPlanes codes = encode(MatrixView<const float>(values, rows, cols), encoding);
    const std::vector<float> decoded = decode(codes, encoding);
    ASSERT_EQ(decoded.size(), values.size());
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) {
        const std::size_t group = granularity == Granularity::kGroup ? c / 4 : 0;
        const Basis basis = encoding.basis(encoding.block(r, group, cols));
        ASSERT_EQ(codes.code(r, c), LevelTable(basis).encode(values[r * cols + c]));
        ASSERT_EQ(decoded[r * cols + c], basis.value(codes.code(r, c)));
      }
    }
    // Encoding what was decoded changes nothing.
    EXPECT_EQ(decode(encode(MatrixView<const float>(decoded, rows, cols), encoding), encoding),
              decoded);
    BitPlanes cleared = codes;
    cleared.planes.clear_tails();
    EXPECT_EQ(cleared, codes) << "tail bits are set";
  }
}

TEST(MatrixEncoding, OrdersBasesByRowThenGroup) {
  Random random(22);
  const MatrixEncoding encoding = random_encoding(random, 3, 10, 2, true, Granularity::kGroup, 4);
  ASSERT_EQ(encoding.groups_per_row(10), 3u);
  ASSERT_EQ(encoding.num_blocks(), 9u);
  EXPECT_EQ(encoding.block(1, 2, 10), 5u);
  std::vector<std::size_t> visited;
  for_each_block(encoding, 3, 10, [&](auto index, auto row, auto first, auto count) {
    EXPECT_EQ(index, row * 3 + first / 4);
    visited.push_back(count);
  });
  EXPECT_THAT(visited, testing::ElementsAre(4, 4, 2, 4, 4, 2, 4, 4, 2));
}

TEST(MatrixEncoding, TensorEncodingDeclaresItsOffset) {
  EXPECT_TRUE(tensor_encoding(make_basis(std::vector{1.0F}, 2.0F)).has_offset);
  const MatrixEncoding plain = tensor_encoding(make_basis(std::vector{1.0F, 3.0F}));
  EXPECT_FALSE(plain.has_offset);
  EXPECT_EQ(plain.bits, 2);
  plain.check(7, 9);
}

TEST(MatrixEncoding, CheckNamesWhatDoesNotFit) {
  const MatrixEncoding good = tensor_encoding(make_basis(std::vector{1.0F, 2.0F}));
  good.check(2, 10);

  MatrixEncoding bad = good;
  bad.bits = 9;
  expect_shape_error(bad, "expected 1 to 8 bits, found 9");
  bad = good;
  bad.group_size = 4;
  expect_shape_error(bad, "a group size of 4 does not go with granularity tensor");
  bad = good;
  bad.granularity = Granularity::kGroup;
  expect_shape_error(bad, "a group size of 0 does not go with granularity group");
  bad = good;
  bad.granularity = Granularity::kChannel;
  expect_shape_error(bad, "a matrix of 2 x 10 needs 4 coefficients, found 2");
  bad = good;
  bad.bits = 3;
  expect_shape_error(bad, "a matrix of 2 x 10 needs 3 coefficients, found 2");
  bad = good;
  bad.has_offset = true;
  expect_shape_error(bad, "needs 1 offsets, found 0");
  bad = good;
  bad.scales = StoredNumbers::of(std::vector{1.0F, std::numeric_limits<float>::infinity()});
  expect_shape_error(bad, "a scale or offset that is not finite");
  bad = good;
  bad.codebook = std::make_shared<const Codebook>("t", std::vector{-1.0F, 0.0F, 1.0F, 3.0F});
  bad.scales = StoredNumbers::of(std::vector{0.0F});
  expect_shape_error(bad, "scale of block 0: expected a number other than 0");
}

TEST(MatrixEncoding, EncodeAndDecodeRefuseWhatDoesNotFit) {
  MatrixEncoding encoding = tensor_encoding(make_basis(std::vector{1.0F, 2.0F}));
  const std::vector<float> values(4);
  encoding.granularity = Granularity::kChannel;
  EXPECT_THROW(encode(MatrixView<const float>(values, 2, 2), encoding), Error);
  EXPECT_THROW(decode(BitPlanes(2, 2, 2), encoding), Error);
  encoding.granularity = Granularity::kTensor;
  try {
    decode(BitPlanes(2, 2, 3), encoding);
    FAIL() << "codes of other bits accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kShape);
    EXPECT_STREQ(error.what(), "decode: expected codes of 2 bits, found 3");
  }
}

TEST(BitPlanes, RowsHoldTheBitsOfTheCodes) {
  BitPlanes codes(2, 3, 3);
  codes.set_code(1, 2, 0b101);
  EXPECT_TRUE(codes.planes.test(3, 2));
  EXPECT_FALSE(codes.planes.test(4, 2));
  EXPECT_TRUE(codes.planes.test(5, 2));
  codes.set_code(1, 2, 0b010);
  EXPECT_EQ(codes.code(1, 2), 0b010);
  EXPECT_EQ(codes.code(0, 2), 0);
}

}  // namespace
}  // namespace halftone::numerics
