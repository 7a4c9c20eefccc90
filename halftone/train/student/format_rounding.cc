// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/format_rounding.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"

namespace halftone::train {
namespace {

using numerics::Minifloat;

/// max|x| as the bits of a float32; non-finite values have the largest bits.
std::int32_t largest_bits(std::span<const float> numbers) {
  std::int32_t most = 0;
  for (const float x : numbers) most = std::max(most, std::bit_cast<std::int32_t>(x) & 0x7fffffff);
  return most;
}

/// @param round  rounds a value of magnitude up to 2^15 to a neighbouring integer
template <typename Round>
void round_to_integers(const ScaledIntegers& integers, std::span<float> numbers,
                       const Round& round) {
  constexpr std::int32_t kInfinityBits = 0x7f800000;
  const std::int32_t most = largest_bits(numbers);
  if (most == 0 || most >= kInfinityBits) return;
  const double last = (1 << (integers.bits - 1)) - 1;
  const double step = static_cast<double>(std::bit_cast<float>(most)) / last;
  for (float& x : numbers) x = static_cast<float>(round(static_cast<double>(x) / step) * step);
}

/// Ties to even: float64 values around 1.5 2^52 have no fraction bits.
double nearest_integer(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/// floor(x + u), where u is the middle of one of 2^32 equal parts of [0, 1): if the exact x is an
/// integer, the rounding error of the division does not change the result.
double stochastic_integer(double x, std::uint64_t random) {
  const double u = (static_cast<double>(static_cast<std::uint32_t>(random >> 32)) + 0.5) * 0x1p-32;
  constexpr std::int32_t kOffset = 1 << 16;
  return static_cast<std::int32_t>(x + u + kOffset) - kOffset;
}

/// A copy of the tensor in main memory, and its elements in memory order.
std::pair<at::Tensor, std::span<float>> copy_of(const at::Tensor& x) {
  HALFTONE_ASSERT(x.scalar_type() == at::kFloat);
  at::Tensor copy = x.is_cpu() ? x.detach().clone() : x.detach().cpu();
  return {copy, std::span<float>(copy.data_ptr<float>(), static_cast<std::size_t>(copy.numel()))};
}

}  // namespace

at::Tensor rounded_to_nearest(const NumberFormat& format, const at::Tensor& x) {
  auto [copy, numbers] = copy_of(x);
  if (const auto* system = std::get_if<Minifloat>(&format)) {
    numerics::round_to_nearest(*system, numbers);
  } else if (const auto* integers = std::get_if<ScaledIntegers>(&format)) {
    round_to_integers(*integers, numbers, nearest_integer);
  }
  return copy.to(x.device());
}

at::Tensor rounded_stochastically(const NumberFormat& format, const at::Tensor& x,
                                  std::uint64_t seed) {
  auto [copy, numbers] = copy_of(x);
  Random random(seed);
  if (const auto* system = std::get_if<Minifloat>(&format)) {
    numerics::round_stochastically(*system, numbers, random);
  } else if (const auto* integers = std::get_if<ScaledIntegers>(&format)) {
    round_to_integers(*integers, numbers,
                      [&](double number) { return stochastic_integer(number, random.next()); });
  }
  return copy.to(x.device());
}

std::uint64_t seed_of(std::uint64_t seed, std::initializer_list<std::uint64_t> place) {
  for (const std::uint64_t each : place) seed = Random(Random(seed).next() ^ each).next();
  return seed;
}

}  // namespace halftone::train
