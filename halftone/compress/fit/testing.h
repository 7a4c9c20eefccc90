// SPDX-License-Identifier: Apache-2.0
// For tests: the free parameters of a number system by its name.
#pragma once

#include <string_view>

#include "halftone/compress/fit/row_fit.h"

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

}  // namespace halftone::compress
