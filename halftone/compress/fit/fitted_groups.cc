// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/fitted_groups.h"

#include <string>

#include "halftone/base/error.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::compress {
namespace {

void require_codes(bool is_right, const std::string& expected, std::size_t found) {
  if (!is_right) {
    fail(ErrorKind::kUsage,
         "codes of weights: expected " + expected + ", found " + std::to_string(found));
  }
}

void check_integers(const GroupCodes& codes) {
  require_codes(codes.share > 0 && codes.share % codes.group == 0,
                "weights of a factor that are whole groups of " + std::to_string(codes.group),
                codes.share);
  if (codes.min_scale > 0 || codes.max_scale <= 0) {
    fail(ErrorKind::kUsage,
         "codes of weights: expected integer scales from at most 0 to above 0, " +
             ("found " + std::to_string(codes.min_scale)) + " to " +
             std::to_string(codes.max_scale));
  }
  if (codes.has_offsets && codes.max_offset <= 0) {
    fail(ErrorKind::kUsage, "codes of weights: expected a largest integer offset above 0, found " +
                                std::to_string(codes.max_offset));
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
class DecodedRows {
 public:
  DecodedRows(const GroupFit& fit, const GroupCodes& codes)
      : fit_(fit), codes_(codes), vector_(codes.vector()), codewords_(codes.codewords()) {}

  [[nodiscard]] float value(std::size_t row, std::size_t col) const {
    const std::size_t group = row * codes_.groups_per_row(fit_.cols) + col / codes_.group;
    const std::size_t per_row = (fit_.cols + vector_ - 1) / vector_;
    const std::size_t code = fit_.codes[row * per_row + col / vector_];
    const float level = codewords_[code * vector_ + col % vector_];
    const float scale = factor(fit_.scale_factors, row, col) * fit_.scales[group];
    const float product = scale * level;
    if (!codes_.has_offsets) return product;
    const float offset = factor(fit_.offset_factors, row, col) * fit_.offsets[group];
    return product + offset;
  }

 private:
  [[nodiscard]] float factor(const std::vector<float>& factors, std::size_t row,
                             std::size_t col) const {
    if (codes_.scales == GroupScales::kHalf || codes_.scales == GroupScales::kPowerOfTwo) return 1;
    if (numerics::has_tensor_factor(codes_.scales)) return factors[0];
    return factors[row * codes_.factors_per_row(fit_.cols) + col / codes_.share];
  }

  const GroupFit& fit_;
  const GroupCodes& codes_;
  std::size_t vector_;
  std::vector<float> codewords_;
};

}  // namespace

void check_codes(const GroupCodes& codes) {
  require_codes(
      codes.group > 0 && codes.group <= kernels::kMaxFitGroup && codes.group % codes.vector() == 0,
      "groups of at most 256 weights that are whole codes", codes.group);
  require_codes(codes.code_bits() >= 1 && codes.code_bits() <= 10, "codes of 1 to 10 bits",
                static_cast<std::size_t>(codes.code_bits()));
  if (codes.vector() > 1 && (codes.has_offsets || codes.scales == GroupScales::kHalfTimesByte)) {
    fail(ErrorKind::kUsage,
         "codes of weights: those of several weights have neither offsets nor integer scales");
  }
  if (codes.has_offsets &&
      (numerics::has_tensor_factor(codes.scales) || codes.scales == GroupScales::kPowerOfTwo)) {
    fail(ErrorKind::kUsage,
         "codes of weights: scales of e3m5, e4m3 and powers of two have no offsets");
  }
  if (codes.scales == GroupScales::kFloat) {
    fail(ErrorKind::kUsage, "codes of weights: no fit writes scales of float32");
  }
  if (codes.scales == GroupScales::kHalfTimesByte) check_integers(codes);
}

void decode(const GroupFit& fit, const GroupCodes& codes, MatrixView<float> values) {
  require_size(values.rows(), fit.rows, "rows");
  require_size(values.cols(), fit.cols, "columns");
  require_size(fit.codes.size(), fit.rows * codes.codes_per_row(fit.cols), "codes");
  require_size(fit.scales.size(), fit.rows * codes.groups_per_row(fit.cols), "scales");
  const DecodedRows rows(fit, codes);
  for (std::size_t r = 0; r < fit.rows; ++r) {
    for (std::size_t c = 0; c < fit.cols; ++c) values(r, c) = rows.value(r, c);
  }
}

}  // namespace halftone::compress
