// SPDX-License-Identifier: Apache-2.0
// Fitting a table whose rows are looked up, as an embedding's are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/compress/fit/weight_fit.h"

namespace halftone::compress {

/// Fits codes and bases for a table [rows, width] to the least squared error of its numbers.
///
/// Nothing multiplies a row that is looked up, so that its numbers weigh the same and every code is
/// that of the nearest level: fit_basis() for each block of the table that has a basis of its own.
/// One basis for the whole table is fitted to 2^20 of its numbers at most, each weighing as much
/// as its row, half of it the same for all rows and half as often as it was looked up:
///
///     weight of row r = 1 + rows uses[r] / sum uses
///
/// Above six bits it takes at most ten iterations. The result does not depend on the number of
/// threads.
/// @param table  [rows, width] finite
/// @param uses   [rows] how often each was looked up; or empty. Counts with granularity tensor only
/// @param seed   of the choice which numbers a basis for the whole table is fitted to
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @return       without a bias_correction
WeightFit fit_table(MatrixView<const float> table, const WeightFormat& format,
                    std::span<const std::size_t> uses, std::uint64_t seed,
                    const BasisFitOptions& options, const spmd::Devices& devices = {});

}  // namespace halftone::compress
