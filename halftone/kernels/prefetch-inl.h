// SPDX-License-Identifier: Apache-2.0
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_PREFETCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_PREFETCH_INL_H_
#undef HALFTONE_KERNELS_PREFETCH_INL_H_
#else
#define HALFTONE_KERNELS_PREFETCH_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Prefetches memory that will soon be read, in lines of 64 bytes; it may lie past the end of a
/// buffer. Hardware prefetchers detect regular streams only, and not across page boundaries.
HWY_INLINE void Prefetch(const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += 64) hwy::Prefetch(from + line);
}

/// The same into the second-level cache only: for what is read much later. More of these requests
/// can be on their way at a time than of those for the first level.
HWY_INLINE void PrefetchFar(const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += 64) {
    __builtin_prefetch(from + line, 0, 2);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
