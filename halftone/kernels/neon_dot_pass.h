// SPDX-License-Identifier: Apache-2.0
// Compiles the source that includes this, after its code for a target and before `#if HWY_ONCE`,
// for NEON_DOT too. HALFTONE_DISPATCH_DOT() then calls what HALFTONE_EXPORT() lists.
//
// Highway's functions for NEON are compiled once more, in a namespace of another name;
// HWY_BEFORE_NAMESPACE() then allows the compiler the instructions of Armv8.2.
#pragma once

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/neon_dot.h"

#if HALFTONE_HAS_NEON_DOT

// As Highway does for another target: the next inclusion of its headers and of -inl.h counts.
#ifdef HWY_TARGET_TOGGLE
#undef HWY_TARGET_TOGGLE
#else
#define HWY_TARGET_TOGGLE
#endif
#define N_NEON N_NEON_DOT
#include <hwy/highway.h>
#undef HWY_TARGET_STR
#define HWY_TARGET_STR "arch=armv8.2-a+dotprod+crypto"
#undef HWY_ONCE
#define HWY_ONCE 0
#include HWY_TARGET_INCLUDE
#undef HWY_ONCE
#define HWY_ONCE 1
#undef N_NEON

#define HALFTONE_DISPATCH_DOT(function) \
  (uses_neon_dot() ? N_NEON_DOT::function : HALFTONE_DISPATCH(function))
#else
#define HALFTONE_DISPATCH_DOT(function) HALFTONE_DISPATCH(function)
#endif
