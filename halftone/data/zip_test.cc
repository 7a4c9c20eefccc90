// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/zip.h"

#include "halftone/data/dataset_testing.h"
#include "halftone/data/zip_testing.h"

namespace halftone::data {
namespace {

SharedBytes archive(const std::vector<TestEntry>& entries) { return own_bytes(make_zip(entries)); }

std::string text_of(const SharedBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

/// Bytes with one of them replaced.
SharedBytes changed(std::vector<std::byte> bytes, std::size_t offset, int value) {
  bytes.at(offset) = static_cast<std::byte>(value);
  return own_bytes(std::move(bytes));
}

TEST(Zip, ReadsStoredAndDeflatedEntriesInOrder) {
  const std::string many(100'000, 'n');
  const auto entries = read_zip(archive({{"b", "tone"}, {"a", many, true}, {"empty", ""}}));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_EQ(text_of(entries[0].bytes), "tone");
  EXPECT_EQ(entries[1].name, "a");
  EXPECT_EQ(text_of(entries[1].bytes), many);
  EXPECT_TRUE(entries[2].bytes.bytes.empty());
  EXPECT_TRUE(read_zip(archive({})).empty());
}

TEST(Zip, ReadsNumbersOf64Bits) {
  const auto entries = read_zip(own_bytes(make_zip({{"a", "half"}, {"b", "tone", true}}, true)));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(text_of(entries[0].bytes), "half");
  EXPECT_EQ(text_of(entries[1].bytes), "tone");
}

TEST(Zip, FailsOnEveryTruncation) {
  for (const bool is_long : {false, true}) {
    const std::vector<std::byte> bytes = make_zip({{"a", "half"}, {"b", "tone", true}}, is_long);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      expect_error(ErrorKind::kFormat, "zip: expected an archive, found none", [&] {
        read_zip(own_bytes({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}));
      });
    }
  }
}

TEST(Zip, RejectsDamageAndOverlaps) {
  const std::vector<std::byte> stored = make_zip({{"a", "half"}});
  const std::size_t directory = 30 + 1 + 4;
  const auto expect_refused = [](const SharedBytes& file, ErrorKind kind, const std::string& text) {
    expect_error(kind, text, [&] { read_zip(file); });
  };
  expect_refused(changed(stored, 0, 0), ErrorKind::kFormat, "'a': zip: expected an entry");
  expect_refused(changed(stored, directory, 0), ErrorKind::kFormat, "in the directory");
  expect_refused(changed(stored, directory + 8, 1), ErrorKind::kUnsupported, "is encrypted");
  expect_refused(changed(stored, directory + 10, 14), ErrorKind::kUnsupported, "found method 14");
  expect_refused(changed(stored, directory + 24, 5), ErrorKind::kFormat, "found 5");
  expect_refused(changed(stored, directory + 45, 1), ErrorKind::kFormat, "bytes at offset");
  expect_refused(changed(stored, stored.size() - 18, 1), ErrorKind::kUnsupported, "volumes");
  expect_refused(archive({{"a", "x"}, {"a", "y"}}), ErrorKind::kFormat, "the name occurs twice");
  std::vector<std::byte> packed = make_zip({{"a", "half", true}});
  expect_refused(changed(packed, packed.size() - 22 - 46 - 1 + 16, 9), ErrorKind::kFormat,
                 "size or checksum is wrong");
  std::vector<std::byte> twice = make_zip({{"a", std::string(500, 'a')}, {"b", "b"}});
  const std::size_t second = twice.size() - 22 - 47;
  std::copy_n(twice.end() - 22 - 2 * 47 + 20, 8,
              twice.begin() + static_cast<std::ptrdiff_t>(second) + 20);
  std::fill_n(twice.begin() + static_cast<std::ptrdiff_t>(second) + 42, 4, std::byte{0});
  expect_refused(own_bytes(twice), ErrorKind::kFormat, "'b': zip: entries overlap");
}

}  // namespace
}  // namespace halftone::data
