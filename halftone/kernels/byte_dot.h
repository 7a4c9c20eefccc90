// SPDX-License-Identifier: Apache-2.0
// Targets with dot products of bytes that Highway 1.0.3 does not know: NEON_DOT, which is NEON with
// `sdot` of Armv8.2, and AVX2_VNNI, which is AVX2 with `vpdpbusd` on 256 bits.
#pragma once

#include <hwy/detect_targets.h>

/// Whether kernels that multiply bytes are compiled for NEON_DOT too. Not if the compiler may use
/// dot products everywhere: then NEON has them.
#if HWY_STATIC_TARGET == HWY_NEON && HWY_HAVE_RUNTIME_DISPATCH && !defined(__ARM_FEATURE_DOTPROD)
#define HALFTONE_HAS_NEON_DOT 1
#else
#define HALFTONE_HAS_NEON_DOT 0
#endif

/// Whether they are compiled for AVX2_VNNI too.
#if HWY_TARGETS & HWY_AVX2
#define HALFTONE_HAS_AVX2_VNNI 1
#else
#define HALFTONE_HAS_AVX2_VNNI 0
#endif

namespace halftone::kernels {

/// Dot products of bytes that a target has beyond those of Highway's.
enum class ByteDot {
  kNone,
  kDot,   ///< of NEON_DOT; of AVX2_VNNI as AVX-VNNI encodes them
  kEvex,  ///< of AVX2_VNNI as AVX-512 VNNI encodes them: the same code runs where AVX-VNNI is
          ///< missing
};

/// What the kernels use now. Safe while kernels run.
ByteDot byte_dot() noexcept;

/// The variant of a function for byte_dot().
template <class Function>
Function* choose_dot(Function* none, Function* dot, Function* evex = nullptr) noexcept {
  switch (byte_dot()) {
    case ByteDot::kNone:
      return none;
    case ByteDot::kDot:
      return dot;
    case ByteDot::kEvex:
      break;
  }
  return evex;
}

}  // namespace halftone::kernels
