// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/recurrence/recurrence.cc"
#include "halftone/kernels/recurrence/recurrence.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstddef>

#include "halftone/base/error.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls body(d, i) for vectors, then for single numbers.
template <class Body>
HWY_INLINE void ForEachVector(std::size_t count, const Body& body) {
  const hn::ScalableTag<float> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) body(d, i);
  for (; i < count; ++i) body(hn::CappedTag<float, 1>(), i);
}

void AddProducts(const float* HWY_RESTRICT kernel, const float* HWY_RESTRICT x, std::size_t count,
                 float* HWY_RESTRICT sum) {
  ForEachVector(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto product = hn::Mul(hn::LoadU(d, kernel + i), hn::LoadU(d, x + i));
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), product), d, sum + i);
  });
}

/// Stores states and adds them to y.
template <class D, class V>
HWY_INLINE void KeepState(D d, V state, float out, float* to, float* y) {
  hn::StoreU(state, d, to);
  hn::StoreU(hn::Add(hn::LoadU(d, y), hn::Mul(hn::Set(d, out), state)), d, y);
}

void StepStates(const float* HWY_RESTRICT decay, const float* HWY_RESTRICT x, float in, float out,
                std::size_t count, float* HWY_RESTRICT state, float* HWY_RESTRICT y) {
  ForEachVector(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto left = hn::Mul(hn::LoadU(d, state + i), hn::LoadU(d, decay + i));
    const auto more = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, in));
    KeepState(d, hn::Add(left, more), out, state + i, y + i);
  });
}

void DecayStates(float decay, float out, std::size_t count, float* HWY_RESTRICT state,
                 float* HWY_RESTRICT y) {
  ForEachVector(count, [&](auto d, std::size_t i) HWY_ATTR {
    KeepState(d, hn::Mul(hn::LoadU(d, state + i), hn::Set(d, decay)), out, state + i, y + i);
  });
}

void ChangeStates(const float* HWY_RESTRICT x, float in, float out, std::size_t count,
                  float* HWY_RESTRICT state, float* HWY_RESTRICT y) {
  ForEachVector(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto more = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, in));
    KeepState(d, hn::Add(hn::LoadU(d, state + i), more), out, state + i, y + i);
  });
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(AddProducts);
HALFTONE_EXPORT(StepStates);
HALFTONE_EXPORT(DecayStates);
HALFTONE_EXPORT(ChangeStates);

void add_products(std::span<const float> kernel, std::span<const float> x,
                  std::span<float> sum) noexcept {
  HALFTONE_ASSERT(kernel.size() == sum.size() && x.size() == sum.size());
  HALFTONE_DISPATCH(AddProducts)(kernel.data(), x.data(), sum.size(), sum.data());
}

void step_states(std::span<const float> decay, std::span<const float> x,
                 const StateFactors& factors, std::span<float> state, std::span<float> y) noexcept {
  HALFTONE_ASSERT(decay.size() == y.size() && x.size() == y.size() && state.size() == y.size());
  HALFTONE_DISPATCH(StepStates)
  (decay.data(), x.data(), factors.in, factors.out, y.size(), state.data(), y.data());
}

void decay_states(float decay, float out, std::span<float> state, std::span<float> y) noexcept {
  HALFTONE_ASSERT(state.size() == y.size());
  HALFTONE_DISPATCH(DecayStates)(decay, out, y.size(), state.data(), y.data());
}

void change_states(std::span<const float> x, float in, float out, std::span<float> state,
                   std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size() && state.size() == y.size());
  HALFTONE_DISPATCH(ChangeStates)(x.data(), in, out, y.size(), state.data(), y.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
