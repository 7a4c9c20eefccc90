// SPDX-License-Identifier: Apache-2.0
// Compiles the source that includes this, after its code for a target and before `#if HWY_ONCE`,
// for NEON_DOT or AVX2_VNNI too. HALFTONE_DISPATCH_DOT() then calls what HALFTONE_EXPORT() lists.
// No #pragma once: only the last inclusion counts, when all targets of Highway's are compiled.

#include "halftone/kernels/byte_dot.h"
#include "halftone/kernels/dispatch.h"

#if HWY_ONCE
#undef HWY_ONCE
#define HWY_ONCE 0

#if HALFTONE_HAS_NEON_DOT

#define N_NEON N_DOT
#define HALFTONE_DOT_TARGET_STR "arch=armv8.2-a+dotprod+crypto"
#include "halftone/kernels/dot_target-inl.h"
#undef N_NEON
#define HALFTONE_DISPATCH_DOT(function) \
  (::halftone::kernels::choose_dot(HALFTONE_DISPATCH(function), N_DOT::function))

#elif HALFTONE_HAS_AVX2_VNNI

#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#define N_AVX2 N_DOT
#define HALFTONE_VPDPBUSD "%{vex%} vpdpbusd"
#include "halftone/kernels/dot_target-inl.h"
#undef N_AVX2
#undef HALFTONE_VPDPBUSD
#define N_AVX2 N_DOT_EVEX
#define HALFTONE_VPDPBUSD "%{evex%} vpdpbusd"
#include "halftone/kernels/dot_target-inl.h"
#undef N_AVX2
#undef HALFTONE_VPDPBUSD
#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#define HALFTONE_DISPATCH_DOT(function)                                          \
  (::halftone::kernels::choose_dot(HALFTONE_DISPATCH(function), N_DOT::function, \
                                   N_DOT_EVEX::function))

#else
#define HALFTONE_DISPATCH_DOT(function) HALFTONE_DISPATCH(function)
#endif

#undef HWY_ONCE
#define HWY_ONCE 1
#endif
