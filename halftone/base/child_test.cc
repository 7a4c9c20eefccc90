// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/child.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

TEST(Child, RunsAndSaysHowItEnded) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  EXPECT_EQ(run_program({"sh", "-c", "echo \"$0 $1\"; echo b >&2; cat", "a b", "'c"}, log), 0);
  std::ifstream file(log);
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(file), {}}), "a b 'c\nb\n");
  EXPECT_EQ(run_program({"sh", "-c", "exit 3"}, log), 3);
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, log), 128 + 9);
  expect_error(ErrorKind::kIo, "no such program: cannot be started",
               [&] { run_program({"no such program"}, log); });
}

TEST(Child, ProgramsAreThoseOfThePath) {
  EXPECT_TRUE(has_program("sh"));
  EXPECT_FALSE(has_program("no such program"));
}

TEST(TemporaryFolder, ExistsAsLongAsItsOwner) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    std::ofstream(path / "file") << "text";
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const std::string before = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
  ::setenv("TMPDIR", "/dev/null", 1);
  expect_error(ErrorKind::kIo, "cannot create", [] { const TemporaryFolder folder; });
  before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
}

}  // namespace
}  // namespace halftone
