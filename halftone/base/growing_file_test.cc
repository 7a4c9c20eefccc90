// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/growing_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

class GrowingFiles : public WithFolder {
 protected:
  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static void append(GrowingFile& file, std::string_view first, std::string_view second = {}) {
    const std::vector<std::span<const std::byte>> pieces = {bytes_of(first), bytes_of(second)};
    file.append(pieces);
  }
  [[nodiscard]] std::string text() const {
    const std::vector<std::byte> bytes = read_file(path("f"));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

TEST_F(GrowingFiles, GetBytesAtTheirEnd) {
  write_file(path("f"), "head");
  GrowingFile file(path("f"), 4);
  append(file, " one", " two");
  EXPECT_EQ(text(), "head one two");
  append(file, "");
  append(file, "!");
  EXPECT_EQ(text(), "head one two!");
  EXPECT_EQ(file.size_bytes(), 13U);
  shorten_file(path("f"), 8);
  EXPECT_EQ(text(), "head one");
}

TEST_F(GrowingFiles, AreNotWrittenByTwo) {
  write_file(path("f"), "head");
  expect_error(ErrorKind::kIo, "f: cannot write: expected 3 bytes, found 4: another process",
               [&] { GrowingFile(path("f"), 3); });
  GrowingFile first(path("f"), 4);
  GrowingFile second(path("f"), 4);
  append(first, "1");
  expect_error(ErrorKind::kIo, "f: cannot write: expected 4 bytes, found 5",
               [&] { append(second, "2"); });
  EXPECT_EQ(text(), "head1");
}

TEST_F(GrowingFiles, MustExist) {
  expect_error(ErrorKind::kIo, "f: cannot write: No such file", [&] { GrowingFile(path("f"), 0); });
  expect_error(ErrorKind::kIo, "f: cannot write: No such file",
               [&] { shorten_file(path("f"), 0); });
}

TEST_F(GrowingFiles, StayAsTheyWereWhereTheDiskIsFull) {
  write_file(path("f"), "head");
  GrowingFile file(path("f"), 4);
  rlimit whole{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &whole), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{6, whole.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ErrorKind::kIo, "f: cannot write: File too large",
               [&] { append(file, "12", "34"); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &whole), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text(), "head");
  append(file, "more");
  EXPECT_EQ(text(), "headmore");
}

}  // namespace
}  // namespace halftone
