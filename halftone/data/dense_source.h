// SPDX-License-Identifier: Apache-2.0
// Samples stored at a fixed stride in memory or in a mapped file.
#pragma once

#include <cstddef>
#include <memory>

#include "halftone/base/shared_bytes.h"
#include "halftone/data/dataset.h"

namespace halftone::data {

/// Memory layout of samples: the elements of sample i start at bytes[i * stride_bytes], in C order.
struct DenseSamples {
  SharedBytes data;  ///< starts at the first element of sample 0
  Scalar type = Scalar::kFloat32;
  std::size_t sample_elements = 0;
  std::size_t stride_bytes = 0;  ///< from one sample to the next
  double scale = 1;              ///< factor for uint8 elements that are read as floats
};

/// @pre data contains every sample that will be read
std::unique_ptr<SampleSource> make_dense_source(DenseSamples samples);

/// to_floats(), but uint8 elements are multiplied by `scale` (in float64, then rounded).
void to_scaled_floats(Scalar type, std::span<const std::byte> src, double scale,
                      std::span<float> dst);

}  // namespace halftone::data
