// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/scalar.h"

#include <array>
#include <limits>

#include "halftone/data/dataset_testing.h"

namespace halftone::data {
namespace {

template <typename T>
void expect_conversion(Scalar type, std::vector<T> numbers) {
  ASSERT_EQ(size_bytes(type), sizeof(T));
  std::vector<float> floats(numbers.size());
  to_floats(type, std::as_bytes(std::span(numbers)), floats);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(floats[i], static_cast<float>(numbers[i])) << to_string(type);
  }
  if (!is_integer(type)) return;
  std::vector<std::int64_t> integers(numbers.size());
  to_integers(type, std::as_bytes(std::span(numbers)), integers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(integers[i], static_cast<std::int64_t>(numbers[i])) << to_string(type);
  }
}

TEST(Scalar, ConvertsEveryType) {
  expect_conversion<float>(Scalar::kFloat32, {-1.5F, 3e38F});
  expect_conversion<double>(Scalar::kFloat64, {0.1, -1e300});
  expect_conversion<std::int8_t>(Scalar::kInt8, {-128, 127});
  expect_conversion<std::int16_t>(Scalar::kInt16, {-32768, 32767});
  expect_conversion<std::int32_t>(Scalar::kInt32, {-2147483647, 16777217});
  expect_conversion<std::int64_t>(Scalar::kInt64, {std::numeric_limits<std::int64_t>::min(), 5});
  expect_conversion<std::uint8_t>(Scalar::kUInt8, {0, 255});
  expect_conversion<std::uint16_t>(Scalar::kUInt16, {0, 65535});
  expect_conversion<std::uint32_t>(Scalar::kUInt32, {0, 4294967295U});
  expect_conversion<std::uint64_t>(Scalar::kUInt64, {0, std::uint64_t{1} << 62});
}

TEST(Scalar, HalfAndBoolAreBitPatterns) {
  const std::array<std::uint16_t, 2> halves = {0x3c00, 0xc100};
  std::array<float, 2> floats{};
  to_floats(Scalar::kFloat16, std::as_bytes(std::span(halves)), floats);
  EXPECT_THAT(floats, testing::ElementsAre(1.0F, -2.5F));
  const std::array truths = {std::byte{0}, std::byte{7}};
  to_floats(Scalar::kBool, truths, floats);
  EXPECT_THAT(floats, testing::ElementsAre(0.0F, 1.0F));
  std::array<std::int64_t, 2> integers{};
  to_integers(Scalar::kBool, truths, integers);
  EXPECT_THAT(integers, testing::ElementsAre(0, 1));
}

TEST(Scalar, RejectsImpossibleConversions) {
  std::array<float, 2> floats{};
  std::array<std::int64_t, 1> integers{};
  const std::vector<std::byte> bytes(8, std::byte{0xff});
  expect_error(ErrorKind::kShape, "expected 2 numbers of type float64, found 8 bytes",
               [&] { to_floats(Scalar::kFloat64, bytes, floats); });
  expect_error(ErrorKind::kShape, "expected 1 numbers of type int32, found 8 bytes",
               [&] { to_integers(Scalar::kInt32, bytes, integers); });
  expect_error(ErrorKind::kFormat, "expected integers, found float64",
               [&] { to_integers(Scalar::kFloat64, bytes, integers); });
  expect_error(ErrorKind::kFormat, "at most 2^63 - 1, found 18446744073709551615",
               [&] { to_integers(Scalar::kUInt64, bytes, integers); });
}

}  // namespace
}  // namespace halftone::data
