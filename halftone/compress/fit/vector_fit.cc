// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/vector_fit.h"

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/fit/codewords.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::compress {

numerics::GroupCodes vector_groups(const WeightFormat& format) {
  const numerics::VectorBasis& basis = *format.system->vectors;
  const auto d = static_cast<std::size_t>(basis.numbers());
  const auto expect = [&](bool holds, const std::string& expected, const std::string& found) {
    if (holds) return;
    fail(ErrorKind::kUsage,
         "scheme " + basis.rate() + ": expected " + expected + ", found " + found);
  };
  expect(format.granularity == numerics::Granularity::kGroup, "granularity group",
         std::string(to_string(format.granularity)));
  expect(format.group_size % d == 0 && format.group_size <= kernels::kMaxFitGroup,
         "a group size that is a multiple of " + std::to_string(d) + ", at most " +
             std::to_string(kernels::kMaxFitGroup),
         std::to_string(format.group_size));
  numerics::GroupCodes codes;
  codes.group = format.group_size;
  codes.scales = numerics::GroupScales::kE3m5;
  codes.basis = &basis;
  return codes;
}

RowFit fit_vectors(MatrixView<const float> weights, const WeightFormat& format,
                   std::span<const GroupMetric> metrics, const GroupFitOptions& options) {
  const numerics::GroupCodes codes = vector_groups(format);
  GroupFitOptions own = options;
  const float found = scale_factor_of(weights, codes, options);
  own.factor = found > 0 ? found : numerics::least_scale(numerics::NumberType::kFloat32);
  const std::size_t share = weights.rows() / metrics.size();
  std::vector<GroupFit> fits(metrics.size());
  parallel_for(fits.size(), [&](std::size_t i) {
    fits[i] = fit_groups(weights.rows_from(i * share, share), codes, metrics[i], own);
  });
  std::vector<std::uint16_t> vectors;
  std::vector<float> scales;
  for (const GroupFit& fit : fits) {
    vectors.insert(vectors.end(), fit.codes.begin(), fit.codes.end());
    scales.insert(scales.end(), fit.scales.begin(), fit.scales.end());
  }
  RowFit result{
      numerics::empty_encoding(*format.system, format.bits, {format.granularity, format.group_size},
                               weights.rows(), weights.cols()),
      numerics::planes_of_vectors(vectors, *codes.basis, weights.rows(), weights.cols())};
  result.encoding.scales.set_factor(0, own.factor);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    result.encoding.scales.set(i, double{own.factor} * double{scales[i]});
  }
  return result;
}

}  // namespace halftone::compress
