// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/cifar.h"

#include <string>

#include "halftone/base/error.h"

namespace halftone::data {

std::vector<std::int64_t> parse_cifar_labels(std::span<const std::byte> file) {
  constexpr int kNumClasses = 10;
  if (file.empty() || file.size() % kCifarRecordBytes != 0) {
    fail(ErrorKind::kFormat, "CIFAR-10: expected whole records of 3073 bytes, found " +
                                 std::to_string(file.size()) + " bytes");
  }
  std::vector<std::int64_t> labels(file.size() / kCifarRecordBytes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const int label = std::to_integer<int>(file[i * kCifarRecordBytes]);
    if (label >= kNumClasses) {
      fail(ErrorKind::kFormat, "CIFAR-10: record " + std::to_string(i) +
                                   ": expected a label of 0 to 9, found " + std::to_string(label));
    }
    labels[i] = label;
  }
  return labels;
}

}  // namespace halftone::data
