// SPDX-License-Identifier: Apache-2.0
// Samples that a function of the caller makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/data/open_dataset.h"

namespace halftone::data {

/// The samples of a network input.
struct SampleFunction {
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
                               std::vector<SampleFunction> functions,
                               std::vector<std::int64_t> labels,
                               const DatasetOptions& options = {});

}  // namespace halftone::data
