// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/core.cc"
#include "halftone/kernels/core.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/byte_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

Core CoreOfTarget() { return HWY_TARGET == HWY_AVX3_DL ? Core::kAvx512 : Core::kAvx2; }

bool SumsShorts() { return kSumsShorts; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(CoreOfTarget);
HWY_EXPORT(SumsShorts);

Core current_core() noexcept { return HWY_DYNAMIC_DISPATCH(CoreOfTarget)(); }

bool prefers_small_levels() noexcept { return HWY_DYNAMIC_DISPATCH(SumsShorts)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
