// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/memory.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#define HALFTONE_HAS_MMAP
#endif

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#include <unistd.h>
#define HALFTONE_HAS_RLIMIT
#endif

#include <algorithm>
#include <charconv>
#include <string_view>

#include "halftone/base/control_groups.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"

namespace halftone {
namespace {

using Bytes = std::optional<std::uint64_t>;

constexpr std::size_t kNeverRefused = std::size_t{1} << 24;

Bytes least(Bytes a, Bytes b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// The number at the start of a text, after blanks.
Bytes number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? Bytes(number) : std::nullopt;
}

/// The number after a word at the start of a line.
Bytes number_after(std::string_view word, std::string_view text) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return number_in(text.substr(at + word.size()));
  }
  return std::nullopt;
}

Bytes of_system(const std::string& root) {
  constexpr std::uint64_t kKib = 1024;
  const std::string text = system_text(root + "/proc/meminfo");
  const Bytes memory = number_after("MemAvailable:", text);
  if (!memory) return std::nullopt;
  // The value is an estimate: page tables and other processes take a part of it.
  const std::uint64_t sure = *memory - *memory / 16;
  return (sure + number_after("SwapFree:", text).value_or(0)) * kKib;
}

/// File names of one of the two versions of control groups.
struct GroupFiles {
  std::string_view limit;
  std::string_view usage;
  std::string_view reclaimable;  ///< key in memory.stat for file pages, which count as used
};
constexpr GroupFiles kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"/memory.max", "/memory.current", "inactive_file"};

/// The memory left in one group; nothing if it sets no limit ("max") or cannot be read.
Bytes left_in(const ControlGroup& group) {
  const GroupFiles& files = group.version == 1 ? kVersion1 : kVersion2;
  const Bytes limit = number_in(system_text(group.folder + std::string(files.limit)));
  const Bytes usage = number_in(system_text(group.folder + std::string(files.usage)));
  if (!limit || !usage) return std::nullopt;
  const Bytes reclaimable =
      number_after(files.reclaimable, system_text(group.folder + "/memory.stat"));
  const std::uint64_t used = *usage - std::min(*usage, reclaimable.value_or(0));
  return *limit - std::min(*limit, used);
}

Bytes of_control_groups(const std::string& root) {
  Bytes left;
  for (const ControlGroup& group : control_groups("memory", root)) {
    left = least(left, left_in(group));
  }
  return left;
}

Bytes of_address_space([[maybe_unused]] const std::string& root) {
#ifdef HALFTONE_HAS_RLIMIT
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const Bytes pages = number_in(system_text(root + "/proc/self/statm"));
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t used = pages.value_or(0) * page_bytes;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
#else
  return std::nullopt;
#endif
}

}  // namespace

std::optional<std::uint64_t> available_memory(const std::string& root) {
  return least(least(of_system(root), of_control_groups(root)), of_address_space(root));
}

void require_memory(std::size_t bytes, const std::string& what, const std::string& root) {
  const std::uint64_t limit = thread_settings().memory_bytes;
  if (limit != 0 && bytes > limit) {
    fail(ErrorKind::kMemory, what + ": " + std::to_string(bytes) +
                                 " bytes of memory are needed, the limit of the context is " +
                                 std::to_string(limit));
  }
  if (bytes < kNeverRefused) return;
  const auto available = available_memory(root);
  if (!available || bytes <= *available) return;
  fail(ErrorKind::kMemory, what + ": " + std::to_string(bytes) + " bytes of memory are needed, " +
                               std::to_string(*available) + " are available");
}

void require_address_space([[maybe_unused]] std::size_t bytes,
                           [[maybe_unused]] const std::string& what) {
#ifdef HALFTONE_HAS_MMAP
  void* const probe = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) {
    fail(ErrorKind::kMemory,
         what + ": " + std::to_string(bytes) + " bytes of address space are not available");
  }
  munmap(probe, bytes);
#endif
}

}  // namespace halftone
