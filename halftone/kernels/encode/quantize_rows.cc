// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/quantize_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/quantize_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

void QuantizeRows(MatrixView<const float> values, MatrixView<std::int8_t> q, float* scales) {
  for (std::size_t r = 0; r < values.rows(); ++r) {
    const float* x = values.row(r).data();
    const RowSteps row = StepsOfRow(x, values.cols());
    QuantizeRow(x, values.cols(), row.steps, q.row(r).data());
    scales[r] = row.scale;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(QuantizeRows);

void quantize_rows(MatrixView<const float> values, MatrixView<std::int8_t> q,
                   std::span<float> scales) noexcept {
  HALFTONE_ASSERT(q.rows() == values.rows() && q.cols() == values.cols());
  HALFTONE_ASSERT(scales.size() == values.rows());
  HALFTONE_DISPATCH(QuantizeRows)(values, q, scales.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
