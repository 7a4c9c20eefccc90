// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/core.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/byte_dot.h"
#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

Core CoreOfTarget() {
  if (HWY_TARGET != HWY_AVX3_DL) return Core::kAvx2;
#if HWY_ARCH_X86
  if (__builtin_cpu_is("amd") != 0) return Core::kAvx512Amd;
#endif
  return Core::kAvx512;
}

bool SumsShorts() { return kSumsShorts; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(CoreOfTarget);
HALFTONE_EXPORT(SumsShorts);

Core current_core() noexcept { return HALFTONE_DISPATCH(CoreOfTarget)(); }

bool prefers_small_levels() noexcept {
  return byte_dot() == ByteDot::kNone && HALFTONE_DISPATCH(SumsShorts)();
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
