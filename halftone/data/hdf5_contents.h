// SPDX-License-Identifier: Apache-2.0
// What an HDF5 file holds, as the process that reads it tells the one that asks.
// Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/data/scalar.h"

namespace halftone::data {

/// The data set in an HDF5 file, without its samples.
struct Hdf5Contents {
  struct Input {
    Scalar type = Scalar::kFloat32;
    std::vector<std::size_t> extents;  ///< of one sample

    bool operator==(const Input&) const = default;
  };

  bool records = false;  ///< ONE's layout rather than x and y
  std::size_t num_samples = 0;
  std::vector<Input> inputs;
  std::vector<std::int64_t> labels;  ///< one per sample, or none

  bool operator==(const Hdf5Contents&) const = default;
};

/// As numbers that decode() understands.
std::vector<std::uint64_t> encode(const Hdf5Contents& contents);

/// Takes nothing for granted: a process that reads a hostile file may send anything. Extents are
/// as sent.
/// @throws Error kFormat if the numbers are no encoding
Hdf5Contents decode(std::span<const std::uint64_t> numbers);

}  // namespace halftone::data
