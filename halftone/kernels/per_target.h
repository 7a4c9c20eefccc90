// SPDX-License-Identifier: Apache-2.0
// For tests: runs a fixture once for every target that is compiled in and that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "halftone/kernels/targets.h"

namespace halftone::kernels {

class PerTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_simd_target(GetParam()); }
  void TearDown() override { use_simd_target("auto"); }
};

inline std::string target_test_name(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace halftone::kernels

#define HALFTONE_INSTANTIATE_PER_TARGET(fixture)                                                \
  INSTANTIATE_TEST_SUITE_P(Simd, fixture, testing::ValuesIn(halftone::kernels::simd_targets()), \
                           halftone::kernels::target_test_name)
