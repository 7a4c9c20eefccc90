// SPDX-License-Identifier: Apache-2.0
// Shared by the layouts of bit_matmul(): the job, and the conversion of counts to outputs.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_BIT_MATMUL_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_BIT_MATMUL_EPILOGUE_INL_H_
#undef HALFTONE_KERNELS_BIT_MATMUL_EPILOGUE_INL_H_
#else
#define HALFTONE_KERNELS_BIT_MATMUL_EPILOGUE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "halftone/kernels/bit_matmul/bit_matmul.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The operands of one call: pointers and extents only.
struct Job {
  const std::uint64_t* x;  ///< [m, Kx, words]
  const numerics::Basis& x_basis;
  const BitMatmulWeights& weights;
  MatrixView<float> y;

  [[nodiscard]] std::size_t x_bits() const { return static_cast<std::size_t>(x_basis.bits); }
  /// The planes of an activation row, one after the other.
  [[nodiscard]] const std::uint64_t* row(std::size_t r) const {
    return x + r * x_bits() * weights.words();
  }
};

/// (sum_i ax_i S_i) + n cx of activation row r; 0 if the weights have no offsets.
HWY_INLINE float RowSum(const Job& job, std::size_t r) {
  if (!job.weights.has_offset()) return 0;
  const std::size_t words = job.weights.words();
  const auto n = static_cast<std::int64_t>(job.weights.inputs());
  const std::uint64_t* x = job.row(r);
  float sum = 0;
  for (std::size_t i = 0; i < job.x_bits(); ++i) {
    std::int64_t ones = 0;
    for (std::size_t w = 0; w < words; ++w) ones += std::popcount(x[i * words + w]);
    sum += job.x_basis.coefficients[i] * static_cast<float>(2 * ones - n);
  }
  return sum + static_cast<float>(n) * job.x_basis.offset;
}

/// Converts the counts of differing bits of one row and block to outputs, in the order of the
/// reference.
/// @param counts   [Kw, streams, block_outputs]; the row's planes are the first Kx streams
/// @param out      [block_outputs]
HWY_INLINE void EpilogueBlock(const Job& job, std::size_t block,
                              const std::int32_t* HWY_RESTRICT counts, std::size_t streams,
                              float row_sum, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t block_outputs = job.weights.block_outputs();
  const std::size_t w_bits = job.weights.bits();
  const auto n = hn::Set(di, static_cast<std::int32_t>(job.weights.inputs()));
  for (std::size_t lane = 0; lane < block_outputs; lane += hn::Lanes(d)) {
    const float* floats = job.weights.floats(block) + lane;
    auto acc = hn::Zero(d);
    for (std::size_t i = 0; i < job.x_bits(); ++i) {
      const auto ax = hn::Set(d, job.x_basis.coefficients[i]);
      for (std::size_t j = 0; j < w_bits; ++j) {
        const auto count = hn::LoadU(di, counts + (j * streams + i) * block_outputs + lane);
        const auto dot = hn::ConvertTo(d, hn::Sub(n, hn::Add(count, count)));
        const auto a = hn::Mul(ax, hn::LoadU(d, floats + j * block_outputs));
        acc = hn::Add(acc, hn::Mul(a, dot));
      }
    }
    floats += w_bits * block_outputs;
    if (job.weights.has_offset()) {
      acc = hn::Add(acc, hn::Mul(hn::LoadU(d, floats), hn::Set(d, row_sum)));
    }
    if (job.x_basis.offset != 0) {
      const auto cx = hn::Set(d, job.x_basis.offset);
      acc = hn::Add(acc, hn::Mul(cx, hn::LoadU(d, floats + block_outputs)));
    }
    if (job.weights.has_bias()) acc = hn::Add(acc, hn::LoadU(d, floats + 2 * block_outputs));
    hn::StoreU(acc, d, out + lane);
  }
}

/// EpilogueBlock into row r of y, which may end within the block.
HWY_INLINE void Epilogue(const Job& job, std::size_t block, std::size_t r,
                         const std::int32_t* HWY_RESTRICT counts, std::size_t streams,
                         float row_sum) {
  constexpr std::size_t kMaxOutputs = 32;
  const std::size_t block_outputs = job.weights.block_outputs();
  const std::size_t column = block * block_outputs;
  const std::size_t columns = std::min(block_outputs, job.weights.outputs() - column);
  float* y = job.y.data_handle() + r * job.y.stride() + column;
  if (columns == block_outputs) {
    EpilogueBlock(job, block, counts, streams, row_sum, y);
    return;
  }
  alignas(64) float out[kMaxOutputs];
  EpilogueBlock(job, block, counts, streams, row_sum, out);
  std::memcpy(y, out, columns * sizeof(float));
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
