// SPDX-License-Identifier: Apache-2.0
// A look at stored chunks before the HDF5 library reads them. Runs in the child of an Hdf5Worker.
// Private to this folder.
#pragma once

#include <cstddef>

#include "halftone/data/hdf5_handle.h"

namespace halftone::data {

/// Checks every chunk that holds a part of the rows [first, first + count) of a data set: unpacked
/// it must have exactly the size of a chunk. The library takes that for granted and would deliver
/// whatever lies in memory behind a smaller one. Does nothing for data sets that are not chunked.
/// Costs as much as unpacking the chunks.
/// @throws Error kFormat if a chunk has another size or is damaged
/// @pre table_facts() accepted the data set
void check_stored_chunks(const Hdf5Handle& table, std::size_t first, std::size_t count);

}  // namespace halftone::data
