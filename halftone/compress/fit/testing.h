// SPDX-License-Identifier: Apache-2.0
// For tests: the free parameters of a number system by its name, and fits to one input.
#pragma once

#include <span>
#include <string_view>

#include "halftone/compress/fit/row_fit.h"
#include "halftone/compress/fit/weight_fit.h"

namespace halftone::compress {

/// @param offset  whether learned levels have an offset
inline ParameterSpace space_of(std::string_view system, int bits, bool offset = true) {
  WeightFormat format;
  format.system = &numerics::find_system(system);
  format.bits = bits;
  format.offset = offset;
  format.granularity = numerics::Granularity::kTensor;
  return ParameterSpace::of(empty_encoding(format, 1, 1));
}

/// fit_to_statistics() of a layer whose outputs have the same inputs.
inline MatrixFit fit_weights(MatrixView<const float> weights, const WeightFormat& format,
                             const LayerStatistics& statistics, const MatrixFitOptions& options,
                             const spmd::Devices& devices = {}) {
  return fit_to_statistics(weights, format, std::span(&statistics, 1), options, devices);
}

}  // namespace halftone::compress
