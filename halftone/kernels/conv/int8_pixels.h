// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halftone::kernels {

/// Pixels as integers: q represents scale q + offset. Written by encode_int8().
struct Int8Pixels {
  const std::int8_t* q = nullptr;  ///< [images, pixels, channels]
  float scale = 1;
  float offset = 0;
};

}  // namespace halftone::kernels
