// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/folder.h"
#include "halftone/base/growing_file.h"

namespace halftone {
namespace {

/// The target of a path after following symbolic links; it need not exist.
std::filesystem::path follow_links(std::filesystem::path path) {
  constexpr int kMaxLinks = 40;  // the limit of Linux
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    if (!std::filesystem::is_symlink(path, error)) return path;
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  fail_errno(path, "write", ELOOP);
}

[[noreturn]] void fail_folder(const std::filesystem::path& path, const std::string& reason) {
  fail(ErrorKind::kIo, path.string() + ": cannot write the folder: " + reason);
}

/// The path without a slash at its end.
std::filesystem::path without_slash(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

/// Non-blocking, because opening a pipe would wait for its reader.
Descriptor open_to_write(const std::filesystem::path& path, int flags) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (file.get() < 0) fail_errno(path, "write", errno);
  return file;
}

}  // namespace

void fail_errno(const std::filesystem::path& path, const char* action, int error) {
  fail(ErrorKind::kIo, path.string() + ": cannot " + action + ": " + std::strerror(error));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool Descriptor::close() {
  const int fd = fd_;
  fd_ = -1;
  return ::close(fd) == 0;
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_errno(path, "write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  constexpr off_t kMaxBytes = off_t{1} << 34;
  // Non-blocking: opening a pipe would otherwise wait for its writer. Regular files ignore it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_errno(path, "open", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_errno(path, "read", errno);
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::kIo, path.string() + ": is not a regular file");
  if (status.st_size > kMaxBytes) {
    fail(ErrorKind::kIo, path.string() + ": expected at most 16 GiB, found " +
                             std::to_string(status.st_size) + " bytes");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      fail_errno(path, "read", errno);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// A file being written. It has no name while it is incomplete, so that nothing remains however
/// the process ends. If the system has no unnamed files, it has a temporary name.
class NewFile::Unfinished {
 public:
  /// @param path  the final name of the file
  explicit Unfinished(const std::filesystem::path& path) : path_(path), file_(open_unnamed(path)) {
    if (file_.get() >= 0) return;
    name_ = path.string() + ".XXXXXX";
    file_ = Descriptor(::mkostemp(name_.data(), O_CLOEXEC));
    if (file_.get() >= 0) return;
    name_.clear();
    fail_errno(path_, "write", errno);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  [[nodiscard]] int get() const { return file_.get(); }

  /// Flushes the file to disk under a temporary name.
  void complete() {
    if (file_.get() < 0) return;
    if (::fsync(file_.get()) != 0) fail_errno(path_, "write", errno);
    if (name_.empty()) link_temporary();
    if (!file_.close()) fail_errno(path_, "write", errno);
  }

  /// Gives the file its name, replacing an existing file.
  void finish() {
    complete();
    if (::rename(name_.c_str(), path_.c_str()) != 0) fail_errno(path_, "write", errno);
    name_.clear();
  }

 private:
  static constexpr const char* kOpenFiles = "/proc/self/fd/";

  static Descriptor open_unnamed(const std::filesystem::path& path) {
    if (::access(kOpenFiles, X_OK) != 0) return Descriptor(-1);  // no way to name it later
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    return Descriptor(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  }

  /// Links the file to a temporary name and renames it: only a rename can replace a file.
  void link_temporary() {
    constexpr int kMaxAttempts = 1000;
    const std::string open_file = kOpenFiles + std::to_string(file_.get());
    for (int i = 0; i < kMaxAttempts; ++i) {
      const std::string name =
          path_.string() + "." + std::to_string(::getpid()) + "." + std::to_string(i);
      if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        name_ = name;
        return;
      }
      if (errno != EEXIST) break;
    }
    fail_errno(path_, "write", errno);
  }

  std::filesystem::path path_;
  std::string name_;  ///< temporary name; empty for an unnamed file
  Descriptor file_;
};

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    fail(ErrorKind::kIo, path_.string() + ": cannot write: is not a regular file");
  }
  file_ = std::make_unique<Unfinished>(follow_links(path_));
  // The file is private so far; set the mode that a plain open() would have set.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = exists ? status.st_mode & 0777 : 0666 & ~mask;
  if (::fchmod(file_->get(), mode) != 0) fail_errno(path_, "write", errno);
}

NewFile::~NewFile() = default;

void NewFile::append(std::span<const std::byte> bytes) { write_all(file_->get(), bytes, path_); }

void NewFile::complete() { file_->complete(); }

void NewFile::finish() { file_->finish(); }

void NewFiles::add(const std::filesystem::path& path, const ByteSource& source) {
  if (path.empty()) return;
  auto file = std::make_unique<NewFile>(path);
  source([&](std::span<const std::byte> piece) { file->append(piece); });
  file->complete();
  files_.push_back(std::move(file));
}

void NewFiles::add(const std::filesystem::path& path, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  add(path, [&](const ByteSink& sink) { sink(bytes); });
}

void NewFiles::finish() {
  for (const std::unique_ptr<NewFile>& file : files_) file->finish();
}

void write_file(const std::filesystem::path& path, const ByteSource& source) {
  NewFile file(path);
  source([&](std::span<const std::byte> piece) { file.append(piece); });
  file.finish();
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_file(path, [&](const ByteSink& sink) { sink(bytes); });
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

void NewFolder::check(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  if (std::filesystem::is_directory(path, ignored) && std::filesystem::is_empty(path, ignored)) {
    return;
  }
  fail(ErrorKind::kUsage,
       path.string() + ": expected a folder that is new or empty, found one in use; name another");
}

NewFolder::NewFolder(const std::filesystem::path& path) : path_(without_slash(path)) {
  check(path_);
  std::string name = path_.string() + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail_folder(path_, std::strerror(errno));
  temporary_ = name;
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

void NewFolder::finish() {
  constexpr mode_t kEverybodyReads = 0755;
  const mode_t hidden = ::umask(0);
  ::umask(hidden);
  if (::chmod(temporary_.c_str(), kEverybodyReads & ~hidden) != 0) {
    fail_folder(path_, std::strerror(errno));
  }
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail_folder(path_, error.message());
  temporary_.clear();
}

GrowingFile::GrowingFile(std::filesystem::path path, std::uint64_t size_bytes)
    : path_(std::move(path)), file_(open_to_write(path_, O_APPEND)), size_bytes_(size_bytes) {
  check_size();
}

void GrowingFile::check_size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail_errno(path_, "write", errno);
  const auto found = static_cast<std::uint64_t>(status.st_size);
  if (S_ISREG(status.st_mode) && found == size_bytes_) return;
  fail(ErrorKind::kIo, path_.string() + ": cannot write: expected " + std::to_string(size_bytes_) +
                           " bytes, found " + std::to_string(found) +
                           ": another process writes this file");
}

void GrowingFile::append(std::span<const std::span<const std::byte>> pieces) {
  check_size();
  std::uint64_t size = size_bytes_;
  try {
    for (const std::span<const std::byte> piece : pieces) {
      write_all(file_.get(), piece, path_);
      size += piece.size();
    }
    if (::fsync(file_.get()) != 0) fail_errno(path_, "write", errno);
  } catch (const Error&) {
    // If that fails too, a reader finds a part of the last record.
    static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(size_bytes_)) == 0);
    throw;
  }
  size_bytes_ = size;
}

void shorten_file(const std::filesystem::path& path, std::uint64_t size_bytes) {
  const Descriptor file = open_to_write(path, 0);
  if (::ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0 || ::fsync(file.get()) != 0) {
    fail_errno(path, "write", errno);
  }
}

}  // namespace halftone
