// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "halftone/base/error.h"

namespace halftone {

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

}  // namespace halftone
