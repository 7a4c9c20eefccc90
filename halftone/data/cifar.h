// SPDX-License-Identifier: Apache-2.0
// CIFAR-10's binary records, 3073 bytes each:
//
//     label | 1024 red | 1024 green | 1024 blue, each plane 32 rows of 32 bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halftone::data {

inline constexpr std::size_t kCifarRecordBytes = 3073;

/// The labels of a file of CIFAR-10 records, one per record.
/// @throws Error kFormat if the file is empty, ends inside a record, or has a label above 9
std::vector<std::int64_t> parse_cifar_labels(std::span<const std::byte> file);

}  // namespace halftone::data
