// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halftone::kernels {

/// Pixels as integers: q stands for scale q + offset. What encode_int8() makes.
struct Int8Pixels {
  const std::int8_t* q = nullptr;  ///< [images, pixels, channels], within +-127
  float scale = 1;
  float offset = 0;
};

}  // namespace halftone::kernels
