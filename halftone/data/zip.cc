// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/zip.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/gzip/gzip.h"

namespace halftone::data {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint32_t kLongDirectoryEnd = 0x06064b50;
constexpr std::uint32_t kLongDirectoryLocator = 0x07064b50;
constexpr std::size_t kDirectoryEndBytes = 22;
constexpr std::size_t kLocatorBytes = 20;
/// Marks a number that is stored in 64 bits elsewhere.
constexpr std::uint32_t kElsewhere = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void fail_zip(const std::string& message) {
  fail(ErrorKind::kFormat, "zip: " + message);
}

Bytes part_of(Bytes bytes, std::uint64_t offset, std::uint64_t count) {
  if (offset > bytes.size() || count > bytes.size() - offset) {
    fail_zip("expected " + std::to_string(count) + " bytes at offset " + std::to_string(offset) +
             ", found a file of " + std::to_string(bytes.size()) + " bytes");
  }
  return bytes.subspan(offset, count);
}

bool has_signature(Bytes bytes, std::size_t offset, std::uint32_t signature) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(signature)) return false;
  return ByteReader(bytes.subspan(offset)).little_endian<std::uint32_t>() == signature;
}

/// Offset of the record at the end of the file, which only a comment of up to 65,535 bytes follows.
std::size_t find_directory_end(Bytes bytes) {
  for (std::size_t comment = 0; comment <= 0xffff; ++comment) {
    if (bytes.size() < kDirectoryEndBytes + comment) break;
    const std::size_t offset = bytes.size() - kDirectoryEndBytes - comment;
    if (has_signature(bytes, offset, kDirectoryEnd)) return offset;
  }
  fail_zip("expected an archive, found none: the file is truncated or of another kind");
}

/// The directory of an archive whose numbers need 64 bits.
Bytes long_directory(Bytes bytes, std::size_t locator_offset) {
  ByteReader locator(bytes.subspan(locator_offset, kLocatorBytes));
  locator.take(8);  // signature and volume
  ByteReader end(part_of(bytes, locator.little_endian<std::uint64_t>(), 56));
  if (end.little_endian<std::uint32_t>() != kLongDirectoryEnd) {
    fail_zip("expected the end of the directory where its locator says, found none");
  }
  end.take(36);  // sizes, versions, volumes, counts
  const auto size = end.little_endian<std::uint64_t>();
  return part_of(bytes, end.little_endian<std::uint64_t>(), size);
}

Bytes directory_of(Bytes bytes) {
  const std::size_t offset = find_directory_end(bytes);
  if (offset >= kLocatorBytes &&
      has_signature(bytes, offset - kLocatorBytes, kLongDirectoryLocator)) {
    return long_directory(bytes, offset - kLocatorBytes);
  }
  ByteReader end(bytes.subspan(offset, kDirectoryEndBytes));
  end.take(4);  // signature
  if (end.little_endian<std::uint16_t>() != 0) {
    fail(ErrorKind::kUnsupported, "zip: archives of several volumes are not supported");
  }
  end.take(6);  // volume, counts
  const auto size = end.little_endian<std::uint32_t>();
  return part_of(bytes, end.little_endian<std::uint32_t>(), size);
}

/// What the directory says of an entry.
struct ZipFacts {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< of the local header
  std::string name;
};

/// Replaces the numbers that are stored in 64 bits, in the extra field 1.
void read_long_numbers(ZipFacts& facts, Bytes extra) {
  constexpr std::uint16_t kLongNumbers = 1;
  ByteReader reader(extra);
  while (reader.remaining() >= 4) {
    const auto id = reader.little_endian<std::uint16_t>();
    ByteReader field(reader.take(reader.little_endian<std::uint16_t>()));
    if (id != kLongNumbers) continue;
    for (std::uint64_t* number : {&facts.bytes, &facts.packed_bytes, &facts.offset}) {
      if (*number == kElsewhere) *number = field.little_endian<std::uint64_t>();
    }
  }
}

ZipFacts next_entry(ByteReader& directory) {
  if (directory.little_endian<std::uint32_t>() != kDirectoryEntry) {
    fail_zip("expected an entry in the directory, found something else");
  }
  ZipFacts facts;
  directory.take(4);  // versions
  facts.flags = directory.little_endian<std::uint16_t>();
  facts.method = directory.little_endian<std::uint16_t>();
  directory.take(4);  // time and date
  facts.checksum = directory.little_endian<std::uint32_t>();
  facts.packed_bytes = directory.little_endian<std::uint32_t>();
  facts.bytes = directory.little_endian<std::uint32_t>();
  const auto name_bytes = directory.little_endian<std::uint16_t>();
  const auto extra_bytes = directory.little_endian<std::uint16_t>();
  const auto comment_bytes = directory.little_endian<std::uint16_t>();
  directory.take(8);  // volume and attributes
  facts.offset = directory.little_endian<std::uint32_t>();
  const Bytes name = directory.take(name_bytes);
  facts.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  read_long_numbers(facts, directory.take(extra_bytes));
  directory.take(comment_bytes);
  return facts;
}

/// The bytes of an entry as the file holds them.
Bytes packed_bytes(Bytes file, const ZipFacts& facts) {
  constexpr std::size_t kHeaderBytes = 30;
  ByteReader header(part_of(file, facts.offset, kHeaderBytes));
  if (header.little_endian<std::uint32_t>() != kLocalHeader) {
    fail_zip("expected an entry where the directory says, found none");
  }
  header.take(22);  // repeats the directory
  const std::size_t before = kHeaderBytes + header.little_endian<std::uint16_t>();
  const std::size_t all = before + header.little_endian<std::uint16_t>();
  part_of(file, facts.offset, all);
  return part_of(file, facts.offset + all, facts.packed_bytes);
}

SharedBytes entry_bytes(const SharedBytes& file, const ZipFacts& facts) {
  constexpr std::uint16_t kStored = 0;
  constexpr std::uint16_t kDeflated = 8;
  constexpr std::uint16_t kEncrypted = 1;
  if ((facts.flags & kEncrypted) != 0) fail(ErrorKind::kUnsupported, "zip: is encrypted");
  const Bytes packed = packed_bytes(file.bytes, facts);
  if (facts.method == kStored) {
    if (facts.bytes != facts.packed_bytes) {
      fail_zip("expected as many bytes as are stored (" + std::to_string(facts.packed_bytes) +
               "), found " + std::to_string(facts.bytes));
    }
    return {file.owner, packed};
  }
  if (facts.method != kDeflated) {
    fail(ErrorKind::kUnsupported,
         "zip: expected no compression or deflate, found method " + std::to_string(facts.method));
  }
  std::vector<std::byte> bytes = inflate(packed, facts.bytes);
  if (bytes.size() != facts.bytes || crc32_of(bytes) != facts.checksum) {
    fail_zip("damaged: size or checksum is wrong");
  }
  return own_bytes(std::move(bytes));
}

}  // namespace

std::vector<ZipEntry> read_zip(const SharedBytes& file) {
  ByteReader directory(directory_of(file.bytes));
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  std::uint64_t packed = 0;
  while (directory.remaining() > 0) {
    const ZipFacts facts = next_entry(directory);
    with_context("'" + facts.name + "'", [&] {
      if (!names.insert(facts.name).second) fail_zip("the name occurs twice");
      packed += std::min<std::uint64_t>(facts.packed_bytes, file.bytes.size());
      if (packed > file.bytes.size()) fail_zip("entries overlap");
      entries.push_back({facts.name, entry_bytes(file, facts)});
    });
  }
  return entries;
}

}  // namespace halftone::data
