// SPDX-License-Identifier: Apache-2.0
// Description of an HDF5 file, as sent by the process that reads the file. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/data/scalar.h"

namespace halftone::data {

/// Metadata of the data set in an HDF5 file, and its labels.
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

/// Encodes the contents as numbers for decode().
std::vector<std::uint64_t> encode(const Hdf5Contents& contents);

/// The numbers are untrusted: the process that reads a hostile file may send anything. Extents are
/// not checked.
/// @throws Error kFormat if the numbers are not a valid encoding
Hdf5Contents decode(std::span<const std::uint64_t> numbers);

}  // namespace halftone::data
