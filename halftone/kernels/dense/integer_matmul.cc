// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/dense/integer_matmul.cc"
#include "halftone/kernels/dense/integer_matmul.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/pair_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DSums = hn::CappedTag<std::int32_t, IntegerMatmulWeights::kUnit>;
using VSums = hn::Vec<DSums>;

/// kVectors of outputs of kRows rows: the sums stay in registers.
template <std::size_t kRows, std::size_t kVectors>
HALFTONE_VNNI HWY_INLINE void Sums(const std::int16_t* const (&x)[kRows], std::size_t pairs,
                                   const std::int32_t* HWY_RESTRICT w, std::size_t width,
                                   std::int32_t* HWY_RESTRICT sums, std::size_t stride) {
  const DSums d;
  const std::size_t lanes = hn::Lanes(d);
  VSums acc[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      acc[r][v] = hn::LoadU(d, sums + r * stride + v * lanes);
    }
  }
  for (std::size_t p = 0; p < pairs; ++p, w += width) {
    VSums weights[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      weights[v] = hn::LoadU(d, w + v * lanes);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, x[r] + 2 * p, sizeof(pair));
      const VSums factor = hn::Set(d, pair);
      for (std::size_t v = 0; v < kVectors; ++v) {
        acc[r][v] = AddPairProducts(acc[r][v], factor, weights[v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(acc[r][v], d, sums + r * stride + v * lanes);
    }
  }
}

template <std::size_t kRows>
HALFTONE_VNNI HWY_INLINE void Panel(const std::int16_t* const (&x)[kRows], std::size_t pairs,
                                    const std::int32_t* w, std::size_t width, std::int32_t* sums,
                                    std::size_t stride) {
  constexpr std::size_t kVectors = 4;
  const std::size_t lanes = hn::Lanes(DSums());
  std::size_t o = 0;
  for (; o + kVectors * lanes <= width; o += kVectors * lanes) {
    Sums<kRows, kVectors>(x, pairs, w + o, width, sums + o, stride);
  }
  for (; o < width; o += lanes) Sums<kRows, 1>(x, pairs, w + o, width, sums + o, stride);
}

template <std::size_t kRows>
HALFTONE_VNNI HWY_INLINE void Rows(MatrixView<const std::int16_t> x, std::size_t first,
                                   const IntegerMatmulWeights& weights,
                                   MatrixView<std::int32_t> y) {
  constexpr std::size_t kPanel = IntegerMatmulWeights::kPanel;
  const std::int16_t* rows[kRows];
  for (std::size_t r = 0; r < kRows; ++r) rows[r] = x.data_handle() + (first + r) * x.stride();
  const std::size_t outputs = weights.outputs();
  for (std::size_t o = 0; o < outputs; o += kPanel) {
    const std::size_t width = weights.panel_width(o);
    std::int32_t* out = y.data_handle() + first * y.stride() + o;
    if (o + width <= outputs) {
      Panel<kRows>(rows, weights.pairs(), weights.panel(o), width, out, y.stride());
      continue;
    }
    // Some outputs are missing: a row of y ends within the panel.
    alignas(64) std::int32_t whole[kRows * kPanel] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
      std::memcpy(whole + r * kPanel, out + r * y.stride(), (outputs - o) * sizeof(*out));
    }
    Panel<kRows>(rows, weights.pairs(), weights.panel(o), width, whole, kPanel);
    for (std::size_t r = 0; r < kRows; ++r) {
      std::memcpy(out + r * y.stride(), whole + r * kPanel, (outputs - o) * sizeof(*out));
    }
  }
}

HALFTONE_VNNI void IntegerMatmul(MatrixView<const std::int16_t> x,
                                 const IntegerMatmulWeights& weights, MatrixView<std::int32_t> y) {
  std::size_t r = 0;
  for (; r + 2 <= y.rows(); r += 2) Rows<2>(x, r, weights, y);
  if (r < y.rows()) Rows<1>(x, r, weights, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(IntegerMatmul);

IntegerMatmulWeights::IntegerMatmulWeights(MatrixView<const std::int16_t> weights)
    : outputs_(weights.rows()), inputs_(weights.cols()), pairs_((weights.cols() + 1) / 2) {
  const std::size_t padded = (outputs_ + kUnit - 1) / kUnit * kUnit;
  panels_ = AlignedBuffer(padded * padded_inputs() * sizeof(std::int16_t));
  const auto packed = panels_.as<std::int16_t>();
  for (std::size_t o = 0; o < outputs_; ++o) {
    const std::size_t first = o / kPanel * kPanel;
    const std::size_t width = panel_width(first);
    for (std::size_t k = 0; k < inputs_; ++k) {
      packed[first * padded_inputs() + k / 2 * 2 * width + 2 * (o - first) + k % 2] = weights(o, k);
    }
  }
}

std::size_t IntegerMatmulWeights::panel_width(std::size_t output) const {
  return std::min(kPanel, (outputs_ - output + kUnit - 1) / kUnit * kUnit);
}

void integer_matmul(MatrixView<const std::int16_t> x, const IntegerMatmulWeights& weights,
                    MatrixView<std::int32_t> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.rows() && x.cols() == weights.padded_inputs() &&
                  y.cols() == weights.outputs());
  HWY_DYNAMIC_DISPATCH(IntegerMatmul)(x, weights, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
