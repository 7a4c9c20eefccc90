// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/kernels/byte_dot.h"

namespace halftone::kernels {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Restores the target and the environment after each test.
class Targets : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("HALFTONE_SIMD");
    use_simd_target("auto");
  }
};

TEST_F(Targets, BestIsCurrentUntilRestricted) {
  ASSERT_FALSE(simd_targets().empty());
  EXPECT_EQ(current_simd_target(), simd_targets().front());
}

TEST_F(Targets, AreThoseThatHighwayFinds) {
  std::vector<std::string> found;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    found.emplace_back(hwy::TargetName(target));
  }
  std::vector<std::string> ours = simd_targets();
  std::erase(ours, "NEON_DOT");
  std::erase(ours, "AVX2_VNNI");
  EXPECT_EQ(ours, found);
}

TEST_F(Targets, EveryListedTargetCanBeChosen) {
  const auto names = simd_targets();
  for (const auto& name : names) {
    use_simd_target(name);
    EXPECT_EQ(current_simd_target(), name);
    EXPECT_EQ(simd_targets(), names) << "the list does not shrink by choosing";
  }
  use_simd_target("auto");
  EXPECT_EQ(current_simd_target(), names.front());
}

TEST_F(Targets, DotProductsOfBytesAreTargetsOfTheirOwn) {
  for (const auto& name : simd_targets()) {
    use_simd_target(name);
    EXPECT_EQ(byte_dot() != ByteDot::kNone, name == "NEON_DOT" || name == "AVX2_VNNI") << name;
  }
}

#if HALFTONE_HAS_AVX2_VNNI

/// The flags of the first processor that Linux names.
std::set<std::string> linux_flags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

TEST_F(Targets, DotProductsOfBytesAreThoseThatLinuxNames) {
  const std::set<std::string> flags = linux_flags();
  if (flags.empty()) GTEST_SKIP() << "no /proc/cpuinfo";
  const bool is_vex = flags.contains("avx_vnni");
  const bool is_evex = flags.contains("avx512_vnni") && flags.contains("avx512vl");
  if (!is_vex && !is_evex) {
    EXPECT_THAT(simd_targets(), Not(Contains("AVX2_VNNI")));
    return;
  }
  use_simd_target("AVX2_VNNI");
  EXPECT_EQ(byte_dot(), is_vex ? ByteDot::kDot : ByteDot::kEvex);
}

#endif

TEST_F(Targets, OfAThreadComeBeforeThatOfTheProcess) {
  const std::string worst = simd_targets().back();
  {
    const UseThreadSettings use({.simd = simd_setting(worst)});
    EXPECT_EQ(current_simd_target(), worst);
    std::thread([] { EXPECT_EQ(current_simd_target(), simd_targets().front()); }).join();
    use_simd_target(simd_targets().front());
    EXPECT_EQ(current_simd_target(), worst);
  }
  EXPECT_EQ(current_simd_target(), simd_targets().front());
  use_simd_target(worst);
  const UseThreadSettings use({.simd = simd_setting("auto")});
  EXPECT_EQ(current_simd_target(), worst);
}

TEST_F(Targets, RejectsUnknownNamesWithoutChanges) {
  use_simd_target(simd_targets().back());
  try {
    use_simd_target("MMX");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("found 'MMX'"));
    for (const auto& name : simd_targets()) EXPECT_THAT(error.what(), HasSubstr(name));
  }
  EXPECT_EQ(current_simd_target(), simd_targets().back());
}

TEST_F(Targets, EnvironmentChooses) {
  use_simd_target_from_environment();
  EXPECT_EQ(current_simd_target(), simd_targets().front());
  setenv("HALFTONE_SIMD", simd_targets().back().c_str(), 1);
  use_simd_target_from_environment();
  EXPECT_EQ(current_simd_target(), simd_targets().back());
  setenv("HALFTONE_SIMD", "", 1);
  use_simd_target("auto");
  use_simd_target_from_environment();
  EXPECT_EQ(current_simd_target(), simd_targets().front());
}

TEST_F(Targets, EnvironmentErrorsNameTheVariable) {
  setenv("HALFTONE_SIMD", "fastest", 1);
  try {
    use_simd_target_from_environment();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("HALFTONE_SIMD"));
  }
}

}  // namespace
}  // namespace halftone::kernels
