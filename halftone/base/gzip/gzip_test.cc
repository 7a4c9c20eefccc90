// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/gzip/gzip.h"

#include <string_view>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

TEST(Gzip, GivesTheSameBytes) {
  const std::vector<std::byte> packed = gzip(bytes_of("halftone"));
  EXPECT_TRUE(is_gzip(packed));
  EXPECT_EQ(gzip(bytes_of("halftone")), packed);
  EXPECT_EQ(gunzip(gzip({}), 1), std::vector<std::byte>());
}

TEST(Gunzip, UnpacksAtMostTheRequestedBytes) {
  const std::vector<std::byte> text(3'000'000, std::byte{'x'});
  const std::vector<std::byte> packed = gzip(text);
  EXPECT_EQ(gunzip(packed, text.size() + 1), text);
  EXPECT_EQ(gunzip(packed, text.size()), text);
  EXPECT_EQ(gunzip(packed, 5), bytes_of("xxxxx"));
  EXPECT_TRUE(gunzip(packed, 0).empty());
}

TEST(Gunzip, ReadsSeveralStreamsAndIgnoresPadding) {
  std::vector<std::byte> packed = gzip(bytes_of("half"));
  const std::vector<std::byte> second = gzip(bytes_of("tone"));
  packed.insert(packed.end(), second.begin(), second.end());
  packed.resize(packed.size() + 10);
  EXPECT_EQ(gunzip(packed, 100), bytes_of("halftone"));
}

TEST(Gunzip, FailsOnEveryTruncation) {
  const std::vector<std::byte> packed = gzip(bytes_of("halftone"));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    expect_error(ErrorKind::kFormat, "gzip: the stream ends early",
                 [&] { gunzip(std::span(packed).first(size), 100); });
  }
}

TEST(Gunzip, FailsOnDamage) {
  std::vector<std::byte> packed = gzip(bytes_of("halftone"));
  packed[packed.size() - 6] ^= std::byte{1};  // in the checksum
  expect_error(ErrorKind::kFormat, "gzip: damaged: incorrect data check",
               [&] { gunzip(packed, 100); });
  expect_error(ErrorKind::kFormat, "gzip: damaged", [&] { gunzip(bytes_of("plain text"), 100); });
}

}  // namespace
}  // namespace halftone
