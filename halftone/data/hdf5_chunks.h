// SPDX-License-Identifier: Apache-2.0
// Checks stored chunks before the HDF5 library reads them. Runs in the child of an Hdf5Worker.
// Private to this folder.
#pragma once

#include <cstddef>

#include "halftone/data/hdf5_handle.h"

namespace halftone::data {

/// Checks that every chunk with a part of rows [first, first + count) of a data set unpacks to
/// exactly the chunk size. The library assumes so and returns the memory beyond a shorter chunk.
/// Does nothing for data sets that are not chunked. Costs as much as unpacking the chunks.
/// @throws Error kFormat if a chunk has a different size or is damaged
/// @pre table_facts() accepted the data set
void check_stored_chunks(const Hdf5Handle& table, std::size_t first, std::size_t count);

}  // namespace halftone::data
