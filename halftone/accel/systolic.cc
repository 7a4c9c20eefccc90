// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/systolic.h"

namespace halftone::accel {

std::uint64_t systolic_folds(const SystolicArray& array, const MatrixExtents& extents) {
  switch (array.dataflow) {
    case Dataflow::kOutputStationary:
      return divide_up(extents.m, array.rows) * divide_up(extents.n, array.columns);
    case Dataflow::kWeightStationary:
      return divide_up(extents.k, array.rows) * divide_up(extents.n, array.columns);
    case Dataflow::kInputStationary:
      break;
  }
  return divide_up(extents.k, array.rows) * divide_up(extents.m, array.columns);
}

std::uint64_t systolic_fold_cycles(const SystolicArray& array, const MatrixExtents& extents) {
  const std::uint64_t skew = array.rows + array.columns - 2;
  switch (array.dataflow) {
    case Dataflow::kOutputStationary:
      return extents.k + skew;
    case Dataflow::kWeightStationary:
      return extents.m + array.rows + skew;
    case Dataflow::kInputStationary:
      break;
  }
  return extents.n + array.rows + skew;
}

std::uint64_t systolic_cycles(const SystolicArray& array, const MatrixExtents& extents) {
  return systolic_folds(array, extents) * systolic_fold_cycles(array, extents);
}

}  // namespace halftone::accel
