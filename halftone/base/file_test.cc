// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

namespace fs = std::filesystem;

class File : public WithFolder {
 protected:
  [[nodiscard]] std::ptrdiff_t num_entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
};

std::string text_of(const fs::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_io_error(const std::function<void()>& action, const std::string& text) {
  expect_error(ErrorKind::kIo, text, action);
}

/// Limits files to `bytes` bytes, to emulate a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

TEST_F(File, ReadsBackWhatWasWritten) {
  std::string text(100000, 'x');
  text[5] = '\0';
  write_file(path("file"), text);
  EXPECT_EQ(text_of(path("file")), text);
  write_file(path("file"), std::string_view());
  EXPECT_EQ(text_of(path("file")), "");
  EXPECT_EQ(num_entries(), 1);
}

TEST_F(File, APieceAtATimeIsThereWhenItIsFinished) {
  write_file(path("file"), "old");
  {
    NewFile file(path("file"));
    file.append(std::as_bytes(std::span("given up", 8)));
  }
  EXPECT_EQ(text_of(path("file")), "old");
  NewFile file(path("file"));
  for (const std::string text : {"in ", "", "pieces"}) file.append(std::as_bytes(std::span(text)));
  EXPECT_EQ(text_of(path("file")), "old");
  file.finish();
  EXPECT_EQ(text_of(path("file")), "in pieces");
  EXPECT_EQ(num_entries(), 1);
}

TEST_F(File, NewFilesFollowTheUmaskAndReplacedOnesKeepTheirMode) {
  const mode_t old_mask = ::umask(027);
  write_file(path("file"), "new");
  ::umask(old_mask);
  struct stat status {};
  ASSERT_EQ(::stat(path("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  ASSERT_EQ(::chmod(path("file").c_str(), 0604), 0);
  write_file(path("file"), "newer");
  ASSERT_EQ(::stat(path("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0604u);
}

TEST_F(File, AFullDiskKeepsTheTargetAndLeavesNothingBehind) {
  write_file(path("file"), "old content");
  {
    const FileSizeLimit limit(1000);
    expect_io_error([&] { write_file(path("file"), std::string(5000, 'x')); },
                    "file: cannot write: ");
    expect_io_error([&] { write_file(path("other"), std::string(5000, 'x')); }, "other: cannot");
  }
  EXPECT_EQ(text_of(path("file")), "old content");
  EXPECT_EQ(num_entries(), 1);
}

TEST_F(File, WritingFollowsSymbolicLinks) {
  fs::create_directory(path("folder"));
  write_file(path("folder/target"), "old");
  fs::create_symlink("folder/target", path("relative"));
  fs::create_symlink(path("relative"), path("absolute"));
  write_file(path("absolute"), "new");
  EXPECT_EQ(text_of(path("folder/target")), "new");
  EXPECT_TRUE(fs::is_symlink(path("relative")) && fs::is_symlink(path("absolute")));
  fs::create_symlink("folder/not yet", path("dangling"));
  write_file(path("dangling"), "made");
  EXPECT_EQ(text_of(path("folder/not yet")), "made");
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  expect_io_error([&] { write_file(path("a"), "x"); }, "Too many levels of symbolic links");
  EXPECT_EQ(num_entries(), 6);
}

TEST_F(File, WritesToAPathWithoutAFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  write_file("file", "here");
  write_file("file", "again");
  fs::current_path(before);
  EXPECT_EQ(text_of(path("file")), "again");
  EXPECT_EQ(num_entries(), 1);
}

// Another process may have left such a file, or may be writing it.
TEST_F(File, AvoidsTemporaryNamesThatAreTaken) {
  const std::string taken = path("file") + "." + std::to_string(::getpid()) + ".0";
  write_file(taken, "other");
  write_file(path("file"), "mine");
  EXPECT_EQ(text_of(path("file")), "mine");
  EXPECT_EQ(text_of(taken), "other");
}

TEST_F(File, WritingIntoAMissingFolderFails) {
  expect_io_error([&] { write_file(path("no/such/folder"), "x"); },
                  "no/such/folder: cannot write: No such file or directory");
  EXPECT_EQ(num_entries(), 0);
}

TEST_F(File, WritingOverADirectoryOrDeviceFails) {
  expect_io_error([&] { write_file(folder_, "x"); }, "is not a regular file");
  expect_io_error([] { write_file("/dev/full", "x"); }, "/dev/full: cannot write");
  EXPECT_EQ(num_entries(), 0);
}

TEST_F(File, ReadingWhatIsNoRegularFileFails) {
  expect_io_error([&] { read_file(path("missing")); },
                  "missing: cannot open: No such file or directory");
  expect_io_error([&] { read_file(folder_); }, "is not a regular file");
  // A pipe without a writer must not make the reader wait for one.
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_io_error([&] { read_file(path("pipe")); }, "is not a regular file");
}

TEST_F(File, ReadingRefusesMoreThan16GiB) {
  std::ofstream(path("file")).put('x');
  std::error_code error;
  fs::resize_file(path("file"), (std::uintmax_t{1} << 34) + 1, error);  // sparse: takes no space
  if (error) GTEST_SKIP() << "this file system has no sparse files of 16 GiB";
  expect_io_error([&] { read_file(path("file")); },
                  "expected at most 16 GiB, found 17179869185 bytes");
}

TEST_F(File, TogetherAreCompleteBeforeTheFirstIsReplaced) {
  write_file(path("a"), "old");
  {
    NewFiles files;
    files.add(path("a"), "new");
    files.add("", "nothing");
    EXPECT_EQ(text_of(path("a")), "old");
    const FileSizeLimit limit(1000);
    expect_io_error([&] { files.add(path("b"), std::string(2000, 'x')); }, "b: cannot write");
  }
  EXPECT_EQ(text_of(path("a")), "old");
  EXPECT_EQ(num_entries(), 1);
  NewFiles files;
  files.add(path("a"), "new");
  files.add(path("b"), "newer");
  files.finish();
  EXPECT_EQ(text_of(path("a")) + text_of(path("b")), "newnewer");
  EXPECT_EQ(num_entries(), 2);
}

}  // namespace
}  // namespace halftone
