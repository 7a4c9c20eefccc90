// SPDX-License-Identifier: Apache-2.0
// For tests: runs a fixture once for every target that is compiled in and that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>
#include <string>

namespace halftone::kernels {

class PerTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

inline std::string target_test_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

}  // namespace halftone::kernels

#define HALFTONE_INSTANTIATE_PER_TARGET(fixture)                                                  \
  INSTANTIATE_TEST_SUITE_P(Simd, fixture, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), \
                           target_test_name)
