// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5_contents.h"

#include "halftone/base/testing.h"

namespace halftone::data {
namespace {

const Hdf5Contents kImages = {
    false, 2, {{Scalar::kUInt8, {3, 32, 32}}, {Scalar::kBool, {}}}, {-1, 7}};

TEST(Hdf5Contents, RoundTrip) {
  EXPECT_EQ(decode(encode(kImages)), kImages);
  const Hdf5Contents records = {true, 1'000'000, {{Scalar::kFloat32, {0}}}, {}};
  EXPECT_EQ(decode(encode(records)), records);
}

TEST(Hdf5Contents, FailsOnEveryTruncation) {
  const std::vector<std::uint64_t> numbers = encode(kImages);
  for (std::size_t size = 0; size < numbers.size(); ++size) {
    expect_error(ErrorKind::kFormat, "in the description of a file, found",
                 [&] { decode(std::span(numbers).first(size)); });
  }
}

TEST(Hdf5Contents, RejectsNumbersOutOfRange) {
  const std::vector<std::uint64_t> numbers = encode(kImages);
  // Layout, number of inputs, type, rank, number of labels.
  for (const std::size_t i : {0U, 2U, 3U, 4U, 10U}) {
    std::vector<std::uint64_t> wrong = numbers;
    wrong[i] = ~std::uint64_t{0} - i;
    expect_error(ErrorKind::kFormat, "found " + std::to_string(wrong[i]), [&] { decode(wrong); });
  }
}

}  // namespace
}  // namespace halftone::data
