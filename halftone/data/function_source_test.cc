// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/function_source.h"

#include <cstring>
#include <numeric>
#include <stdexcept>

#include "halftone/base/testing.h"

namespace halftone::data {
namespace {

using testing::ElementsAre;

/// Sample i has the elements 2 i and 2 i + 1, as T.
template <typename T>
SampleReader counting(Scalar type) {
  SampleReader function;
  function.extents = {2};
  function.type = type;
  function.read = [](std::size_t first, std::size_t count, void* elements) {
    std::vector<T> values(2 * count);
    std::iota(values.begin(), values.end(), static_cast<T>(2 * first));
    std::memcpy(elements, values.data(), values.size() * sizeof(T));
  };
  return function;
}

TEST(SamplesOfFunctions, AreConvertedAsThoseOfFiles) {
  std::vector<float> values(4);
  const Dataset floats = dataset_from_functions("f", 9, {counting<float>(Scalar::kFloat32)}, {});
  floats.read(0, 3, 2, values);
  EXPECT_THAT(values, ElementsAre(6, 7, 8, 9));
  const Dataset pixels =
      dataset_from_functions("p", 9, {counting<std::uint8_t>(Scalar::kUInt8)}, {}, {.scale = 0.5});
  pixels.read(0, 3, 2, values);
  EXPECT_THAT(values, ElementsAre(3, 3.5, 4, 4.5));
  std::vector<std::int64_t> integers(4);
  const Dataset indices =
      dataset_from_functions("i", 9, {counting<std::int32_t>(Scalar::kInt32)}, {});
  indices.read_integers(0, 3, 2, integers);
  EXPECT_THAT(integers, ElementsAre(6, 7, 8, 9));
  expect_error(ErrorKind::kFormat, "f: ", [&] { floats.read_integers(0, 3, 2, integers); });
}

TEST(SamplesOfFunctions, MayBeFewer) {
  const Dataset all = dataset_from_functions("f", 9, {counting<float>(Scalar::kFloat32)},
                                             {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Dataset few = all.first(4);
  EXPECT_EQ(few.size(), 4U);
  EXPECT_EQ(few.label(3), 4);
  EXPECT_EQ(all.size(), 9U);
  EXPECT_EQ(all.first(100).size(), 9U);
  std::vector<float> values(2);
  few.read(0, 3, 1, values);
  EXPECT_THAT(values, ElementsAre(6, 7));
  expect_error(ErrorKind::kShape, "found 4 samples", [&] { few.read(0, 4, 1, values); });
  expect_error(ErrorKind::kUsage, "limit: expected at least 1, found 0",
               [&] { (void)all.first(0); });
}

TEST(SamplesOfFunctions, AreCheckedBeforeTheyAreRead) {
  expect_error(ErrorKind::kUsage, "f: expected a function, found none",
               [] { (void)dataset_from_functions("f", 1, {}, {}); });
  expect_error(ErrorKind::kUsage, "f: expected a function, found an empty one",
               [] { (void)dataset_from_functions("f", 1, {SampleReader{}}, {}); });
  SampleReader named = counting<float>(Scalar::kFloat32);
  named.input = "a";
  expect_error(ErrorKind::kUsage, "expected a name for every input or for none", [&] {
    (void)dataset_from_functions("f", 1, {named, counting<float>(Scalar::kFloat32)}, {});
  });
  expect_error(ErrorKind::kFormat, "expected samples, found none", [] {
    (void)dataset_from_functions("f", 0, {counting<float>(Scalar::kFloat32)}, {});
  });
  SampleReader breaks = counting<float>(Scalar::kFloat32);
  breaks.read = [](std::size_t, std::size_t, void*) { throw std::out_of_range("mine"); };
  std::vector<float> values(2);
  EXPECT_THROW(dataset_from_functions("f", 1, {breaks}, {}).read(0, 0, 1, values),
               std::out_of_range);
}

}  // namespace
}  // namespace halftone::data
