// SPDX-License-Identifier: Apache-2.0
// Calls the variant of a kernel for the SIMD target of the current thread. Highway's own macros
// know one target for the whole process, and need its library.
#pragma once

#include <cstddef>

#include "halftone/kernels/byte_dot.h"

namespace halftone::kernels {

/// The entry of the tables of HALFTONE_EXPORT for the target that kernels of the current thread run
/// on.
[[nodiscard]] std::size_t target_index() noexcept;

}  // namespace halftone::kernels

#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
#define HALFTONE_EXPORT(function) HWY_EXPORT(function)
#define HALFTONE_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
/// A table of the variants of a function; the entry 0 is that of Highway's own choice.
#define HALFTONE_EXPORT(function)                                                          \
  static decltype(&HWY_STATIC_DISPATCH(function)) const HWY_DISPATCH_TABLE(                \
      function)[HWY_MAX_DYNAMIC_TARGETS + 2] = {nullptr, HWY_CHOOSE_TARGET_LIST(function), \
                                                HWY_CHOOSE_FALLBACK(function)}
#define HALFTONE_DISPATCH(function) \
  (*(HWY_DISPATCH_TABLE(function)[::halftone::kernels::target_index()]))
#endif
