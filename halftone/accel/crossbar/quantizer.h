// SPDX-License-Identifier: Apache-2.0
// The analogue-to-digital converter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/accel/crossbar/device.h"

namespace halftone::crossbar {

/// Converts a current to a code. A count is the current of a cell one level above off.
///
///     code = clamp(round(count / step), low, high)      ties away from zero
///
/// The range is the fraction adc.range of the largest count, R = range rows (levels - 1). A
/// converter of columns has C = 2^bits - 1 codes above 0, one of differences C = 2^(bits - 1) - 1
/// above and as many below. step = max(1, R / C) if ideal cells give whole counts, otherwise R / C;
/// high = round(R / step), low = 0 or -high.
class Quantizer {
 public:
  /// @param rows      of the arrays that are in use
  /// @param is_whole  whether ideal cells give whole counts
  Quantizer(const CrossbarDevice& device, std::size_t rows, bool is_whole);

  [[nodiscard]] float step() const { return step_; }
  [[nodiscard]] std::int32_t code(float count) const {
    float scaled = count * inverse_;
    scaled = scaled < low_ ? low_ : scaled;
    scaled = scaled > high_ ? high_ : scaled;
    return static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5F : 0.5F));
  }

 private:
  float step_ = 1;
  float inverse_ = 1;  ///< 1 / step
  float low_ = 0;
  float high_ = 0;
};

}  // namespace halftone::crossbar
