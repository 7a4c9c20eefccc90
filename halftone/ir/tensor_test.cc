// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/tensor.h"

#include <limits>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::expect_error;
using test::floats;
using test::tensor;
using testing::ElementsAre;

constexpr ElementType kAllTypes[] = {ElementType::kFloat32, ElementType::kInt8,
                                     ElementType::kUint8,   ElementType::kInt32,
                                     ElementType::kInt64,   ElementType::kBool};

TEST(Tensor, StartsAsZerosOfItsShape) {
  for (const ElementType type : kAllTypes) {
    const Tensor zeros(type, {2, 3});
    EXPECT_EQ(zeros.type(), dense_type(type, {2, 3}));
    EXPECT_EQ(zeros.size(), 6u);
    EXPECT_EQ(zeros.bytes().size(), 6 * size_bytes(type));
    for (const std::byte byte : zeros.bytes()) EXPECT_EQ(byte, std::byte{0});
  }
  EXPECT_EQ(Tensor(ElementType::kFloat32, {}).size(), 1u);
  EXPECT_EQ(Tensor(ElementType::kFloat32, {0, 5}).size(), 0u);
  EXPECT_EQ(Tensor().size(), 0u);
}

TEST(Tensor, RejectsImpossibleShapes) {
  expect_error(ErrorKind::kShape, "found the batch", [] {
    Tensor(ElementType::kFloat32, {kBatch, 2});
  });
  expect_error(ErrorKind::kShape, "2^40", [] { Tensor(ElementType::kInt8, {Dim{1} << 62}); });
  expect_error(ErrorKind::kShape, "tensor of shape [2, 2]: expected 4 elements, found 3", [] {
    floats({2, 2}, {1, 2, 3});
  });
  expect_error(ErrorKind::kShape, "tensor of shape [4]: expected 4 elements, found 3", [] {
    (void)floats({3}, {1, 2, 3}).reshaped({4});
  });
}

TEST(Tensor, RejectsFloat64) {
  const std::string text = "elements of float64: convert them to float32";
  expect_error(ErrorKind::kUnsupported, text, [] { Tensor(ElementType::kFloat64, {2}); });
  expect_error(ErrorKind::kUnsupported, text,
               [] { (void)floats({1}, {2}).cast(ElementType::kFloat64); });
}

TEST(Tensor, ElementsAreReadWithTheirType) {
  for (const ElementType type : kAllTypes) {
    const Tensor zeros(type, {1});
    const std::string text = "found " + std::string(to_string(type));
    if (type != ElementType::kInt32) {
      expect_error(ErrorKind::kInternal, "tensor: expected elements of int32, " + text,
                   [&] { (void)zeros.as<std::int32_t>(); });
    }
  }
  Tensor flags(ElementType::kBool, {2});
  flags.as<std::uint8_t>()[1] = 1;
  EXPECT_THAT(elements<std::uint8_t>(flags), ElementsAre(0, 1));
}

TEST(Tensor, CopiesAreIndependent) {
  Tensor original = floats({2, 2}, {1, 2, 3, 4});
  const Tensor copy = original.clone();
  const Tensor flat = original.reshaped({4});
  original.as<float>()[0] = 9;
  EXPECT_THAT(elements<float>(copy), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(copy.shape(), (Shape{2, 2}));
  EXPECT_THAT(elements<float>(flat), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(flat.shape(), Shape{4});
}

TEST(Cast, OfFloatsTruncatesAndSaturates) {
  const Tensor x = floats({8}, {-1e30F, -1.9F, -0.5F, 2.9F, 1e30F, kInfinity, -kInfinity, kNan});
  EXPECT_THAT(elements<std::int8_t>(x.cast(ElementType::kInt8)),
              ElementsAre(-128, -1, 0, 2, 127, 127, -128, 0));
  EXPECT_THAT(elements<std::uint8_t>(x.cast(ElementType::kUint8)),
              ElementsAre(0, 0, 0, 2, 255, 255, 0, 0));
  using Limit32 = std::numeric_limits<std::int32_t>;
  EXPECT_THAT(
      elements<std::int32_t>(x.cast(ElementType::kInt32)),
      ElementsAre(Limit32::min(), -1, 0, 2, Limit32::max(), Limit32::max(), Limit32::min(), 0));
  using Limit64 = std::numeric_limits<std::int64_t>;
  EXPECT_THAT(
      elements<std::int64_t>(x.cast(ElementType::kInt64)),
      ElementsAre(Limit64::min(), -1, 0, 2, Limit64::max(), Limit64::max(), Limit64::min(), 0));
  EXPECT_THAT(elements<std::uint8_t>(x.cast(ElementType::kBool)),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(elements<std::uint8_t>(floats({2}, {0.0F, -0.0F}).cast(ElementType::kBool)),
              ElementsAre(0, 0));
}

TEST(Cast, OfIntegersIsExactOrSaturates) {
  using Limit = std::numeric_limits<std::int64_t>;
  const Tensor x =
      tensor<std::int64_t>({6}, {Limit::min(), Limit::min() + 1, -129, 128, Limit::max() - 1, 256});
  EXPECT_EQ(elements<std::int64_t>(x.cast(ElementType::kInt64)), elements<std::int64_t>(x));
  EXPECT_THAT(elements<std::int8_t>(x.cast(ElementType::kInt8)),
              ElementsAre(-128, -128, -128, 127, 127, 127));
  EXPECT_THAT(elements<std::uint8_t>(x.cast(ElementType::kUint8)),
              ElementsAre(0, 0, 0, 128, 255, 255));
  EXPECT_THAT(elements<std::uint8_t>(x.cast(ElementType::kBool)), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(elements<float>(tensor<std::int32_t>({2}, {-7, 1 << 24}).cast(ElementType::kFloat32)),
              ElementsAre(-7.0F, 16777216.0F));
}

TEST(Cast, OfSixteenBitsRoundsToNearest) {
  const Tensor x = floats({4}, {1 + 0x1p-11F, -2, 70000, 0x1p-26F});
  const Tensor half = x.cast(ElementType::kFloat16);
  EXPECT_EQ(half.bytes().size(), 8U);
  EXPECT_THAT(elements<float>(half.cast(ElementType::kFloat32)), ElementsAre(1, -2, kInfinity, 0));
  const Tensor brain = x.cast(ElementType::kBfloat16);
  EXPECT_THAT(elements<float>(brain.cast(ElementType::kFloat32)),
              ElementsAre(1, -2, 70144, 0x1p-26F));
  EXPECT_THAT(elements<std::int8_t>(half.cast(ElementType::kInt8)), ElementsAre(1, -2, 127, 0));
  EXPECT_THAT(
      elements<float>(
          half.cast(ElementType::kInt8).cast(ElementType::kFloat16).cast(ElementType::kFloat32)),
      ElementsAre(1, -2, 127, 0));
}

TEST(Encoding, ComparesBasesByValue) {
  const Encoding dense{ElementType::kFloat32, nullptr};
  const Encoding odd{ElementType::kFloat32, test::odd_encoding()};
  const Encoding same{ElementType::kFloat32, test::odd_encoding()};
  const Encoding other{ElementType::kFloat32,
                       std::make_shared<const numerics::MatrixEncoding>(
                           numerics::tensor_encoding(numerics::symmetric_basis(2, 8)))};
  EXPECT_EQ(odd, same);
  EXPECT_NE(odd, dense);
  EXPECT_NE(odd, other);
  EXPECT_NE(dense, (Encoding{ElementType::kInt8, nullptr}));
}

TEST(Encoding, TextTellsBitsGranularityAndOffset) {
  EXPECT_EQ((ValueType{{kBatch, 784}, {}}).to_string(), "float32[N, 784]");
  numerics::MatrixEncoding basis = *test::odd_encoding();
  const auto text = [&] {
    return Encoding{ElementType::kFloat32, std::make_shared<const numerics::MatrixEncoding>(basis)}
        .to_string();
  };
  EXPECT_EQ(text(), "basis(2 bits, tensor)");
  basis.bits = 1;
  basis.granularity = numerics::Granularity::kGroup;
  basis.group_size = 32;
  basis.has_offset = true;
  EXPECT_EQ(text(), "basis(1 bit, groups of 32, offset)");
}

EncodedTensor encoded_tensor() {
  const std::vector<float> values = {-3, -1, 1, 3, 3, 1};
  EncodedTensor encoded{{2, 3}, test::odd_encoding(), {}};
  encoded.codes = numerics::encode(MatrixView<const float>(values, 2, 3), *encoded.encoding);
  return encoded;
}

TEST(Constant, DecodesToTheLevels) {
  const Constant encoded = encoded_tensor();
  EXPECT_EQ(type_of(encoded).to_string(), "basis(2 bits, tensor)[2, 3]");
  EXPECT_THAT(elements<float>(to_float(encoded)), ElementsAre(-3, -1, 1, 3, 3, 1));
  EXPECT_EQ(to_float(encoded).shape(), (Shape{2, 3}));
  // Two rows of two planes of one byte, two coefficients.
  // Stored as binary16.
  EXPECT_EQ(storage_bytes(encoded), 2u * 2 * 1 + 2 * 2);
}

TEST(Constant, OffsetsCountAsStorage) {
  EncodedTensor encoded = encoded_tensor();
  numerics::MatrixEncoding basis = *encoded.encoding;
  basis.has_offset = true;
  basis.offsets = numerics::StoredNumbers::of(std::vector{0x1.0001p0F});  // no binary16
  encoded.encoding = std::make_shared<const numerics::MatrixEncoding>(basis);
  EXPECT_EQ(storage_bytes(encoded), 2u * 2 * 1 + 2 * 2 + 4);
}

TEST(Constant, DenseNumbersConvertToFloat) {
  const Constant integers = tensor<std::int8_t>({2}, {-5, 7});
  EXPECT_THAT(elements<float>(to_float(integers)), ElementsAre(-5, 7));
  EXPECT_EQ(storage_bytes(integers), 2u);
  const Constant flags = Tensor(ElementType::kBool, {3});
  expect_error(ErrorKind::kUnsupported, "expected float32 or integers, found bool[3]",
               [&] { (void)to_float(flags); });
}

}  // namespace
}  // namespace halftone::ir
