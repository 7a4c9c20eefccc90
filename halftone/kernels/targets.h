// SPDX-License-Identifier: Apache-2.0
// Selects the instruction set of the kernels: at the first call, unless `--simd` or the environment
// variable HALFTONE_SIMD restricts it, for tests and bug reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halftone::kernels {

/// Names of the targets that are compiled in and that this processor supports, best first, e.g.
/// {"AVX2", "SSE4"} or {"NEON_DOT", "NEON"}, regardless of restrictions. Call it while no kernel
/// runs.
std::vector<std::string> simd_targets();

/// The target the kernels run on now. Call it while no kernel runs.
std::string current_simd_target();

/// Makes every kernel run on the named target from the next call on; "auto" selects the best one.
/// Call it before the threads start.
/// @throws Error kUsage if no such target is compiled in or this processor lacks it; the text
///         lists the choices
void use_simd_target(std::string_view name);

/// use_simd_target() with the value of HALFTONE_SIMD, if that is set and not empty.
/// @throws Error kUsage as use_simd_target()
void use_simd_target_from_environment();

}  // namespace halftone::kernels
