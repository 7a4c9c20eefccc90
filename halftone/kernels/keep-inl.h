// SPDX-License-Identifier: Apache-2.0
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_KEEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_KEEP_INL_H_
#undef HALFTONE_KERNELS_KEEP_INL_H_
#else
#define HALFTONE_KERNELS_KEEP_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Returns the vector and makes the compiler keep it in a register: it neither loads it again nor
/// reorders the operations that computed it. GCC 12 otherwise folds a load into each of its uses
/// and sums in trees that do not fit the registers.
template <class V>
HWY_INLINE V Keep(V v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  asm("" : "+v"(v.raw));  // any of 32 registers; "x" allows the lower 16 only
#elif HWY_TARGET != HWY_SCALAR
  asm("" : "+x"(v.raw));
#endif
#endif
  return v;
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
