// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/nested_fit.h"

#include <vector>

#include "halftone/compress/fit/group_rows.h"
#include "halftone/numerics/nested_encoding.h"

namespace halftone::compress {
namespace {

constexpr std::size_t kStreams = 2;
/// The square root of the weight 1 / 3 of the error of 3 bits.
constexpr float kFirstBitsFactor = 0.57735027F;

/// The values of each code for a scale of one: of 4 bits, and of 3 bits times the factor.
std::vector<float> nested_codewords() {
  const std::vector<float> fine = numerics::nested_encoding().codewords();
  const std::vector<float> first = numerics::first_bits_encoding().codewords();
  std::vector<float> words;
  for (std::size_t code = 0; code < fine.size(); ++code) {
    words.push_back(fine[code] / 4);
    words.push_back(kFirstBitsFactor * first[code / 2]);
  }
  return words;
}

/// Each weight, and behind it the same times the factor.
std::vector<float> both_streams(MatrixView<const float> weights) {
  std::vector<float> both;
  both.reserve(kStreams * weights.size());
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    for (const float w : weights.row(r)) {
      both.push_back(w);
      both.push_back(kFirstBitsFactor * w);
    }
  }
  return both;
}

}  // namespace

GroupFit fit_nested(MatrixView<const float> weights, const Metric<float>& metric,
                    const MatrixFitOptions& options) {
  check_group_options(options);
  check_group_weights(weights, metric);
  GroupCodes pairs = static_cast<const GroupCodes&>(numerics::first_bits_encoding());
  pairs.numbers = {};
  pairs.group *= kStreams;
  const std::vector<float> both = both_streams(weights);
  GroupFit fit =
      fit_groups({MatrixView<const float>(both, weights.rows(), kStreams * weights.cols()), metric},
                 pairs, kernels::Codewords(nested_codewords(), kStreams), options);
  fit.cols = weights.cols();
  for (float& scale : fit.scales) scale /= 4;  // of the levels of 4 bits
  return fit;
}

void decode_first_bits(const GroupFit& fit, MatrixView<float> values) {
  GroupFit first = fit;
  for (std::uint16_t& code : first.codes) code /= 2;
  for (float& scale : first.scales) scale *= 4;
  decode(first, numerics::first_bits_encoding(), values);
}

}  // namespace halftone::compress
