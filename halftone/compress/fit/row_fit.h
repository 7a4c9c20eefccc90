// SPDX-License-Identifier: Apache-2.0
// What all fits of matrices share: the number system, and rows that devices divide among them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/encoding.h"
#include "halftone/spmd/devices.h"

namespace halftone::compress {

/// The number system the weights get.
struct WeightFormat {
  Scheme scheme = Scheme::kBasis;
  int bits = 2;
  bool offset = true;
  numerics::Granularity granularity = numerics::Granularity::kChannel;
  std::size_t group_size = 0;

  bool operator==(const WeightFormat&) const = default;
};

/// The parameters that are free in it.
ParameterSpace parameters_of(const WeightFormat& format);
/// The number system for a matrix [rows, cols], its bases all zero.
numerics::BasisEncoding empty_encoding(const WeightFormat& format, std::size_t rows,
                                       std::size_t cols);

/// Codes of a matrix and the bases they are in.
struct RowFit {
  numerics::BasisEncoding encoding;
  numerics::BitPlanes codes;
};

/// Neighbouring rows of a matrix.
struct RowRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Rows in ranges of `most` at most, none of which crosses a multiple of `share`. Where all rows
/// share a basis there is one range.
/// @pre share divides rows, unless all share a basis
std::vector<RowRange> row_ranges(const WeightFormat& format, std::size_t rows, std::size_t share,
                                 std::size_t most);

/// Fits every range in a lane of its own, spread over devices, and puts the fits together, on each
/// rank.
/// @param ranges   from row_ranges() for a matrix [rows, cols]
/// @param fit      fit(range), called from several threads
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @throws what `fit` throws
RowFit fit_ranges(const WeightFormat& format, std::size_t cols, const std::vector<RowRange>& ranges,
                  const spmd::Devices& devices, const std::function<RowFit(const RowRange&)>& fit);

}  // namespace halftone::compress
