// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/format_rounding.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <span>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/numerics/number_format.h"

namespace halftone::train {
namespace {

using numerics::NumberFormat;

bool all_finite(std::span<const float> numbers) {
  constexpr std::int32_t kInfinity = 0x7f800000;
  std::int32_t most = 0;  // without branches on floats, the compiler vectorizes the loop
  for (const float x : numbers) most = std::max(most, std::bit_cast<std::int32_t>(x) & 0x7fffffff);
  return most < kInfinity;
}

/// Whether a format needs finite numbers: it has scales, and codes for nothing else.
bool needs_finite(const NumberFormat& format) {
  return format.system->rule != numerics::ScaleRule::kUnit && format.system->saturating == nullptr;
}

/// A copy that round(rows) has rounded.
template <typename Round>
at::Tensor rounded_copy(const NumberFormat& format, const at::Tensor& x, TensorRows rows,
                        const Round& round) {
  HALFTONE_ASSERT(x.scalar_type() == at::kFloat);
  const at::Tensor copy = x.detach().cpu().clone(at::MemoryFormat::Contiguous);
  const auto size = static_cast<std::size_t>(copy.numel());
  const std::span<float> numbers(copy.data_ptr<float>(), size);
  const bool is_left =
      format.is_float32() || size == 0 || (needs_finite(format) && !all_finite(numbers));
  if (is_left) return copy.to(x.device());
  const std::size_t num_rows = copy.dim() == 0 ? 1
                               : rows == TensorRows::kOutputs
                                   ? static_cast<std::size_t>(copy.size(0))
                                   : size / static_cast<std::size_t>(copy.size(-1));
  round(MatrixView<float>(numbers, num_rows, size / num_rows));
  return copy.to(x.device());
}

}  // namespace

at::Tensor rounded_to_nearest(const NumberFormat& format, const at::Tensor& x, TensorRows rows) {
  return rounded_copy(format, x, rows, [&](MatrixView<float> numbers) {
    numerics::round_by_rule(format, numbers, numbers);
  });
}

at::Tensor rounded_stochastically(const NumberFormat& format, const at::Tensor& x,
                                  std::uint64_t seed, TensorRows rows) {
  return rounded_copy(format, x, rows, [&](MatrixView<float> numbers) {
    Random random(seed);
    numerics::round_by_rule_stochastically(format, numbers, numbers, random);
  });
}

std::uint64_t seed_of(std::uint64_t seed, std::initializer_list<std::uint64_t> place) {
  for (const std::uint64_t each : place) seed = Random(Random(seed).next() ^ each).next();
  return seed;
}

}  // namespace halftone::train
