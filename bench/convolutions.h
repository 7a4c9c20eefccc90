// SPDX-License-Identifier: Apache-2.0
// Convolutions: as users run them, single kernels, oneDNN, and the reference algorithm.
#pragma once

#include <cstddef>
#include <string>

#include "bench/layers.h"

namespace halftone::bench {

/// A square image and kernel, padded by half of the kernel on each side.
struct ConvLayerShape {
  std::size_t extent = 0;
  std::size_t channels = 0;
  std::size_t outputs = 0;
  std::size_t kernel = 3;
  std::size_t stride = 1;
  std::size_t groups = 1;
};

/// "3x3 64-64 on 8x8", with "/2" for a stride and " groups 64".
std::string to_string(const ConvLayerShape& shape);

/// A graph of an Encode (if the format has input bits) and a Conv, run with a plan and a session.
Prepared prepare_conv(const ConvLayerShape& shape, const LayerFormat& format, int threads);
/// kernels::bit_conv() alone, from bit planes to floats.
Prepared prepare_bit_conv(const ConvLayerShape& shape, const LayerFormat& format);
/// oneDNN, channels last: float32, or u8 activations and s8 weights to float32.
Prepared prepare_onednn_conv(const ConvLayerShape& shape, bool int8, int threads);
/// The reference algorithm from codes to floats: 32-bit words per pixel, tap and plane, counted one
/// at a time.
Prepared prepare_plain_conv(const ConvLayerShape& shape, const LayerFormat& format);

}  // namespace halftone::bench
