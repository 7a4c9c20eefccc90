// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "halftone/base/system_files_testing.h"

namespace halftone {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

class Memory : public SystemFiles {
 protected:
  void write_meminfo(std::uint64_t available_kib, std::uint64_t swap_kib) {
    write("proc/meminfo", "MemTotal:       99999999 kB\nMemFree:        1 kB\nMemAvailable:   " +
                              std::to_string(available_kib) +
                              " kB\nSwapFree:  " + std::to_string(swap_kib) + " kB\n");
  }
};

TEST_F(Memory, IsUnknownWhereNothingTells) {
  EXPECT_EQ(available_memory(root()), std::nullopt);
  EXPECT_NO_THROW(require_memory(std::numeric_limits<std::size_t>::max(), "all", root()));
}

TEST_F(Memory, IsWhatTheSystemHasAndItsSwap) {
  write_meminfo(320 * 1024, 200 * 1024);
  EXPECT_EQ(available_memory(root()), (300 + 200) * kMib);
}

TEST_F(Memory, IsWhatTheControlGroupLeaves) {
  write_meminfo(1600 * 1024, 0);
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", std::to_string(90 * kMib) + "\n");
  EXPECT_EQ(available_memory(root()), 1500 * kMib);
  write("sys/fs/cgroup/outer/memory.max", std::to_string(200 * kMib) + "\n");
  write("sys/fs/cgroup/outer/memory.current", std::to_string(150 * kMib) + "\n");
  EXPECT_EQ(available_memory(root()), 50 * kMib);
  // Cached file pages can be reclaimed.
  write("sys/fs/cgroup/outer/memory.stat",
        "active_file 7\ninactive_file " + std::to_string(30 * kMib) + "\n");
  EXPECT_EQ(available_memory(root()), 80 * kMib);
}

TEST_F(Memory, KnowsControlGroupsOfTheFirstVersion) {
  write_meminfo(1600 * 1024, 0);
  write("proc/self/cgroup", "5:cpu:/else\n4:hugetlb,memory:/box\n0::/\nnonsense\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(100 * kMib));
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(120 * kMib));
  EXPECT_EQ(available_memory(root()), 0U);
  write("sys/fs/cgroup/memory/box/memory.stat",
        "inactive_file 1\ntotal_inactive_file " + std::to_string(60 * kMib) + "\n");
  EXPECT_EQ(available_memory(root()), 40 * kMib);
}

TEST_F(Memory, IsWhatTheAddressSpaceLeaves) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit less = before;
  less.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + 512 * kMib;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  rlimit kept{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &kept), 0);
  if (kept.rlim_cur != less.rlim_cur) GTEST_SKIP() << "an emulator that keeps no such limit";
  const auto available = available_memory();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(available);
  EXPECT_LE(*available, 513 * kMib);  // memory used for reading may have been freed
}

TEST_F(Memory, IsRefusedWithWhatIsNeededAndWhatThereIs) {
  write_meminfo(32 * 1024, 0);
  EXPECT_NO_THROW(require_memory(30 * kMib, "the arena", root()));
  expect_error(ErrorKind::kMemory,
               "the arena: 31457281 bytes of memory are needed, 31457280 are available",
               [&] { require_memory(30 * kMib + 1, "the arena", root()); });
  // Too small to be checked.
  write_meminfo(0, 0);
  EXPECT_NO_THROW(require_memory(1000, "a trifle", root()));
}

TEST(AddressSpace, IsRefusedBeyondThatOfTheProcessor) {
  EXPECT_NO_THROW(require_address_space(kMib, "a test"));
  expect_error(ErrorKind::kMemory,
               "a test: 1152921504606846976 bytes of address space are not available",
               [] { require_address_space(std::size_t{1} << 60, "a test"); });
}

TEST_F(Memory, OfThisSystemDoesNotHoldAnExabyte) {
  if (!available_memory()) GTEST_SKIP() << "this system does not tell";
  expect_error(ErrorKind::kMemory, "1152921504606846976 bytes of memory are needed",
               [] { require_memory(std::size_t{1} << 60, "a test"); });
}

}  // namespace
}  // namespace halftone
