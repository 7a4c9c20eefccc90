// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/value_histograms.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "halftone/numerics/levels.h"

namespace halftone {
namespace {

/// More levels than this are not drawn, as they would fill the picture.
constexpr std::size_t kMaxLevels = 32;
/// Codebooks of longer codes have too many levels to list.
constexpr int kMaxListedBits = 8;

/// Moves the levels of a block to [-1, 1]: (x - centre) / half.
struct Span {
  double centre = 0;
  double half = 1;

  static Span of(std::span<const float> levels) {
    const double low = levels.front();
    const double high = levels.back();
    return high > low ? Span{(low + high) / 2, (high - low) / 2} : Span{low, 1};
  }
  [[nodiscard]] double moved(double x) const { return (x - centre) / half; }
};

/// The ascending levels of every block of an encoding, one block after the other.
class BlockLevels {
 public:
  explicit BlockLevels(const numerics::MatrixEncoding& encoding) : encoding_(encoding) {
    if (encoding.codebook == nullptr) return;
    const numerics::LevelTable table(numerics::Levels(encoding.codebook, 1, 0));
    unit_.assign(table.levels().begin(), table.levels().end());
  }

  [[nodiscard]] std::vector<float> of(std::size_t block) const {
    const numerics::Levels levels = encoding_.levels(block);
    if (encoding_.codebook == nullptr) {
      const numerics::LevelTable table(levels);
      return {table.levels().begin(), table.levels().end()};
    }
    std::vector<float> result = unit_;
    for (float& level : result) level = level * levels.scale() + levels.offset();
    if (levels.scale() < 0) std::ranges::reverse(result);
    return result;
  }

 private:
  const numerics::MatrixEncoding& encoding_;
  std::vector<float> unit_;  ///< of the codebook
};

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

void keep_few_levels(ValueHistogram& histogram) {
  if (histogram.levels.size() <= kMaxLevels) return;
  histogram.levels.clear();
  histogram.thresholds.clear();
}

/// Values of all blocks relative to their levels, and the mean levels.
ValueHistogram relative_histogram(const ir::EncodedTensor& codes, std::vector<float> values,
                                  const BinOptions& options) {
  const numerics::MatrixEncoding& encoding = *codes.encoding;
  const ir::MatrixExtent extent = ir::matrix_extent(codes.shape);
  const BlockLevels levels(encoding);
  std::vector<double> means;
  numerics::for_each_block(
      encoding, extent.rows, extent.cols,
      [&](std::size_t block, std::size_t row, std::size_t first, std::size_t count) {
        const std::vector<float> own = levels.of(block);
        const Span span = Span::of(own);
        means.resize(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
          means[i] += span.moved(own[i]);
        }
        for (std::size_t i = 0; i < count; ++i) {
          float& x = values[row * extent.cols + first + i];
          x = static_cast<float>(span.moved(x));
        }
      });
  compress::Histogram fine;
  fine.add(values);
  ValueHistogram histogram = binned(fine, options);
  histogram.is_relative = true;
  histogram.num_levels = means.size();
  const auto blocks = static_cast<double>(encoding.num_blocks(extent.rows, extent.cols));
  for (const double sum : means) histogram.levels.push_back(static_cast<float>(sum / blocks));
  keep_few_levels(histogram);
  return histogram;
}

}  // namespace

ValueHistogram binned(const compress::Histogram& fine, const BinOptions& options) {
  ValueHistogram histogram;
  if (fine.count() == 0) return histogram;
  histogram.low = fine.range().low;
  histogram.high = fine.range().high;
  const double width = (histogram.high - histogram.low) / static_cast<double>(options.max_bins);
  histogram.counts.assign(width > 0 ? options.max_bins : 1, 0);
  const auto bin_of = [&](double x) -> std::int64_t& {
    const double at = width > 0 ? std::floor((x - histogram.low) / width) : 0;
    const double last = static_cast<double>(histogram.counts.size() - 1);
    return histogram.counts[static_cast<std::size_t>(std::clamp(at, 0.0, last))];
  };
  const auto add = [&](std::span<const std::int64_t> bins, double sign) {
    for (std::size_t b = 0; b < bins.size(); ++b) {
      if (bins[b] == 0) continue;
      bin_of(sign * (static_cast<double>(b) + 0.5) * fine.bin_width()) += bins[b];
    }
  };
  add(fine.negatives(), -1);
  add(fine.positives(), 1);
  if (options.omits_zeros) {
    histogram.num_zeros = fine.num_zeros();
  } else if (fine.num_zeros() > 0) {
    bin_of(0) += fine.num_zeros();
  }
  return histogram;
}

void add_levels(ValueHistogram& histogram, const numerics::MatrixEncoding& encoding) {
  if (encoding.bits > kMaxListedBits || encoding.num_blocks() != 1) return;
  const numerics::LevelTable table(encoding.levels(0));
  histogram.num_levels = table.size();
  histogram.levels.assign(table.levels().begin(), table.levels().end());
  histogram.thresholds.assign(table.thresholds().begin(), table.thresholds().end());
  keep_few_levels(histogram);
}

std::optional<ValueHistogram> weight_histogram(const ir::Constant& constant,
                                               const ir::Tensor* reference,
                                               const BinOptions& options) {
  const bool is_float = type_of(constant).encoding.element == ir::ElementType::kFloat32;
  if (!is_float && reference == nullptr) return std::nullopt;
  const ir::Tensor own = reference == nullptr ? to_float(constant) : ir::Tensor();
  const auto source = (reference == nullptr ? own : *reference).as<float>();
  if (!all_finite(source)) return std::nullopt;
  const auto* codes = std::get_if<ir::EncodedTensor>(&constant);
  const bool has_blocks = codes != nullptr && codes->encoding->bits <= kMaxListedBits &&
                          codes->encoding->granularity != numerics::Granularity::kTensor;
  if (has_blocks) return relative_histogram(*codes, {source.begin(), source.end()}, options);
  compress::Histogram fine;
  fine.add(source);
  ValueHistogram histogram = binned(fine, options);
  if (codes != nullptr) add_levels(histogram, *codes->encoding);
  return histogram;
}

}  // namespace halftone
