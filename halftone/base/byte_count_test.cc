// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/byte_count.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

TEST(ByteCount, HasOneMeaningForEachUnit) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("60"), 60);
  for (const char* text : {"60k", "60K", "60kb", "60KB", "60 kB"}) {
    EXPECT_EQ(parse_bytes(text), 60e3) << text;
  }
  for (const char* text : {"1.5m", "1.5MB", "1500k"}) EXPECT_EQ(parse_bytes(text), 1.5e6) << text;
  EXPECT_EQ(parse_bytes("4G"), 4e9);
  EXPECT_EQ(parse_bytes("1t"), 1e12);
  for (const char* text : {"3Ki", "3KiB", "3kib"}) EXPECT_EQ(parse_bytes(text), 3072) << text;
  EXPECT_EQ(parse_bytes("2GiB"), 2147483648.0);
}

TEST(ByteCount, RefusesOtherTexts) {
  for (const char* text :
       {"", "k", "-1", "-0.5k", "nan", "inf", "1x", "1kk", "1ik", "1 k b", "0x10"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace halftone
