// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/array.hpp"

#include <cstdint>
#include <vector>

#include "halftone/base/testing.h"

namespace halftone::spmd {
namespace {

using testing::ElementsAre;

TEST(Array, DefaultIsEmpty) {
  const Array array;
  EXPECT_EQ(array.type(), "float32[0]");
  EXPECT_TRUE(array.as<float>().empty());
}

TEST(Array, HoldsWhatItIsMadeOf) {
  EXPECT_THAT(Array::of({2.0, 3.0}).as<double>(), ElementsAre(2, 3));
  EXPECT_EQ(Array::scalar(std::int64_t{7}).item<std::int64_t>(), 7);
  EXPECT_EQ(Array::scalar(std::int64_t{7}).type(), "int64[]");
  const Array range = Array::range<std::int32_t>({2, 3});
  EXPECT_EQ(range.type(), "int32[2, 3]");
  EXPECT_THAT(range.as<std::int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Array, IsAligned) {
  const Array array = Array::range<float>({3});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.bytes().data()) % 64, 0u);
}

TEST(Array, RejectsOtherElements) {
  expect_error(ErrorKind::kUnsupported, "unknown element type",
               [] { (void)draft(static_cast<ElementType>(9), {2}); });
}

TEST(Array, CopiesAndPartsAlongTheFirstAxisShareMemory) {
  const Array array = Array::range<float>({4, 2});
  const Array copy = array;
  EXPECT_EQ(copy.bytes().data(), array.bytes().data());
  EXPECT_EQ(array.slice(0, 1).as<float>().data(), array.as<float>().data() + 2);
  EXPECT_EQ(array.part(0, 2, 2).as<float>().data(), array.as<float>().data() + 4);
}

TEST(Array, WrapsForeignMemoryAndKeepsItAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  const float* data = owner->data();
  const Array array = Array::wrap<float>({2}, *owner, owner);
  owner.reset();
  EXPECT_EQ(array.as<float>().data(), data);
  EXPECT_THAT(array.as<float>(), ElementsAre(1, 2));
}

TEST(Array, CutsAlongEveryAxis) {
  const Array array = Array::range<std::int32_t>({2, 3, 2});
  EXPECT_THAT(array.slice(1, 2).as<std::int32_t>(), ElementsAre(4, 5, 10, 11));
  EXPECT_EQ(array.slice(1, 2).type(), "int32[2, 2]");
  EXPECT_THAT(array.part(2, 1, 1).as<std::int32_t>(), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_EQ(array.part(2, 1, 1).type(), "int32[2, 3, 1]");
  EXPECT_EQ(array.part(1, 3, 0).type(), "int32[2, 0, 2]");
}

TEST(Array, StackIsTheInverseOfSlice) {
  const Array array = Array::range<double>({2, 3, 4});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<Array> slices;
    for (std::int64_t i = 0; i < array.shape()[axis]; ++i) slices.push_back(array.slice(axis, i));
    const Array again = stack(slices, axis);
    EXPECT_TRUE(again.same_type(array)) << again.type();
    EXPECT_TRUE(std::ranges::equal(again.bytes(), array.bytes())) << axis;
  }
}

TEST(Array, ConcatenateIsTheInverseOfPart) {
  const Array array = Array::range<float>({3, 5, 2});
  const std::vector<Array> parts{array.part(1, 0, 2), array.part(1, 2, 0), array.part(1, 2, 3)};
  const Array again = concatenate(parts, 1);
  EXPECT_TRUE(again.same_type(array)) << again.type();
  EXPECT_TRUE(std::ranges::equal(again.bytes(), array.bytes()));
}

TEST(Array, NamesWhatDoesNotFit) {
  const Array array = Array::range<float>({2, 3});
  expect_error(ErrorKind::kUsage, "float32[2, 3]: expected int32 elements",
               [&] { static_cast<void>(array.as<std::int32_t>()); });
  expect_error(ErrorKind::kUsage, "float32[2, 3]: expected exactly one element",
               [&] { static_cast<void>(array.item<float>()); });
  expect_error(ErrorKind::kShape, "cannot reshape float32[2, 3] to [7]",
               [&] { static_cast<void>(array.reshaped({7})); });
  expect_error(ErrorKind::kShape, "float32[2, 3] has no axis 2",
               [&] { static_cast<void>(array.slice(2, 0)); });
  expect_error(ErrorKind::kShape, "entries 3 to 4 along axis 1 are out of range for float32[2, 3]",
               [&] { static_cast<void>(array.slice(1, 3)); });
  expect_error(ErrorKind::kShape, "float32[3]: expected 3 values, found 2", [] {
    const std::vector<float> two(2);
    Array::from<float>({3}, two);
  });
  for (const Shape& shape : {Shape{-1}, Shape{std::int64_t{1} << 41}, Shape{1 << 21, 1 << 21}}) {
    expect_error(ErrorKind::kShape, "at most 2^40 elements", [&] { Array::range<float>(shape); });
  }
}

TEST(Array, NamesWhatCannotBeStackedOrConcatenated) {
  const std::vector<Array> arrays{Array::range<float>({2}), Array::range<float>({3})};
  expect_error(ErrorKind::kShape, "stack: float32[2] and float32[3] differ",
               [&] { stack(arrays); });
  expect_error(ErrorKind::kShape, "stack: expected at least one array, found none",
               [] { stack({}); });
  expect_error(ErrorKind::kShape, "stack: axis 2 is out of range for float32[2]",
               [&] { stack(arrays, 2); });
  const std::vector<Array> types{Array::range<float>({2}), Array::range<double>({2})};
  expect_error(ErrorKind::kShape,
               "concatenation: float32[2] and float64[2] do not fit along axis 0",
               [&] { concatenate(types); });
  expect_error(ErrorKind::kShape, "concatenation: expected at least one array, found none",
               [] { concatenate({}); });
  expect_error(ErrorKind::kShape, "float32[2] has no axis 1", [&] { concatenate(types, 1); });
}

}  // namespace
}  // namespace halftone::spmd
