// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/quantizer.h"

#include <algorithm>
#include <cmath>

namespace halftone::crossbar {

Quantizer::Quantizer(const CrossbarDevice& device, std::size_t rows, bool is_whole) {
  const bool by_column = device.adc.converts == Converts::kColumn;
  const double codes = std::ldexp(1.0, device.adc.bits - (by_column ? 0 : 1)) - 1;
  const double reach = device.adc.range * static_cast<double>(rows) * (device.levels - 1);
  const double step = std::max(is_whole ? 1.0 : 0.0, reach / codes);
  step_ = static_cast<float>(step);
  inverse_ = static_cast<float>(1 / step);
  high_ = static_cast<float>(std::round(reach / step));
  low_ = by_column ? 0 : -high_;
}

}  // namespace halftone::crossbar
