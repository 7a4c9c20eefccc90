// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/targets.h"

#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "halftone/base/error.h"
#include "halftone/base/near_names.h"
#include "halftone/base/thread_settings.h"
#include "halftone/kernels/byte_dot.h"
#include "halftone/kernels/dispatch.h"

#if HALFTONE_HAS_NEON_DOT
#include <sys/auxv.h>
#elif HALFTONE_HAS_AVX2_VNNI
#include <cpuid.h>
#endif

namespace halftone::kernels {
namespace {

/// A target of Highway's, alone or with the dot products of dot_pass-inl.h.
struct Target {
  std::string name;
  std::size_t index;  ///< in the tables of HALFTONE_EXPORT
  ByteDot dot;
};

#if HALFTONE_HAS_NEON_DOT

/// The target that dot_pass-inl.h adds to, and what is appended to its name.
constexpr std::int64_t kDotTarget = HWY_NEON;
constexpr const char* kDotSuffix = "_DOT";

/// Which code of dot_pass-inl.h this processor runs, if it supports kDotTarget.
ByteDot find_byte_dot() {
  constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_ASIMDRDM | HWCAP_ATOMICS | HWCAP_CRC32;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded ? ByteDot::kDot : ByteDot::kNone;
}

#elif HALFTONE_HAS_AVX2_VNNI

constexpr std::int64_t kDotTarget = HWY_AVX2;
constexpr const char* kDotSuffix = "_VNNI";

ByteDot find_byte_dot() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const bool has_leaf = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && a >= 1 &&
                        __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0;
  if (has_leaf && (a >> 4 & 1) != 0) return ByteDot::kDot;
  const bool has_evex = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return has_evex ? ByteDot::kEvex : ByteDot::kNone;
}

#else

constexpr std::int64_t kDotTarget = 0;
constexpr const char* kDotSuffix = "";

ByteDot find_byte_dot() { return ByteDot::kNone; }

#endif

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
    const ByteDot dot = highway == kDotTarget ? find_byte_dot() : ByteDot::kNone;
    if (dot != ByteDot::kNone) targets.push_back({name + kDotSuffix, index_of(highway), dot});
    targets.push_back({name, index_of(highway), ByteDot::kNone});
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

ByteDot byte_dot() noexcept { return current_target().dot; }

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
  fail(ErrorKind::kUsage, "SIMD target: expected one of " + choices + ", found '" +
                              std::string(name) + "'" + meant_name(name, names));
}

void use_simd_target(std::string_view name) { process_setting = std::max(1, simd_setting(name)); }

void use_simd_target_from_environment() {
  const char* name = std::getenv("HALFTONE_SIMD");
  if (name == nullptr || *name == '\0') return;
  with_context("HALFTONE_SIMD", [name] { use_simd_target(name); });
}

}  // namespace halftone::kernels
