// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/processor.h"

#include <algorithm>
#include <thread>

#include "halftone/base/system_files_testing.h"

namespace halftone {
namespace {

class Cores : public SystemFiles {
 protected:
  [[nodiscard]] int usable() const { return usable_cores(root()); }

  const int all_ = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
};

TEST_F(Cores, AreThoseOfTheSystemWhereNothingLimitsThem) {
  EXPECT_EQ(usable(), all_);
  write("proc/self/cgroup", "0::/pod\n");
  for (const char* const none : {"max 100000\n", "", "nonsense\n", "-5 100000\n", "100000 0\n"}) {
    write("sys/fs/cgroup/pod/cpu.max", none);
    EXPECT_EQ(usable(), all_) << none;
  }
}

TEST_F(Cores, AreWithinTheQuotaOfEachGroupAround) {
  write("proc/self/cgroup", "0::/pod/box\n");
  write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable(), 1) << "half a core";
  write("sys/fs/cgroup/pod/cpu.max", "100001 100000\n");
  EXPECT_EQ(usable(), std::min(all_, 2)) << "rounded up";
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(usable(), 1) << "of the outermost group";
}

TEST_F(Cores, KnowControlGroupsOfTheFirstVersion) {
  write("proc/self/cgroup", "5:memory:/else\n4:cpu,cpuacct:/box\n0::/\n");
  write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(usable(), all_);
  write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "20000\n");
  EXPECT_EQ(usable(), 1);
}

}  // namespace
}  // namespace halftone
