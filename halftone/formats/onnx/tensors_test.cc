// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

TensorProto typed(std::int32_t data_type, std::vector<std::int64_t> dims) {
  TensorProto proto;
  proto.set_data_type(data_type);
  for (const std::int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

void expect_refused(const TensorProto& proto, ErrorKind kind, const std::string& text) {
  try {
    static_cast<void>(decode_tensor(proto, nullptr));
    ADD_FAILURE() << "expected: " << text;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
    EXPECT_EQ(error.kind(), kind);
  }
}

TEST(DecodeTensor, ReadsIntegersOfEveryWidth) {
  const std::vector<std::pair<std::int32_t, ir::ElementType>> types{
      {TensorProto::INT8, ir::ElementType::kInt8},
      {TensorProto::UINT8, ir::ElementType::kUint8},
      {TensorProto::INT16, ir::ElementType::kInt16},
      {TensorProto::UINT16, ir::ElementType::kUint16},
      {TensorProto::INT32, ir::ElementType::kInt32},
      {TensorProto::UINT32, ir::ElementType::kUint32},
      {TensorProto::INT64, ir::ElementType::kInt64},
      {TensorProto::UINT64, ir::ElementType::kUint64}};
  for (const auto& [data_type, element] : types) {
    TensorProto proto = typed(data_type, {2});
    for (const int value : {5, 100}) {
      proto.add_int32_data(value);
      proto.add_int64_data(value);
      proto.add_uint64_data(static_cast<std::uint64_t>(value));
    }
    const ir::Tensor tensor = decode_tensor(proto, nullptr);
    EXPECT_EQ(tensor.element(), element);
    EXPECT_THAT(numbers(tensor), ElementsAre(5, 100)) << data_type_name(data_type);
  }
}

TEST(DecodeTensor, ReadsRawBytesAsLittleEndian) {
  TensorProto proto = typed(TensorProto::INT16, {2});
  proto.set_raw_data(std::string("\x01\x02\xff\xff", 4));
  EXPECT_THAT(numbers(decode_tensor(proto, nullptr)), ElementsAre(0x201, -1));
}

TEST(DecodeTensor, UnpacksFourBits) {
  TensorProto proto = typed(TensorProto::INT4, {3});
  proto.set_raw_data(std::string("\x81\x0f", 2));
  EXPECT_THAT(numbers(decode_tensor(proto, nullptr)), ElementsAre(1, -8, -1));
  proto.set_data_type(TensorProto::UINT4);
  EXPECT_THAT(numbers(decode_tensor(proto, nullptr)), ElementsAre(1, 8, 15));
}

TEST(DecodeTensor, BooleansAreZeroOrOne) {
  TensorProto proto = typed(TensorProto::BOOL, {3});
  proto.set_raw_data(std::string("\x00\x01\x07", 3));
  const ir::Tensor tensor = decode_tensor(proto, nullptr);
  EXPECT_EQ(tensor.element(), ir::ElementType::kBool);
  EXPECT_THAT(numbers(tensor), ElementsAre(0, 1, 1));
}

TEST(DecodeTensor, DataThatDoNotMatchTheExtentsAreRefused) {
  TensorProto raw = typed(TensorProto::FLOAT, {3});
  raw.set_raw_data("12345678");
  expect_refused(raw, ErrorKind::kFormat,
                 "bytes of raw data: expected 12 for these extents, found 8");
  TensorProto fields = typed(TensorProto::FLOAT, {1});
  fields.add_float_data(1);
  fields.add_float_data(2);
  expect_refused(fields, ErrorKind::kFormat, "elements: expected 1 for these extents, found 2");
  expect_refused(typed(TensorProto::FLOAT, {-1}), ErrorKind::kFormat, "expected extents >= 0");
  expect_refused(typed(TensorProto::FLOAT, std::vector<std::int64_t>(33, 1)),
                 ErrorKind::kUnsupported, "expected at most 32 axes, found 33");
  TensorProto range = typed(TensorProto::INT8, {1});
  range.add_int32_data(300);
  expect_refused(range, ErrorKind::kFormat, "element 300 is out of range");
}

TEST(DecodeTensor, TypesThatAreNotNumbersAreRefused) {
  expect_refused(typed(TensorProto::STRING, {0}), ErrorKind::kUnsupported,
                 "elements of type string");
  expect_refused(typed(99, {0}), ErrorKind::kUnsupported, "data type 99");
  TensorProto segment = typed(TensorProto::FLOAT, {0});
  segment.mutable_segment()->set_begin(0);
  expect_refused(segment, ErrorKind::kUnsupported, "segmented tensors");
}

TEST(EncodeTensor, IsTheInverseOfDecode) {
  for (const auto element :
       {ir::ElementType::kFloat32, ir::ElementType::kInt8, ir::ElementType::kUint8,
        ir::ElementType::kInt32, ir::ElementType::kInt64, ir::ElementType::kBool}) {
    const ir::Tensor original = random_tensor({3, 5}, 7).cast(element);
    const ir::Tensor decoded = decode_tensor(encode_tensor(original), nullptr);
    EXPECT_EQ(decoded.type(), original.type());
    EXPECT_TRUE(std::ranges::equal(decoded.bytes(), original.bytes()));
  }
}

TEST(EncodeCompact, TakesHalfTheBytesWhereNothingIsLost) {
  const TensorProto exact = encode_compact(floats({2}, {0.5F, -1024}));
  EXPECT_EQ(exact.data_type(), TensorProto::FLOAT16);
  EXPECT_EQ(exact.raw_data().size(), 4U);
  EXPECT_THAT(numbers(decode_tensor(exact, nullptr)), ElementsAre(0.5F, -1024));
  const TensorProto inexact = encode_compact(floats({2}, {0.1F, 1}));
  EXPECT_EQ(inexact.data_type(), TensorProto::FLOAT);
  EXPECT_THAT(numbers(decode_tensor(inexact, nullptr)), ElementsAre(0.1F, 1));
}

}  // namespace
}  // namespace halftone::formats::onnx
