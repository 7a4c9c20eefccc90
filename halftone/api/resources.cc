// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/resources.h"

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/targets.h"

namespace halftone {
namespace {

constexpr int kMaxThreads = 1024;

}  // namespace

std::string simd_of(const Resources& resources) {
  const bool chooses = resources.simd.empty() || resources.simd == "auto";
  return chooses ? std::string(kernels::simd_targets().front()) : resources.simd;
}

ThreadSettings settings_for(const Resources& resources) {
  if (resources.threads < 0 || resources.threads > kMaxThreads) {
    fail(ErrorKind::kUsage, "threads: expected 0 to " + std::to_string(kMaxThreads) + ", found " +
                                std::to_string(resources.threads));
  }
  const int threads = resources.threads != 0 ? resources.threads : num_cores();
  return {threads, kernels::simd_setting(simd_of(resources)), resources.memory_bytes};
}

}  // namespace halftone
