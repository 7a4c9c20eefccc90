// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/table_fit.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/compress/value_sample.h"

namespace halftone::compress {
namespace {

using numerics::Granularity;

/// Numbers that one basis for the whole table is fitted to.
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;

/// Beyond so many bits an iteration takes long and gains little: of 384 normal numbers at 8 bits
/// ten take 9 ms and end 0.03 dB below fifty, which take 30 ms. Vocabularies have tens of thousands
/// of rows.
constexpr int kFewBits = 6;
constexpr int kFewIterations = 10;

/// Rows that a thread works on at a time.
constexpr std::size_t kRowBlock = 64;

numerics::Basis fit_shared_basis(MatrixView<const float> table, const ParameterSpace& space,
                                 std::span<const std::size_t> uses, std::uint64_t seed,
                                 const BasisFitOptions& options) {
  const double all = std::accumulate(uses.begin(), uses.end(), 0.0);
  const std::size_t size = table.rows() * table.cols();
  const ValueSample::Picks picks(size, kMostNumbers, seed);
  std::vector<float> numbers;
  std::vector<float> weights;
  for (const std::size_t place : picks.within(0, size)) {
    const std::size_t r = place / table.cols();
    const double share =
        all == 0 ? 0 : static_cast<double>(table.rows()) * static_cast<double>(uses[r]) / all;
    numbers.push_back(table(r, place % table.cols()));
    weights.push_back(static_cast<float>(1 + share));
  }
  return fit_basis(space, numbers, {}, weights, options).basis;
}

/// The bases of some rows, of a granularity that gives each row its own.
void fit_rows(MatrixView<const float> table, const ParameterSpace& space, std::size_t first_row,
              std::size_t count, const BasisFitOptions& options,
              numerics::BasisEncoding& encoding) {
  const std::size_t groups = encoding.groups_per_row(table.cols());
  const std::size_t width =
      encoding.granularity == Granularity::kGroup ? encoding.group_size : table.cols();
  for (std::size_t r = first_row; r < first_row + count; ++r) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * width;
      const auto block = table.row(r).subspan(first, std::min(width, table.cols() - first));
      encoding.bases[r * groups + g] = fit_basis(space, block, {}, {}, options).basis;
    }
  }
}

}  // namespace

WeightFit fit_table(MatrixView<const float> table, const WeightFormat& format,
                    std::span<const std::size_t> uses, std::uint64_t seed,
                    const BasisFitOptions& options) {
  HALFTONE_ASSERT(uses.empty() || uses.size() == table.rows());
  const ParameterSpace space(format.scheme, format.bits, format.offset);
  BasisFitOptions bounded = options;
  if (format.bits > kFewBits) bounded.iterations = std::min(options.iterations, kFewIterations);
  WeightFit result;
  numerics::BasisEncoding& encoding = result.encoding;
  encoding.bits = format.bits;
  encoding.has_offset = space.has_offset();
  encoding.granularity = format.granularity;
  if (format.granularity == Granularity::kGroup) encoding.group_size = format.group_size;
  encoding.bases.resize(encoding.num_bases(table.rows(), table.cols()));
  if (format.granularity == Granularity::kTensor) {
    encoding.bases[0] = fit_shared_basis(table, space, uses, seed, bounded);
  } else {
    parallel_for((table.rows() + kRowBlock - 1) / kRowBlock, [&](std::size_t block) {
      const std::size_t first = block * kRowBlock;
      fit_rows(table, space, first, std::min(kRowBlock, table.rows() - first), bounded, encoding);
    });
  }
  result.codes = numerics::encode(table, encoding);
  return result;
}

}  // namespace halftone::compress
