// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets of data sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/data/dataset.h"

namespace halftone::data {

/// Opens a data set and reads its first and last samples and labels. An Error is a normal outcome.
template <typename Open>
void exercise_dataset(Open&& open) {
  constexpr std::size_t kMaxElements = std::size_t{1} << 20;
  try {
    const Dataset dataset = open();
    for (std::size_t i = 0; i < dataset.inputs().size(); ++i) {
      const std::size_t elements = dataset.inputs()[i].shape.num_elements();
      if (elements > kMaxElements) continue;
      std::vector<float> sample(elements);
      dataset.read(i, 0, 1, sample);
      dataset.read(i, dataset.size() - 1, 1, sample);
      if (!is_integer(dataset.inputs()[i].type)) continue;
      std::vector<std::int64_t> integers(elements);
      dataset.read_integers(i, 0, 1, integers);
    }
    if (dataset.has_labels()) (void)dataset.label(dataset.size() - 1);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
  }
}

inline std::span<const std::byte> as_bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

}  // namespace halftone::data
