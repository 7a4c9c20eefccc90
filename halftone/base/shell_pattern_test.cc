// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/shell_pattern.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

TEST(ShellPattern, MatchesAsAShell) {
  EXPECT_TRUE(matches_pattern("conv*", "conv1/a"));
  EXPECT_TRUE(matches_pattern("conv[12]", "conv2"));
  EXPECT_FALSE(matches_pattern("conv?", "conv"));
  EXPECT_TRUE(matches_pattern("\\*", "*"));
  EXPECT_FALSE(matches_pattern("\\*", "a"));
}

TEST(ShellPattern, MatchesBytesByTheirNumbers) {
  EXPECT_TRUE(matches_pattern("n\\xFF\\xfe", "n\xFF\xFE"));
  EXPECT_FALSE(matches_pattern("n\\xFF", "n\xFE"));
  EXPECT_TRUE(matches_pattern("\\x2A", "*"));
  EXPECT_FALSE(matches_pattern("\\x2A", "a"));
  EXPECT_TRUE(matches_pattern("\\\\x41", "\\x41"));  // a backslash, then x41
  EXPECT_TRUE(matches_pattern("\\xyz", "xyz"));
  EXPECT_TRUE(matches_pattern("\\x4", "x4"));
}

TEST(ShellPattern, OfANameMatchesItAlone) {
  for (const std::string name : {"conv*[1]?", "a\\x41", "n\xFF\xFE/1", "tab\there", "\x1B[31m",
                                 "\xC3\xA9", "two\nlines", "\\"}) {
    const std::string pattern = pattern_of(name);
    EXPECT_TRUE(matches_pattern(pattern, name)) << pattern;
    EXPECT_FALSE(matches_pattern(pattern, name + "a")) << pattern;
  }
  EXPECT_EQ(pattern_of("n\xFF*"), "n\\xFF\\*");
  EXPECT_FALSE(matches_pattern(pattern_of("n\xFF"), "n\\xFF"));
}

}  // namespace
}  // namespace halftone
