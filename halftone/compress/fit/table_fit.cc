// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/table_fit.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/value_sample.h"

namespace halftone::compress {
namespace {

using numerics::Granularity;

/// Number of elements that one block for the whole table is fitted to.
constexpr std::size_t kMaxNumbers = std::size_t{1} << 20;

/// Beyond so many bits an iteration takes long and gains little: of 384 normal numbers at 8 bits
/// ten take 9 ms and end 0.03 dB below fifty, which take 30 ms. Vocabularies have tens of thousands
/// of rows. Evenly spaced levels of so many bits need one start: of 384 numbers of a t distribution
/// at 8 bits, others end 0.01 dB above it in four times as long.
constexpr int kFewBits = 6;
constexpr int kFewIterations = 10;

/// Rows that a device works on at a time.
constexpr std::size_t kMaxRows = 64;

numerics::Levels fit_shared_levels(MatrixView<const float> table, const ParameterSpace& space,
                                   const TableLookups& lookups, const LevelFitOptions& options) {
  const std::span<const std::size_t> uses = lookups.uses;
  const double all = std::accumulate(uses.begin(), uses.end(), 0.0);
  const std::size_t size = table.rows() * table.cols();
  const ValueSample::Picks picks(size, kMaxNumbers, lookups.seed);
  std::vector<float> numbers;
  std::vector<float> weights;
  for (const std::size_t place : picks.within(0, size)) {
    const std::size_t r = place / table.cols();
    const double share =
        all == 0 ? 0 : static_cast<double>(table.rows()) * static_cast<double>(uses[r]) / all;
    numbers.push_back(table(r, place % table.cols()));
    weights.push_back(static_cast<float>(1 + share));
  }
  return fit_levels(space, numbers, {}, weights, options).levels;
}

/// Fits the levels of every block of some rows.
void fit_blocks(MatrixView<const float> rows, const ParameterSpace& space,
                const LevelFitOptions& options, numerics::MatrixEncoding& encoding) {
  const std::size_t groups = encoding.groups_per_row(rows.cols());
  const std::size_t width =
      encoding.granularity == Granularity::kGroup ? encoding.group_size : rows.cols();
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * width;
      const auto block = rows.row(r).subspan(first, std::min(width, rows.cols() - first));
      const std::size_t index = r * groups + g;
      encoding.set_levels(index, fit_levels(space.of_block(index), block, {}, {}, options).levels);
    }
  }
}

}  // namespace

MatrixFit fit_table(MatrixView<const float> table, const WeightFormat& wanted,
                    const TableLookups& lookups, const LevelFitOptions& options,
                    const spmd::Devices& devices) {
  HALFTONE_ASSERT(lookups.uses.empty() || lookups.uses.size() == table.rows());
  if (wanted.system->vectors != nullptr) {
    const auto metric = Metric<double>::identity(table.cols());
    return fit_matrix(table, {&metric, 1}, wanted, {.refine_sweeps = 2});
  }
  const WeightFormat format = with_factors(wanted, table);
  LevelFitOptions bounded = options;
  if (format.bits > kFewBits) {
    bounded.iterations = std::min(options.iterations, kFewIterations);
    bounded.has_one_start = true;
  }
  const auto fit = [&](const RowRange& range) {
    const MatrixView<const float> rows = table.rows_from(range.first, range.count);
    const WeightFormat own = of_rows(format, range, table.cols());
    MatrixFit result{empty_encoding(own, range.count, table.cols()), {}};
    const ParameterSpace space = ParameterSpace::of(result.encoding);
    if (format.granularity == Granularity::kTensor) {
      result.encoding.set_levels(0, fit_shared_levels(table, space, lookups, bounded));
    } else {
      fit_blocks(rows, space, bounded, result.encoding);
    }
    result.codes = numerics::encode(rows, result.encoding);
    return result;
  };
  const auto ranges = row_ranges(format, table.rows(), table.rows(), kMaxRows);
  return fit_ranges(format, table.cols(), ranges, devices, fit);
}

}  // namespace halftone::compress
