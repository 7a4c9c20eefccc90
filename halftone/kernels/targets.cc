// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/targets.h"

#include <hwy/highway.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "halftone/base/error.h"

namespace halftone::kernels {
namespace {

/// The targets that use_simd_target() has disabled, as Highway's bits.
std::atomic<std::int64_t> disabled_targets{0};

void disable(std::int64_t targets) {
  disabled_targets = targets;
  hwy::DisableTargets(targets);
}

/// All usable targets, including disabled ones, best first (better targets have lower bits).
std::vector<std::int64_t> usable_targets() {
  hwy::DisableTargets(0);
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  hwy::DisableTargets(disabled_targets);
  return targets;
}

std::string choices(const std::vector<std::int64_t>& targets) {
  std::string list = "auto";
  for (const std::int64_t target : targets) list += std::string(", ") + hwy::TargetName(target);
  return list;
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : usable_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string current_simd_target() {
  const std::int64_t target = hwy::SupportedAndGeneratedTargets().front();
  // The query makes Highway forget the disabled targets until it chooses again.
  hwy::DisableTargets(disabled_targets);
  return hwy::TargetName(target);
}

void use_simd_target(std::string_view name) {
  if (name == "auto") return disable(0);
  const std::vector<std::int64_t> usable = usable_targets();
  for (const std::int64_t target : usable) {
    if (name == hwy::TargetName(target)) return disable(~target);
  }
  fail(ErrorKind::kUsage,
       "SIMD target: expected one of " + choices(usable) + ", found '" + std::string(name) + "'");
}

void use_simd_target_from_environment() {
  const char* name = std::getenv("HALFTONE_SIMD");
  if (name == nullptr || *name == '\0') return;
  with_context("HALFTONE_SIMD", [name] { use_simd_target(name); });
}

}  // namespace halftone::kernels
