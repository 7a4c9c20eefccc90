// SPDX-License-Identifier: Apache-2.0
// Sources of samples: memory or a mapped file, and functions of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/data/dataset.h"
#include "halftone/data/open_dataset.h"

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

/// The samples of a network input.
struct SampleReader {
  std::string input{};               ///< the name of the network input; empty: inputs are in order
  std::vector<std::size_t> extents;  ///< of one sample
  Scalar type = Scalar::kFloat32;    ///< of its elements
  /// Writes samples [first, first + count) to elements[count * elements of a sample]. Called by one
  /// thread at a time. Equal arguments must give equal samples.
  std::function<void(std::size_t first, std::size_t count, void* elements)> read;
};

/// A data set of functions; uint8 elements are pixels, as in files.
/// @param labels  one per sample, or none
/// @throws Error kUsage if there is no function, one is empty, or only some are named; as Dataset()
Dataset dataset_from_functions(const std::string& name, std::size_t num_samples,
                               std::vector<SampleReader> functions,
                               std::vector<std::int64_t> labels,
                               const DatasetOptions& options = {});

}  // namespace halftone::data
