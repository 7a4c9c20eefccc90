// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/folder.h"

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

class NewFolderTest : public WithFolder {
 protected:
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path("."))) {
      ++count;
    }
    return count;
  }
};

TEST_F(NewFolderTest, IsCompleteOrAbsent) {
  {
    const NewFolder folder(path("a"));
    write_file(folder.temporary() / "file", std::string_view("half"));
    EXPECT_FALSE(std::filesystem::exists(path("a")));
  }
  EXPECT_EQ(files(), 0);
  NewFolder folder(path("a/"));
  write_file(folder.temporary() / "file", std::string_view("whole"));
  folder.finish();
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(read_file(path("a/file")).size(), 5);
}

TEST_F(NewFolderTest, TakesAnEmptyFolder) {
  std::filesystem::create_directory(path("a"));
  NewFolder folder(path("a"));
  write_file(folder.temporary() / "file", std::string_view("whole"));
  folder.finish();
  EXPECT_TRUE(std::filesystem::exists(path("a/file")));
}

TEST_F(NewFolderTest, RefusesWhatIsInUse) {
  write_file(path("file"), std::string_view("text"));
  expect_error(ErrorKind::kUsage, "expected a folder that is new",
               [&] { const NewFolder folder(path("file")); });
  expect_error(ErrorKind::kUsage, "name another", [&] { const NewFolder folder(path(".")); });
  expect_error(ErrorKind::kIo, "No such file", [&] { const NewFolder folder(path("no/folder")); });
}

}  // namespace
}  // namespace halftone
