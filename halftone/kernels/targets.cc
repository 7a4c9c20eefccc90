// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/targets.h"

#include <hwy/highway.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "halftone/base/error.h"
#include "halftone/kernels/neon_dot.h"

#if HALFTONE_HAS_NEON_DOT
#include <sys/auxv.h>
#endif

namespace halftone::kernels {
namespace {

/// A target of Highway's, with or without dot products of bytes.
struct Target {
  std::int64_t highway;  ///< bit
  bool has_dot;

  [[nodiscard]] std::string name() const {
    return std::string(hwy::TargetName(highway)) + (has_dot ? "_DOT" : "");
  }
};

/// The targets that use_simd_target() has disabled, as Highway's bits, and NEON_DOT.
std::atomic<std::int64_t> disabled_targets{0};
std::atomic<bool> disabled_dot{false};

void disable(std::int64_t targets, bool dot) {
  disabled_targets = targets;
  disabled_dot = dot;
  hwy::DisableTargets(targets);
}

/// Whether this processor has what neon_dot_pass.h lets the compiler use.
bool has_neon_dot() {
#if HALFTONE_HAS_NEON_DOT
  constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_ASIMDRDM | HWCAP_ATOMICS | HWCAP_CRC32;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#else
  return false;
#endif
}

/// All usable targets, including disabled ones, best first (better targets have lower bits).
std::vector<Target> usable_targets() {
  hwy::DisableTargets(0);
  std::vector<Target> targets;
  for (const std::int64_t highway : hwy::SupportedAndGeneratedTargets()) {
    if (highway == HWY_NEON && has_neon_dot()) targets.push_back({highway, true});
    targets.push_back({highway, false});
  }
  hwy::DisableTargets(disabled_targets);
  return targets;
}

std::string choices(const std::vector<Target>& targets) {
  std::string list = "auto";
  for (const Target& target : targets) list += ", " + target.name();
  return list;
}

}  // namespace

bool uses_neon_dot() noexcept {
  static const bool has = has_neon_dot();
  return has && !disabled_dot;
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const Target& target : usable_targets()) names.push_back(target.name());
  return names;
}

std::string current_simd_target() {
  const std::int64_t target = hwy::SupportedAndGeneratedTargets().front();
  // The query makes Highway forget the disabled targets until it chooses again.
  hwy::DisableTargets(disabled_targets);
  return Target{target, target == HWY_NEON && uses_neon_dot()}.name();
}

void use_simd_target(std::string_view name) {
  if (name == "auto") return disable(0, false);
  const std::vector<Target> usable = usable_targets();
  for (const Target& target : usable) {
    if (name == target.name()) return disable(~target.highway, !target.has_dot);
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
