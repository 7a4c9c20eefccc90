// SPDX-License-Identifier: Apache-2.0
// The instruction set of the kernels: the best one, unless a context of the library, `--simd` or
// the environment variable HALFTONE_SIMD names another; and the family of processors that their
// costs are for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halftone::kernels {

/// Names of the targets that are compiled in and that this processor supports, best first, e.g.
/// {"AVX2_VNNI", "AVX2", "SSE4"} or {"NEON_DOT", "NEON"}, regardless of restrictions.
const std::vector<std::string>& simd_targets();

/// The target that kernels of the current thread run on.
std::string current_simd_target();

/// The value of ThreadSettings::simd for a target; 0 for "auto", which is then the target of
/// use_simd_target().
/// @throws Error kUsage if no such target is compiled in or this processor lacks it; the text
///         lists the choices
int simd_setting(std::string_view name);

/// Makes kernels run on the named target from the next call on, in all threads whose settings name
/// none; "auto" selects the best one. Plans that were made for another target still give the same
/// bits, but may be slower.
/// @throws Error as simd_setting()
void use_simd_target(std::string_view name);

/// use_simd_target() with the value of HALFTONE_SIMD, if that is set and not empty.
/// @throws Error kUsage as use_simd_target()
void use_simd_target_from_environment();

enum class Core {
  kAvx2,       ///< and every other one without a family of its own; 64-bit Arm is not measured
  kAvx512,     ///< with VNNI: Highway's AVX3_DL
  kAvx512Amd,  ///< the same by AMD, which computes 512 bits in two halves up to Zen 4
};

/// The family that the kernels' current target is for. Safe while kernels run.
Core current_core() noexcept;

/// Whether products of small levels, up to 15, are faster than others on the kernels' current
/// target: where sums of several of them are added in 16 bits.
bool prefers_small_levels() noexcept;

}  // namespace halftone::kernels
