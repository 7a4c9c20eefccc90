// SPDX-License-Identifier: Apache-2.0
// One of the passes of dot_pass-inl.h: Highway's functions and the source are compiled once more,
// in a namespace of another name. HALFTONE_DOT_TARGET_STR, if defined, are the instructions that
// HWY_BEFORE_NAMESPACE() then allows the compiler.

// As Highway does for another target: the next inclusion of its headers and of -inl.h counts.
#ifdef HWY_TARGET_TOGGLE
#undef HWY_TARGET_TOGGLE
#else
#define HWY_TARGET_TOGGLE
#endif
#include <hwy/highway.h>
#ifdef HALFTONE_DOT_TARGET_STR
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HALFTONE_DOT_TARGET_STR
#endif
#include HWY_TARGET_INCLUDE
