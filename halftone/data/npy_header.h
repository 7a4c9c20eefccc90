// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file, versions 1 to 3:
//
//     93 'NUMPY' | major, minor | header length: uint16, from version 2 on uint32, little-endian
//     | {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and spaces | elements
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/data/scalar.h"

namespace halftone::data {

struct NpyHeader {
  Scalar type = Scalar::kFloat32;
  bool swapped = false;        ///< the file's byte order is not the native one
  bool fortran_order = false;  ///< the first extent runs fastest, not the last
  std::vector<std::size_t> shape;
  std::size_t data_offset = 0;   ///< offset of the elements in the file
  std::size_t num_elements = 0;  ///< the product of the extents
};

/// Reads the header and checks that the file has as many elements as it states.
/// @throws Error kFormat if it is malformed or the size does not fit; kUnsupported for element
///         types other than those of Scalar (complex, text, structures)
/// Source: NumPy enhancement proposal 1, and numpy.lib.format.
NpyHeader parse_npy_header(std::span<const std::byte> file);

}  // namespace halftone::data
