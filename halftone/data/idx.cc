// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/idx.h"

#include <algorithm>
#include <string>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/gzip/gzip.h"

namespace halftone::data {
namespace {

/// Upper bound of the bytes that a file may state, packed or not.
constexpr std::size_t kMaxBytes = std::size_t{1} << 34;

std::vector<std::size_t> parse_header(ByteReader& reader, std::size_t rank) {
  const auto magic = reader.big_endian<std::uint32_t>();
  const std::uint32_t expected = 0x0800 + static_cast<std::uint32_t>(rank);
  if (magic != expected) {
    fail(ErrorKind::kFormat, "IDX: expected magic number " + std::to_string(expected) +
                                 " (unsigned bytes, rank " + std::to_string(rank) + "), found " +
                                 std::to_string(magic));
  }
  std::vector<std::size_t> shape(rank);
  for (std::size_t& extent : shape) extent = reader.big_endian<std::uint32_t>();
  return shape;
}

/// Bytes of one item along the first extent.
std::size_t item_bytes(const std::vector<std::size_t>& shape) {
  std::size_t bytes = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] == 0 || bytes > kMaxBytes / shape[i]) {
      fail(ErrorKind::kFormat, "IDX: an extent of " + std::to_string(shape[i]) +
                                   ": expected items of 1 byte to 16 GiB");
    }
    bytes *= shape[i];
  }
  if (shape[0] > kMaxBytes / bytes) {
    fail(ErrorKind::kFormat, "IDX: expected at most 16 GiB, found " + std::to_string(shape[0]) +
                                 " items of " + std::to_string(bytes) + " bytes");
  }
  return bytes;
}

}  // namespace

IdxArray parse_idx(const SharedBytes& file, std::size_t rank, std::optional<std::size_t> limit) {
  const std::size_t header_bytes = 4 + 4 * rank;
  const bool packed = is_gzip(file.bytes);
  const SharedBytes head = packed ? own_bytes(gunzip(file.bytes, header_bytes)) : file;
  ByteReader reader(head.bytes);
  IdxArray array{parse_header(reader, rank), {}};
  const std::size_t one = item_bytes(array.shape);
  const std::size_t promised = header_bytes + array.shape[0] * one;
  const bool cut = limit && *limit < array.shape[0];
  const std::size_t wanted = cut ? header_bytes + *limit * one : promised;
  // One extra byte shows whether the stream ends there.
  const SharedBytes whole =
      packed ? own_bytes(gunzip(file.bytes, cut ? wanted : wanted + 1)) : file;
  const std::size_t found = whole.bytes.size();
  const bool fits = packed && cut ? found == wanted : found == promised;
  if (!fits) {
    fail(ErrorKind::kFormat, "IDX: the header promises " + std::to_string(promised) +
                                 " bytes, found " +
                                 (packed && found > promised ? "more" : std::to_string(found)));
  }
  array.data = {whole.owner, whole.bytes.subspan(header_bytes, wanted - header_bytes)};
  return array;
}

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
