// SPDX-License-Identifier: Apache-2.0
// Shared by all fits of matrices: the number system, and the division of rows among devices.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/systems.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::compress {

/// The number system of a layer's weights.
struct WeightFormat {
  const numerics::NumberSystem* system = &numerics::find_system("basis");
  int bits = 2;
  bool offset = true;  ///< of learned levels; a codebook says itself whether it has one
  numerics::Granularity granularity = numerics::Granularity::kChannel;
  std::size_t group_size = 0;
  /// Has the factors that scales and offsets share: see with_factors(). Null: factors are one.
  std::shared_ptr<const numerics::MatrixEncoding> factors{};

  bool operator==(const WeightFormat&) const = default;
};

/// The encoding of a matrix [rows, cols] in this format, with the smallest levels.
/// @pre factors, if any, are those of the matrix
numerics::MatrixEncoding empty_encoding(const WeightFormat& format, std::size_t rows,
                                        std::size_t cols);

/// Codes of a matrix with their encoding.
struct MatrixFit {
  numerics::MatrixEncoding encoding;
  numerics::BitPlanes codes;
  Vector bias_correction{};  ///< [o] to add to the bias; zero or empty: none
};

/// Neighbouring rows of a matrix.
struct RowRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The format with the factors that the system's rule gives this matrix, if scales have any. Fits
/// keep them. @pre no vectors
WeightFormat with_factors(const WeightFormat& format, MatrixView<const float> weights);
/// The format of some rows of a matrix with `cols` columns.
WeightFormat of_rows(const WeightFormat& format, RowRange rows, std::size_t cols);

/// Divides rows into ranges of at most `most` rows, none of which crosses a multiple of `share`. If
/// all rows share a basis, there is one range.
/// @pre share divides rows, unless all share a basis
std::vector<RowRange> row_ranges(const WeightFormat& format, std::size_t rows, std::size_t share,
                                 std::size_t most);

/// Fits every range in its own lane, spread over devices, and combines the fits on each rank.
/// @param ranges   from row_ranges() for a matrix [rows, cols]
/// @param fit      fit(range), called from several threads
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @throws what `fit` throws
MatrixFit fit_ranges(const WeightFormat& format, std::size_t cols,
                     const std::vector<RowRange>& ranges, const spmd::Devices& devices,
                     const std::function<MatrixFit(const RowRange&)>& fit);

}  // namespace halftone::compress
