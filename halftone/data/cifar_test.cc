// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/dataset_testing.h"
#include "halftone/data/idx.h"

namespace halftone::data {
namespace {

TEST(CifarLabels, AreTheFirstByteOfEachRecord) {
  std::vector<std::byte> file(3 * kCifarRecordBytes, std::byte{200});
  for (const std::size_t i : {0u, 1u, 2u}) {
    file[i * kCifarRecordBytes] = static_cast<std::byte>(9 - i);
  }
  EXPECT_THAT(parse_cifar_labels(file), testing::ElementsAre(9, 8, 7));
}

TEST(CifarLabels, RejectPartialRecords) {
  for (const std::size_t size : {std::size_t{0}, kCifarRecordBytes - 1, kCifarRecordBytes + 1}) {
    const std::vector<std::byte> file(size);
    expect_error(ErrorKind::kFormat,
                 "expected whole records of 3073 bytes, found " + std::to_string(size),
                 [&] { parse_cifar_labels(file); });
  }
  std::vector<std::byte> file(2 * kCifarRecordBytes);
  file[kCifarRecordBytes] = std::byte{10};
  expect_error(ErrorKind::kFormat, "record 1: expected a label of 0 to 9, found 10",
               [&] { parse_cifar_labels(file); });
}

}  // namespace
}  // namespace halftone::data
