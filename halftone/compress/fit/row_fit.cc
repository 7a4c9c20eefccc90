// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/row_fit.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/spmd/collectives.h"
#include "halftone/spmd/map.h"

namespace halftone::compress {
namespace {

using numerics::Granularity;

/// The fit of a range as arrays for communication; all ranges have the same extents.
struct PackedFit {
  spmd::Array bases;  ///< float32 [bases, 1 + bits] offset, coefficients
  spmd::Array codes;  ///< int64 [words] of the bit planes

  static auto members(auto& self) { return std::tie(self.bases, self.codes); }
};

/// The packed layout of ranges with up to a given number of rows.
class Packing {
 public:
  Packing(const WeightFormat& format, std::size_t max_rows, std::size_t cols)
      : max_bases_(empty_encoding(format, max_rows, cols).bases.size()),
        numbers_(1 + static_cast<std::size_t>(format.bits)),
        max_words_(numerics::BitPlanes(max_rows, cols, format.bits).planes.words().size()) {}

  [[nodiscard]] PackedFit pack(const RowFit& fit) const {
    HALFTONE_ASSERT(fit.encoding.bases.size() <= max_bases_);
    return {
        spmd::Array::make<float>({extent(max_bases_), extent(numbers_)},
                                 [&](std::span<float> numbers) {
                                   std::ranges::fill(numbers, 0.0F);
                                   for (const numerics::Basis& basis : fit.encoding.bases) {
                                     numbers.front() = basis.offset;
                                     std::ranges::copy(basis.a(), numbers.begin() + 1);
                                     numbers = numbers.subspan(numbers_);
                                   }
                                 }),
        spmd::Array::make<std::int64_t>({extent(max_words_)}, [&](std::span<std::int64_t> words) {
          std::ranges::fill(words, 0);
          std::ranges::transform(fit.codes.planes.words(), words.begin(), [](std::uint64_t word) {
            return std::bit_cast<std::int64_t>(word);
          });
        })};
  }

  /// Copies a packed fit into the rows of the whole fit, from `row` on.
  void unpack(std::span<const float> bases, std::span<const std::int64_t> codes, RowRange range,
              RowFit& whole) const {
    const std::size_t cols = whole.codes.cols;
    const bool is_shared = whole.encoding.granularity == Granularity::kTensor;
    const std::size_t each = is_shared ? 1 : whole.encoding.groups_per_row(cols);
    const std::size_t first = is_shared ? 0 : range.first * each;
    const std::size_t count = is_shared ? 1 : range.count * each;
    for (std::size_t b = 0; b < count; ++b) {
      numerics::Basis& basis = whole.encoding.bases[first + b];
      basis.offset = bases[b * numbers_];
      std::ranges::copy(bases.subspan(b * numbers_ + 1, numbers_ - 1), basis.coefficients.begin());
    }
    const std::size_t row_words = whole.codes.planes.row_words();
    const auto words =
        whole.codes.planes.words().subspan(whole.codes.plane(range.first, 0) * row_words,
                                           whole.codes.plane(range.count, 0) * row_words);
    std::ranges::transform(codes.first(words.size()), words.begin(),
                           [](std::int64_t word) { return std::bit_cast<std::uint64_t>(word); });
  }

  void unpack(const PackedFit& packed, const std::vector<RowRange>& ranges, RowFit& whole) const {
    const auto bases = packed.bases.as<float>();
    const auto codes = packed.codes.as<std::int64_t>();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      unpack(bases.subspan(i * max_bases_ * numbers_), codes.subspan(i * max_words_), ranges[i],
             whole);
    }
  }

 private:
  static std::int64_t extent(std::size_t n) { return static_cast<std::int64_t>(n); }

  std::size_t max_bases_;
  std::size_t numbers_;  ///< of a basis
  std::size_t max_words_;
};

}  // namespace

ParameterSpace parameters_of(const WeightFormat& format) {
  return {format.scheme, format.bits, format.offset};
}

numerics::BasisEncoding empty_encoding(const WeightFormat& format, std::size_t rows,
                                       std::size_t cols) {
  const ParameterSpace space = parameters_of(format);
  numerics::BasisEncoding encoding;
  encoding.bits = format.bits;
  encoding.has_offset = space.has_offset();
  encoding.granularity = format.granularity;
  if (format.granularity == Granularity::kGroup) encoding.group_size = format.group_size;
  const numerics::Basis zero = space.to_basis(Vector::Zero(space.size()));
  encoding.bases.assign(encoding.num_bases(rows, cols), zero);
  return encoding;
}

std::vector<RowRange> row_ranges(const WeightFormat& format, std::size_t rows, std::size_t share,
                                 std::size_t most) {
  if (format.granularity == Granularity::kTensor) return {{0, rows}};
  std::vector<RowRange> ranges;
  for (std::size_t row = 0; row < rows; row += ranges.back().count) {
    ranges.push_back({row, std::min(most, share - row % share)});
  }
  return ranges;
}

RowFit fit_ranges(const WeightFormat& format, std::size_t cols, const std::vector<RowRange>& ranges,
                  const spmd::Devices& devices, const std::function<RowFit(const RowRange&)>& fit) {
  const std::size_t rows = ranges.back().first + ranges.back().count;
  const std::size_t max_rows = std::ranges::max(ranges, {}, &RowRange::count).count;
  const Packing packing(format, max_rows, cols);
  const auto lane = [&] { return packing.pack(fit(ranges[spmd::axis_index("rows")])); };
  const PackedFit packed = spmd::gather(
      spmd::spread(lane, {.axis_name = "rows",
                          .axis_size = ranges.size(),
                          .devices = devices.empty() ? spmd::Devices::for_threads() : devices})());
  RowFit whole{empty_encoding(format, rows, cols), numerics::BitPlanes(rows, cols, format.bits)};
  packing.unpack(packed, ranges, whole);
  return whole;
}

}  // namespace halftone::compress
