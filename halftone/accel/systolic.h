// SPDX-License-Identifier: Apache-2.0
// Cycles of matrix products on systolic arrays.
#pragma once

#include <cstdint>

#include "halftone/accel/accelerator.h"

namespace halftone::accel {

struct SystolicArray {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  Dataflow dataflow = Dataflow::kOutputStationary;
};

/// [m, k] times [k, n].
struct MatrixExtents {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
};

/// The pieces that a product is divided into, each of which fills the array once.
///
///     output-stationary  ceil(m / rows) ceil(n / columns)
///     weight-stationary  ceil(k / rows) ceil(n / columns)
///     input-stationary   ceil(k / rows) ceil(m / columns)
std::uint64_t systolic_folds(const SystolicArray& array, const MatrixExtents& extents);

/// The cycles of one fold: operands enter in skewed order, so that a sum of k products reaches the
/// last cell rows + columns - 2 cycles after the first.
///
///     output-stationary  k + rows + columns - 2
///     weight-stationary  m + 2 rows + columns - 2, the first `rows` of them to load the weights
///     input-stationary   n + 2 rows + columns - 2
std::uint64_t systolic_fold_cycles(const SystolicArray& array, const MatrixExtents& extents);

/// The cycles of a product whose operands never wait: folds times cycles of a fold. Folds follow
/// one another without overlap; results of output-stationary folds leave in the last cycles.
/// Source: Samajdar et al., A systematic methodology for characterizing scalability of DNN
/// accelerators using SCALE-Sim, ISPASS 2020, equations 1 to 4.
/// Differs: counts from one. SCALE-Sim prints the number of the last cycle, counted from zero: one
/// less.
std::uint64_t systolic_cycles(const SystolicArray& array, const MatrixExtents& extents);

}  // namespace halftone::accel
