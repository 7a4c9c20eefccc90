// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/targets.h"

#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/neon_dot.h"

#if HALFTONE_HAS_NEON_DOT
#include <sys/auxv.h>
#endif

namespace halftone::kernels {
namespace {

/// A target of Highway's, with or without dot products of bytes.
struct Target {
  std::string name;
  std::size_t index;  ///< in the tables of HALFTONE_EXPORT
  bool has_dot;
};

/// Whether this processor has what neon_dot_pass.h lets the compiler use.
bool has_neon_dot() {
#if HALFTONE_HAS_NEON_DOT
  constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_ASIMDRDM | HWCAP_ATOMICS | HWCAP_CRC32;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#else
  return false;
#endif
}

/// What this processor and its system support among the targets that are compiled in: the
/// instructions that <hwy/targets.h> names for each. __builtin_cpu_supports() does not know F16C,
/// LZCNT and VAES everywhere; they came with AVX2 and VPCLMULQDQ.
std::int64_t supported_targets() {
  std::int64_t targets = HWY_STATIC_TARGET | HWY_EMU128 | HWY_SCALAR;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const auto add = [&](std::int64_t target, bool has) { targets |= has ? target : 0; };
  const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  const bool avx3_dl =
      avx3 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("vpclmulqdq") &&
      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
      __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq");
  add(HWY_SSE4, sse4);
  add(HWY_AVX2, avx2);
  add(HWY_AVX3, avx3);
  add(HWY_AVX3_DL, avx3_dl);
#endif
  return targets & HWY_TARGETS;
}

std::size_t index_of(std::int64_t highway) {
  hwy::ChosenTarget chosen;
  chosen.Update(highway);
  return chosen.GetIndex();
}

/// All usable targets, best first (better ones have lower bits). The setting i is the i-th, from 1.
std::vector<Target> find_targets() {
  std::vector<Target> targets;
  const std::int64_t supported = supported_targets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    const std::int64_t highway = left & -left;
    const std::string name = hwy::TargetName(highway);
    if (highway == HWY_NEON && has_neon_dot()) {
      targets.push_back({name + "_DOT", index_of(highway), true});
    }
    targets.push_back({name, index_of(highway), false});
  }
  return targets;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all = find_targets();
  return all;
}

/// Of the process: that of use_simd_target().
std::atomic<int> process_setting{1};

const Target& current_target() noexcept {
  const int own = thread_settings().simd;
  const int setting = own != 0 ? own : process_setting.load(std::memory_order_relaxed);
  return targets()[static_cast<std::size_t>(setting - 1)];
}

}  // namespace

std::size_t target_index() noexcept { return current_target().index; }

bool uses_neon_dot() noexcept { return current_target().has_dot; }

const std::vector<std::string>& simd_targets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Target& target : targets()) all.push_back(target.name);
    return all;
  }();
  return names;
}

std::string current_simd_target() { return current_target().name; }

int simd_setting(std::string_view name) {
  if (name == "auto") return 0;
  const std::vector<std::string>& names = simd_targets();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<int>(found - names.begin()) + 1;
  std::string choices = "auto";
  for (const std::string& each : names) choices += ", " + each;
  fail(ErrorKind::kUsage,
       "SIMD target: expected one of " + choices + ", found '" + std::string(name) + "'");
}

void use_simd_target(std::string_view name) { process_setting = std::max(1, simd_setting(name)); }

void use_simd_target_from_environment() {
  const char* name = std::getenv("HALFTONE_SIMD");
  if (name == nullptr || *name == '\0') return;
  with_context("HALFTONE_SIMD", [name] { use_simd_target(name); });
}

}  // namespace halftone::kernels
