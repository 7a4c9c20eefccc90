// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::kernels {

void pack_float_panels(MatrixView<const float> weights, std::span<float> panels) noexcept {
  constexpr std::size_t kWidth = FloatPanels::kOutputs;
  HALFTONE_ASSERT(panels.size() == FloatPanels::floats_for(weights.rows(), weights.cols()));
  const auto* w = reinterpret_cast<const std::uint32_t*>(weights.data_handle());
  auto* panel = reinterpret_cast<std::uint32_t*>(panels.data());
  for (std::size_t o = 0; o < weights.rows(); o += kWidth, panel += kWidth * weights.cols()) {
    const std::size_t width = std::min(kWidth, weights.rows() - o);
    if (width < kWidth) std::fill_n(panel, kWidth * weights.cols(), 0U);
    transpose({w + o * weights.stride(), width, weights.cols(), weights.stride()},
              {panel, weights.cols(), width, kWidth});
  }
}

void pack_transposed_float_panels(MatrixView<const float> weights,
                                  std::span<float> panels) noexcept {
  constexpr std::size_t kWidth = FloatPanels::kOutputs;
  HALFTONE_ASSERT(panels.size() == FloatPanels::floats_for(weights.cols(), weights.rows()));
  for (std::size_t k = 0; k < weights.rows(); ++k) {
    const auto row = weights.row(k);
    for (std::size_t o = 0; o < row.size(); o += kWidth) {
      float* to = panels.data() + o * weights.rows() + k * kWidth;
      const std::size_t width = std::min(kWidth, row.size() - o);
      std::copy_n(row.data() + o, width, to);
      std::fill_n(to + width, kWidth - width, 0.0F);
    }
  }
}

void append_run(std::size_t offset, std::size_t length, std::vector<FloatRun>& runs) {
  constexpr std::size_t kMaxRun = 256;
  while (length != 0) {
    const std::size_t piece = std::min(length, kMaxRun);
    runs.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(piece)});
    offset += piece;
    length -= piece;
  }
}

}  // namespace halftone::kernels
