// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/group_grid.h"

#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::compress {
namespace {

void require_grid(bool is_right, const std::string& expected, std::size_t found) {
  if (!is_right) {
    fail(ErrorKind::kUsage,
         "grid of weights: expected " + expected + ", found " + std::to_string(found));
  }
}

void check_integers(const GroupGrid& grid) {
  require_grid(grid.share > 0 && grid.share % grid.group == 0,
               "weights of a factor that are whole groups of " + std::to_string(grid.group),
               grid.share);
  if (grid.min_scale > 0 || grid.max_scale <= 0) {
    fail(ErrorKind::kUsage, "grid of weights: expected integer scales from at most 0 to above 0, " +
                                ("found " + std::to_string(grid.min_scale)) + " to " +
                                std::to_string(grid.max_scale));
  }
  if (grid.has_offsets && grid.max_offset <= 0) {
    fail(ErrorKind::kUsage, "grid of weights: expected a largest integer offset above 0, found " +
                                std::to_string(grid.max_offset));
  }
}

void require_size(std::size_t found, std::size_t expected, const std::string& what) {
  if (found != expected) {
    fail(ErrorKind::kShape, "weights in groups: expected " + std::to_string(expected) + " " + what +
                                ", found " + std::to_string(found));
  }
}

/// fl(fl(scale_factor scale) level) + fl(offset_factor offset), without a sum if there are no
/// offsets.
class DecodedRow {
 public:
  DecodedRow(const GroupFit& fit, const GroupGrid& grid, std::size_t row)
      : fit_(fit), grid_(grid), row_(row) {}

  [[nodiscard]] float value(std::size_t col) const {
    const std::size_t group = row_ * grid_.groups_per_row(fit_.cols) + col / grid_.group;
    const std::size_t code = fit_.codes[row_ * grid_.codes_per_row(fit_.cols) + col / grid_.vector];
    const float level = grid_.codewords[code * grid_.vector + col % grid_.vector];
    const float scale = factor(fit_.scale_factors, col) * fit_.scales[group];
    const float product = scale * level;
    if (!grid_.has_offsets) return product;
    const float offset = factor(fit_.offset_factors, col) * fit_.offsets[group];
    return product + offset;
  }

 private:
  [[nodiscard]] float factor(const std::vector<float>& factors, std::size_t col) const {
    if (grid_.scales == GroupGrid::kHalf) return 1;
    if (grid_.scales == GroupGrid::kE3m5) return factors[0];
    return factors[row_ * grid_.factors_per_row(fit_.cols) + col / grid_.share];
  }

  const GroupFit& fit_;
  const GroupGrid& grid_;
  std::size_t row_;
};

}  // namespace

void check_grid(const GroupGrid& grid) {
  require_grid(grid.vector == 1 || grid.vector == 2 || grid.vector == 4,
               "1, 2 or 4 weights for a code", grid.vector);
  require_grid(grid.codewords.size() % grid.vector == 0 && grid.num_codewords() >= 2 &&
                   grid.num_codewords() <= 1024,
               "2 to 1024 codewords of " + std::to_string(grid.vector) + " numbers",
               grid.codewords.size());
  require_grid(
      grid.group > 0 && grid.group <= kernels::kMaxFitGroup && grid.group % grid.vector == 0,
      "groups of at most 256 weights that are whole codes", grid.group);
  for (const float number : grid.codewords) {
    if (!std::isfinite(number)) {
      fail(ErrorKind::kUnsupported, "grid of weights: a codeword is not finite");
    }
  }
  const bool is_vector = grid.vector > 1;
  if (is_vector && (grid.has_offsets || grid.scales == GroupGrid::kIntegers)) {
    fail(ErrorKind::kUsage,
         "grid of weights: codes of several weights have neither offsets nor integer scales");
  }
  if (grid.scales == GroupGrid::kE3m5 && grid.has_offsets) {
    fail(ErrorKind::kUsage, "grid of weights: e3m5 scales have no offsets");
  }
  if (grid.scales == GroupGrid::kIntegers) check_integers(grid);
}

void decode(const GroupFit& fit, const GroupGrid& grid, MatrixView<float> values) {
  require_size(values.rows(), fit.rows, "rows");
  require_size(values.cols(), fit.cols, "columns");
  require_size(fit.codes.size(), fit.rows * grid.codes_per_row(fit.cols), "codes");
  require_size(fit.scales.size(), fit.rows * grid.groups_per_row(fit.cols), "scales");
  for (std::size_t r = 0; r < fit.rows; ++r) {
    const DecodedRow row(fit, grid, r);
    for (std::size_t c = 0; c < fit.cols; ++c) values(r, c) = row.value(c);
  }
}

}  // namespace halftone::compress
