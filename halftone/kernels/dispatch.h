// SPDX-License-Identifier: Apache-2.0
// Calls the variant of a kernel for the SIMD target of the current thread. Highway's own macro
// knows one target for the whole process.
#pragma once

#include <cstddef>

#include "halftone/kernels/neon_dot.h"

namespace halftone::kernels {

/// The entry of the tables of HWY_EXPORT for the target that kernels of the current thread run on.
[[nodiscard]] std::size_t target_index() noexcept;

}  // namespace halftone::kernels

#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
#define HALFTONE_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
#define HALFTONE_DISPATCH(function) \
  (*(HWY_DISPATCH_TABLE(function)[::halftone::kernels::target_index()]))
#endif
