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

}  // namespace

MatrixFit fit_table(MatrixView<const float> table, const WeightFormat& wanted,
                    const TableLookups& lookups, const LevelFitOptions& options,
                    const spmd::Devices& devices) {
  HALFTONE_ASSERT(lookups.uses.empty() || lookups.uses.size() == table.rows());
  LevelFitOptions bounded = options;
  if (wanted.bits > kFewBits) {
    bounded.iterations = std::min(options.iterations, kFewIterations);
    bounded.has_one_start = true;
  }
  if (wanted.system->vectors != nullptr || wanted.granularity != Granularity::kTensor) {
    const auto metric = Metric<double>::identity(table.cols());
    return fit_matrix(table, {&metric, 1}, wanted, {.levels = bounded, .refine_sweeps = 2},
                      devices);
  }
  MatrixFit fit{empty_encoding(with_factors(wanted, table), table.rows(), table.cols()), {}};
  const ParameterSpace space = ParameterSpace::of(fit.encoding);
  fit.encoding.set_levels(0, fit_shared_levels(table, space, lookups, bounded));
  fit.codes = numerics::encode(table, fit.encoding);
  return fit;
}

}  // namespace halftone::compress
