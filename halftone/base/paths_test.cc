// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/paths.h"

#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

namespace fs = std::filesystem;

class Paths : public WithFolder {};

TEST_F(Paths, TellFilesFromFolders) {
  write_file(path("f"), "12345");
  EXPECT_TRUE(path_exists(path("f")));
  EXPECT_TRUE(is_file(path("f")));
  EXPECT_FALSE(is_folder(path("f")));
  EXPECT_TRUE(is_folder(folder_));
  EXPECT_FALSE(is_file(folder_));
  for (const char* name : {"none", "f/none"}) {
    EXPECT_FALSE(path_exists(path(name)));
    EXPECT_FALSE(is_folder(path(name)));
    EXPECT_FALSE(is_file(path(name)));
  }
}

TEST_F(Paths, ListAndCountTheFilesOfFolders) {
  write_file(path("b"), "12345");
  write_file(path("a"), "123");
  fs::create_directory(path("c"));
  fs::create_symlink("nowhere", path("d"));
  EXPECT_THAT(files_in(folder_), testing::ElementsAre(folder_ / "a", folder_ / "b"));
  EXPECT_EQ(bytes_of_files(folder_), 8U);
  EXPECT_EQ(bytes_of_files(path("b")), 5U);
}

TEST_F(Paths, NameThePathThatTheSystemCannotAnswerFor) {
  fs::create_symlink("ring", path("ring"));
  const std::string long_name = path(std::string(256, 'x'));
  for (const std::string& bad : {path("ring"), long_name, long_name + "/a"}) {
    for (const auto& ask : {path_exists, is_folder, is_file}) {
      expect_error(ErrorKind::kIo, bad + ": cannot open: ", [&] { static_cast<void>(ask(bad)); });
    }
  }
  for (const std::string& bad : {path("ring"), long_name, path("none"), path("none/a")}) {
    expect_error(ErrorKind::kIo,
                 bad + ": cannot open: ", [&] { static_cast<void>(bytes_of_file(bad)); });
    expect_error(ErrorKind::kIo,
                 bad + ": cannot open: ", [&] { static_cast<void>(files_in(bad)); });
  }
}

TEST_F(Paths, AreFullWithoutDots) {
  EXPECT_EQ(full_path(folder_ / "a" / ".." / "." / "b"), folder_ / "b");
  EXPECT_TRUE(full_path("x").is_absolute());
}

}  // namespace
}  // namespace halftone
