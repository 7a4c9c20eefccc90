// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/row_fit.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"

namespace halftone::compress {
namespace {

using numerics::Granularity;

/// Memory for fits of ranges before they are put together.
constexpr std::size_t kMaxPackedBytes = std::size_t{16} << 20;

/// The fit of a range as arrays for communication; all ranges have the same extents.
struct PackedFit {
  spmd::Array numbers;  ///< float32 [blocks, 1 + scales of a block] offset, scales
  spmd::Array codes;    ///< int64 [words] of the bit planes

  static auto members(auto& self) { return std::tie(self.numbers, self.codes); }
};

/// The packed layout of ranges with up to a given number of rows.
class Packing {
 public:
  Packing(const WeightFormat& format, std::size_t max_rows, std::size_t cols) {
    const numerics::MatrixEncoding encoding =
        empty_encoding(of_rows(format, {0, max_rows}, cols), max_rows, cols);
    max_blocks_ = encoding.num_blocks();
    scales_ = encoding.scales_per_block();
    max_words_ = numerics::BitPlanes(max_rows, cols, format.bits).planes.words().size();
  }

  /// Of the fit of a range.
  [[nodiscard]] std::size_t bytes() const {
    return max_blocks_ * (1 + scales_) * sizeof(float) + max_words_ * sizeof(std::int64_t);
  }

  [[nodiscard]] PackedFit pack(const MatrixFit& fit) const {
    HALFTONE_ASSERT(fit.encoding.num_blocks() <= max_blocks_);
    return {
        spmd::Array::make<float>({extent(max_blocks_), extent(1 + scales_)},
                                 [&](std::span<float> numbers) { pack(fit, numbers); }),
        spmd::Array::make<std::int64_t>({extent(max_words_)}, [&](std::span<std::int64_t> words) {
          std::ranges::fill(words, 0);
          std::ranges::transform(fit.codes.planes.words(), words.begin(), [](std::uint64_t word) {
            return std::bit_cast<std::int64_t>(word);
          });
        })};
  }

  void unpack(const PackedFit& packed, std::span<const RowRange> ranges, MatrixFit& whole) const {
    const auto numbers = packed.numbers.as<float>();
    const auto codes = packed.codes.as<std::int64_t>();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      unpack(numbers.subspan(i * max_blocks_ * (1 + scales_)), codes.subspan(i * max_words_),
             ranges[i], whole);
    }
  }

 private:
  static std::int64_t extent(std::size_t n) { return static_cast<std::int64_t>(n); }

  void pack(const MatrixFit& fit, std::span<float> numbers) const {
    std::ranges::fill(numbers, 0.0F);
    const numerics::MatrixEncoding& encoding = fit.encoding;
    for (std::size_t b = 0; b < encoding.num_blocks(); ++b) {
      numbers[0] = encoding.has_offset ? encoding.offsets[b] : 0;
      for (std::size_t i = 0; i < scales_; ++i) numbers[1 + i] = encoding.scales[b * scales_ + i];
      numbers = numbers.subspan(1 + scales_);
    }
  }

  /// Copies a packed fit into the rows of the whole fit.
  void unpack(std::span<const float> numbers, std::span<const std::int64_t> codes, RowRange range,
              MatrixFit& whole) const {
    const std::size_t cols = whole.codes.cols;
    numerics::MatrixEncoding& encoding = whole.encoding;
    const bool is_shared = encoding.granularity == Granularity::kTensor;
    const std::size_t each = is_shared ? 1 : encoding.groups_per_row(cols);
    const std::size_t first = is_shared ? 0 : range.first * each;
    const std::size_t count = is_shared ? 1 : range.count * each;
    for (std::size_t b = 0; b < count; ++b) {
      if (encoding.has_offset) encoding.offsets.set(first + b, numbers[0]);
      for (std::size_t i = 0; i < scales_; ++i) {
        encoding.scales.set((first + b) * scales_ + i, numbers[1 + i]);
      }
      numbers = numbers.subspan(1 + scales_);
    }
    const std::size_t row_words = whole.codes.planes.row_words();
    const auto words =
        whole.codes.planes.words().subspan(whole.codes.plane(range.first, 0) * row_words,
                                           whole.codes.plane(range.count, 0) * row_words);
    std::ranges::transform(codes.first(words.size()), words.begin(),
                           [](std::int64_t word) { return std::bit_cast<std::uint64_t>(word); });
  }

  std::size_t max_blocks_ = 0;
  std::size_t scales_ = 1;  ///< of a block
  std::size_t max_words_ = 0;
};

}  // namespace

numerics::MatrixEncoding empty_encoding(const WeightFormat& format, std::size_t rows,
                                        std::size_t cols) {
  const bool is_grouped = format.granularity == Granularity::kGroup;
  numerics::MatrixEncoding encoding = numerics::empty_encoding(
      *format.system, format.bits, {format.granularity, is_grouped ? format.group_size : 0}, rows,
      cols);
  if (format.system->is_learned() && !format.offset) {
    encoding.has_offset = false;
    encoding.offsets = numerics::StoredNumbers();
  }
  if (format.factors != nullptr) {
    HALFTONE_ASSERT(format.factors->num_blocks() == encoding.num_blocks());
    encoding.scales = format.factors->scales;
    encoding.offsets = format.factors->offsets;
  }
  const ParameterSpace space = ParameterSpace::of(encoding);
  const Vector zero = Vector::Zero(space.size());
  for (std::size_t b = 0; b < encoding.num_blocks(); ++b) {
    encoding.set_levels(b, space.to_levels(zero, b));
  }
  return encoding;
}

WeightFormat with_factors(const WeightFormat& format, MatrixView<const float> weights) {
  WeightFormat result = format;
  if (!numerics::scale_storage(*format.system, format.granularity).factor) return result;
  result.factors = std::make_shared<const numerics::MatrixEncoding>(numerics::encoding_by_rule(
      *format.system, format.bits, {format.granularity, format.group_size}, weights));
  return result;
}

WeightFormat of_rows(const WeightFormat& format, RowRange rows, std::size_t cols) {
  if (format.factors == nullptr || format.granularity == Granularity::kTensor) return format;
  WeightFormat part = format;
  const std::size_t groups = format.factors->groups_per_row(cols);
  part.factors = std::make_shared<const numerics::MatrixEncoding>(
      format.factors->slice(rows.first * groups, rows.count * groups));
  return part;
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

MatrixFit fit_ranges(const WeightFormat& format, std::size_t cols,
                     const std::vector<RowRange>& ranges, const spmd::Devices& devices,
                     const std::function<MatrixFit(const RowRange&)>& fit) {
  const std::size_t rows = ranges.back().first + ranges.back().count;
  const std::size_t max_rows = std::ranges::max(ranges, {}, &RowRange::count).count;
  const Packing packing(format, max_rows, cols);
  MatrixFit whole{empty_encoding(format, rows, cols), numerics::BitPlanes(rows, cols, format.bits)};
  // Packed fits take as much memory as the whole, and once more while they are gathered.
  const std::size_t at_once = std::max<std::size_t>(kMaxPackedBytes / packing.bytes(), 1);
  for (std::size_t first = 0; first < ranges.size(); first += at_once) {
    const auto part = std::span(ranges).subspan(first, std::min(at_once, ranges.size() - first));
    const auto lane = [&] { return packing.pack(fit(part[spmd::axis_index("rows")])); };
    const spmd::MapOptions how{.axis_name = "rows",
                               .axis_size = part.size(),
                               .devices = devices.empty() ? spmd::Devices::for_threads() : devices};
    packing.unpack(spmd::gather(spmd::spread(lane, how)()), part, whole);
  }
  return whole;
}

}  // namespace halftone::compress
