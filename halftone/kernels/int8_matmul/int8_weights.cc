// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/int8_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/kernels/encoded.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"

namespace halftone::kernels {
namespace {

/// Steps within +-127, or for 8 bits from -128 to 127: as many as possible so that levels are
/// exact; if they cannot be, as many as for evenly spaced ones.
int activation_steps(const numerics::Levels& levels) {
  const int most = levels.bits() == 8 ? 255 : 254;
  const int exact = levels.codebook() == nullptr ? 0 : levels.codebook()->exact_steps(most);
  const int gaps = (1 << levels.bits()) - 1;
  return exact != 0 ? exact : most / gaps * gaps;
}

/// u of q = 0.
constexpr int middle_step(int steps) { return (steps + 1) / 2; }

/// acc of one output after all its groups, before the scale.
float level_dot(std::span<const std::int8_t> q, const numerics::BitPlanes& w, std::size_t row,
                const numerics::MatrixEncoding& encoding) {
  const std::size_t groups = encoding.groups_per_row(w.cols);
  const std::size_t width =
      encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size : w.cols;
  const int steps = encoding.weight_steps();
  float acc = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const LevelGrid grid = weight_grid(encoding.levels(row, g, w.cols));
    const std::size_t begin = g * width;
    const std::size_t end = std::min(begin + width, w.cols);
    std::int32_t p = 0;
    std::int32_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      p += (2 * grid.u[w.code(row, i)] - steps) * q[i];
      sum += q[i];
    }
    acc += grid.half_step * static_cast<float>(p);
    if (!encoding.is_centred()) acc += grid.center * static_cast<float>(sum);
  }
  return acc;
}

/// @param dot  of a row of integers and the weights of an output
template <typename Dot>
void multiply(const Dot& dot, const Int8Rows& x, std::span<const float> bias, MatrixView<float> y) {
  const std::vector<std::int8_t> ones(x.q.cols(), 1);
  for (std::size_t r = 0; r < x.q.rows(); ++r) {
    for (std::size_t o = 0; o < y.cols(); ++o) {
      y(r, o) = dot(x.q.row(r), o) * x.scales[r];
      if (x.offset != 0) y(r, o) += x.offset * dot(ones, o);
      if (!bias.empty()) y(r, o) += bias[o];
    }
  }
}

}  // namespace

LevelGrid::LevelGrid(const numerics::Levels& levels, int steps) {
  HALFTONE_ASSERT(levels.bits() <= numerics::kMaxBits);
  const std::size_t num_codes = levels.num_codes();
  std::array<double, std::size_t{1} << numerics::kMaxBits> values{};
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t code = 0; code < num_codes; ++code) {
    values[code] = levels.value(static_cast<numerics::Code>(code));
    if (!std::isfinite(values[code])) continue;
    low = std::min(low, values[code]);
    high = std::max(high, values[code]);
  }
  const double step = (high - low) / steps;
  for (std::size_t code = 0; code < num_codes && step != 0; ++code) {
    if (!std::isfinite(values[code])) continue;
    u[code] = static_cast<std::uint8_t>(std::lround((values[code] - low) / step));
  }
  center = static_cast<float>((low + high) / 2);
  half_step = static_cast<float>(step / 2);
}

LevelGrid weight_grid(const numerics::Levels& levels) {
  const int steps = levels.codebook() == nullptr ? numerics::weight_steps(levels.bits())
                                                 : levels.codebook()->weight_steps();
  if (!levels.is_summed() || levels.bits() > numerics::kMaxSummedBits) return {levels, steps};
  const numerics::Basis basis = levels.basis();
  LevelGrid grid;
  const auto k = numerics::integer_coefficients(basis, steps);
  double range = 0;
  for (const float a : basis.a()) range += std::abs(double{a});
  grid.center = basis.offset;
  grid.half_step = static_cast<float>(range / steps);
  for (std::size_t code = 0; code < basis.num_levels(); ++code) {
    int u = 0;
    for (std::size_t j = 0; j < basis.a().size(); ++j) {
      if ((code >> j & 1) != (k[j] < 0 ? 1 : 0)) u += std::abs(k[j]);
    }
    grid.u[code] = static_cast<std::uint8_t>(u);
  }
  return grid;
}

std::int32_t common_factor(const numerics::MatrixEncoding& encoding) {
  constexpr int kMaxSmallBits = 4;
  if (encoding.bits > kMaxSmallBits) return 1;
  const std::int32_t steps = encoding.weight_steps();
  const std::int32_t factor = steps / ((1 << encoding.bits) - 1);
  const auto is_multiple = [factor](std::uint8_t u) { return u % factor == 0; };
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    if (!std::ranges::all_of(weight_grid(encoding.levels(block)).u, is_multiple)) return 1;
  }
  return factor;
}

Int8Levels::Int8Levels(const numerics::Levels& levels) {
  const int steps = activation_steps(levels);
  const LevelGrid grid(levels, steps);
  const int middle = middle_step(steps);
  scale = 2 * grid.half_step;
  offset = grid.center + grid.half_step * static_cast<float>(2 * middle - steps);
  const bool is_exact =
      levels.codebook() != nullptr && levels.codebook()->exact_steps(steps) == steps;
  for (std::size_t code = 0; code < levels.num_codes(); ++code) {
    q[code] = static_cast<std::int8_t>(grid.u[code] - middle);
    // Such a level is on the grid, so that its own value is the most exact.
    if (is_exact && q[code] == 0) offset = levels.value(static_cast<numerics::Code>(code));
  }
}

Int8Weights::Int8Weights(const std::string& kernel, const numerics::BitPlanes& codes,
                         const numerics::MatrixEncoding& encoding, std::span<const float> bias)
    : outputs_(codes.rows),
      inputs_(codes.cols),
      bits_(static_cast<std::size_t>(codes.bits)),
      steps_(encoding.weight_steps()),
      group_inputs_(encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size
                                                                          : codes.cols),
      has_offset_(!encoding.is_centred()) {
  check_weights(kernel, codes, encoding, bias, kMaxInputs);
  num_groups_ = encoding.groups_per_row(inputs_);
  totals_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
}

void Int8Weights::set_bias(std::span<const float> bias) {
  if (bias.empty()) return;
  bias_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  std::copy(bias.begin(), bias.end(), bias_.as<float>().begin());
}

void level_matmul_reference(const Int8Rows& x, const numerics::BitPlanes& w,
                            const numerics::MatrixEncoding& w_encoding, std::span<const float> bias,
                            MatrixView<float> y) {
  const auto dot = [&](std::span<const std::int8_t> q, std::size_t output) {
    return level_dot(q, w, output, w_encoding);
  };
  multiply(dot, x, bias, y);
}

}  // namespace halftone::kernels
