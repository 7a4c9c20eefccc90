// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/second_moments.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::compress {
namespace {

constexpr std::size_t kMomentRows = 96;  // of the matrix, which a thread computes at a time

}  // namespace

SecondMoments::SecondMoments(std::size_t num_inputs)
    : num_inputs_(num_inputs),
      rows_(kRunRows * num_inputs),
      run_(num_inputs * num_inputs),
      totals_(num_inputs * num_inputs) {}

void SecondMoments::add(MatrixView<const float> rows) {
  HALFTONE_ASSERT(rows.cols() == num_inputs_);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    std::ranges::copy(rows.row(r), rows_.data() + num_rows_ * num_inputs_);
    if (++num_rows_ == kRunRows) end_run();
  }
}

void SecondMoments::end_run() {
  const std::size_t n = num_inputs_;
  const MatrixView<const float> rows(rows_.data(), num_rows_, n, n);
  parallel_for((n + kMomentRows - 1) / kMomentRows, [&](std::size_t block) {
    const std::size_t first = block * kMomentRows;
    const std::size_t count = std::min(kMomentRows, n - first);
    const MatrixView<const float> left(rows_.data() + first, num_rows_, count, n);
    const MatrixView<const float> right(rows_.data() + first, num_rows_, n - first, n);
    kernels::matmul(kernels::transposed(left), right,
                    MatrixView<float>(run_.data() + first * n + first, count, n - first, n),
                    kernels::Update::kAssign, kernels::Region::kUpper);
    for (std::size_t i = first; i < first + count; ++i) {
      const std::span<float> total = std::span(totals_).subspan(i * n + i, n - i);
      std::ranges::transform(total, std::span(run_).subspan(i * n + i, n - i), total.begin(),
                             std::plus());
    }
  });
  count_ += num_rows_;
  num_rows_ = 0;
}

std::vector<float> SecondMoments::finish() {
  if (num_rows_ > 0) end_run();
  const std::size_t n = num_inputs_;
  const auto divisor = static_cast<float>(std::max<std::size_t>(1, count_));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) {
      const float mean = totals_[i * n + j] / divisor;
      if (!std::isfinite(mean)) {
        fail(ErrorKind::kFormat, "second moment of inputs " + std::to_string(i) + " and " +
                                     std::to_string(j) + ": not finite; the model is broken");
      }
      totals_[i * n + j] = totals_[j * n + i] = mean;
    }
  }
  return std::move(totals_);
}

}  // namespace halftone::compress
