// SPDX-License-Identifier: Apache-2.0
// NEON_DOT: NEON with the dot products of bytes of Armv8.2, which Highway 1.0.3 does not know as a
// target.
#pragma once

#include <hwy/detect_targets.h>

/// Whether kernels that multiply bytes are compiled for NEON_DOT too. Not if the compiler may use
/// dot products everywhere: then NEON has them.
#if HWY_STATIC_TARGET == HWY_NEON && HWY_HAVE_RUNTIME_DISPATCH && !defined(__ARM_FEATURE_DOTPROD)
#define HALFTONE_HAS_NEON_DOT 1
#else
#define HALFTONE_HAS_NEON_DOT 0
#endif

namespace halftone::kernels {

/// Whether the kernels run on NEON_DOT now. Safe while kernels run.
bool uses_neon_dot() noexcept;

}  // namespace halftone::kernels
