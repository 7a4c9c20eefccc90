// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/near_names.h"

#include <gtest/gtest.h>

#include <vector>

namespace halftone {
namespace {

TEST(NearNames, AreAllNamesIfTheyAreFew) {
  EXPECT_EQ(near_names("x", std::vector<std::string>{"a", "b"}), "a, b");
  EXPECT_EQ(near_names("x", {}), "");
}

TEST(NearNames, AreTheClosestInTheirOrder) {
  const std::vector<std::string> names = {"stem", "block1/conv", "head", "block2/conv",
                                          "block3/bn"};
  EXPECT_EQ(near_names("blok2/conv", names, 2), "block1/conv, block2/conv and 3 more");
  EXPECT_EQ(near_names("haed", names, 1), "head and 4 more");
}

TEST(NearNames, EndAMessageIfOneIsClose) {
  const std::vector<std::string> names = {"min-max", "mse"};
  EXPECT_EQ(meant_name("minmax", names), "; did you mean min-max?");
  EXPECT_EQ(meant_name("entropy", names), "");
}

}  // namespace
}  // namespace halftone
