// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/shared_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/growing_file.h"
#include "halftone/base/memory.h"

namespace halftone {
namespace {

SharedBytes map_descriptor(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail_errno(path, "read", errno);
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::kIo, path.string() + ": is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  require_address_space(size, path.string());
  // The file replaces the beginning of empty pages, so that one is left behind it.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t total = (size + page - 1) / page * page + page;
  void* memory = ::mmap(nullptr, total, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno(path, "map", errno);
  std::shared_ptr<const void> owner(memory, [total](void* start) { ::munmap(start, total); });
  if (::mmap(memory, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    fail_errno(path, "map", errno);
  }
  return {std::move(owner), {static_cast<const std::byte*>(memory), size}, total - size, true};
}

}  // namespace

void SharedBytes::release_pages() const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t rest = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  const std::size_t skip = rest == 0 ? 0 : page - rest;
  if (!is_file || bytes.size() < skip + page) return;
  auto* const first = const_cast<std::byte*>(bytes.data() + skip);
  // A refusal costs memory only.
  static_cast<void>(::madvise(first, (bytes.size() - skip) / page * page, MADV_DONTNEED));
}

SharedBytes own_bytes(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {owner, *owner};
}

SharedBytes map_file(const std::filesystem::path& path) {
  // Non-blocking, because opening a pipe would wait for its writer. Has no effect on regular files.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail_errno(path, "open", errno);
  const std::shared_ptr<const void> closer(nullptr, [fd](const void*) { ::close(fd); });
  return map_descriptor(fd, path);
}

}  // namespace halftone
