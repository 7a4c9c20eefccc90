// SPDX-License-Identifier: Apache-2.0
// Fits a table whose rows are looked up, such as an embedding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/compress/fit/weight_fit.h"

namespace halftone::compress {

/// What the levels of a whole table as one block are fitted to.
struct TableLookups {
  std::span<const std::size_t> uses = {};  ///< [rows] number of lookups, or empty
  std::uint64_t seed = 0;                  ///< of the choice of elements
};

/// Fits codes and bases for a table [rows, width] with the least squared error of its elements.
///
/// Rows are looked up, not multiplied, so all elements of a row have equal weight and every code is
/// that of the nearest level: fit_levels() for each block of the table with its own basis. A single
/// basis for the whole table is fitted to at most 2^20 elements, each with the weight of its row.
/// Half of the weight is the same for all rows, half is proportional to the number of lookups:
///
///     weight of row r = 1 + rows uses[r] / sum uses
///
/// Vectors are fitted by fit_matrix() in the metric of the identity, with two sweeps.
/// Above six bits the fit takes at most ten iterations. The result does not depend on the number of
/// threads.
/// @param table  [rows, width] finite
/// @param lookups  used only with granularity tensor
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @return       without a bias_correction
MatrixFit fit_table(MatrixView<const float> table, const WeightFormat& format,
                    const TableLookups& lookups, const LevelFitOptions& options,
                    const spmd::Devices& devices = {});

}  // namespace halftone::compress
