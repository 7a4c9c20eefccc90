// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/row_fit.h"

#include <vector>

#include "halftone/base/testing.h"

namespace halftone::compress {
namespace {

using numerics::Granularity;

std::vector<std::pair<std::size_t, std::size_t>> pairs(const std::vector<RowRange>& ranges) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (const RowRange& range : ranges) result.emplace_back(range.first, range.count);
  return result;
}

TEST(RowRanges, CrossNoShareAndHaveNoMoreThanMost) {
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(pairs(row_ranges({}, 10, 10, 4)), ElementsAre(Pair(0, 4), Pair(4, 4), Pair(8, 2)));
  EXPECT_THAT(pairs(row_ranges({}, 6, 3, 2)),
              ElementsAre(Pair(0, 2), Pair(2, 1), Pair(3, 2), Pair(5, 1)));
  EXPECT_THAT(pairs(row_ranges({}, 3, 1, 16)), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(pairs(row_ranges({.granularity = Granularity::kTensor}, 6, 3, 2)),
              ElementsAre(Pair(0, 6)));
}

/// Numbers that say which row and column they are of.
MatrixFit numbered(const WeightFormat& format, std::size_t cols, const RowRange& range) {
  MatrixFit fit{empty_encoding(format, range.count, cols),
                numerics::BitPlanes(range.count, cols, format.bits)};
  for (std::size_t b = 0; b < fit.encoding.num_blocks(); ++b) {
    const auto place = static_cast<float>(100 * range.first + b);
    fit.encoding.set_levels(
        b, numerics::make_basis(std::vector<float>{place, place + 0.25F}, place + 0.5F));
  }
  for (std::size_t r = 0; r < range.count; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      fit.codes.set_code(r, c, static_cast<numerics::Code>((range.first + r + c) % 4));
    }
  }
  return fit;
}

TEST(FitRanges, PutsEveryRangeInItsPlace) {
  constexpr std::size_t kRows = 11;
  constexpr std::size_t kCols = 70;  // more than a word of a bit plane
  for (const Granularity granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    WeightFormat format{.bits = 2, .granularity = granularity};
    if (granularity == Granularity::kGroup) format.group_size = 32;
    const auto ranges = row_ranges(format, kRows, kRows, 3);
    const MatrixFit whole =
        fit_ranges(format, kCols, ranges, spmd::Devices::emulate(3),
                   [&](const RowRange& range) { return numbered(format, kCols, range); });
    whole.encoding.check(kRows, kCols);
    const std::size_t bases_per_row = granularity == Granularity::kGroup ? 3 : 1;
    for (std::size_t b = 0; b < whole.encoding.num_blocks(); ++b) {
      const std::size_t range = granularity == Granularity::kTensor ? 0 : b / bases_per_row / 3 * 3;
      const auto place = static_cast<float>(100 * range + b - range * bases_per_row);
      EXPECT_EQ(whole.encoding.basis(b).offset, place + 0.5F);
      EXPECT_EQ(whole.encoding.basis(b).coefficients[1], place + 0.25F);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t c = 0; c < kCols; ++c) EXPECT_EQ(whole.codes.code(r, c), (r + c) % 4);
    }
  }
}

TEST(FitRanges, PassesErrorsOn) {
  expect_error(ErrorKind::kFormat, "no basis", [] {
    fit_ranges({}, 4, row_ranges({}, 6, 6, 2), {}, [](const RowRange& range) -> MatrixFit {
      if (range.first == 4) fail(ErrorKind::kFormat, "no basis");
      return numbered({}, 4, range);
    });
  });
}

}  // namespace
}  // namespace halftone::compress
