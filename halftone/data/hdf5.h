// SPDX-License-Identifier: Apache-2.0
// Data sets in HDF5: the calibration files of the ONE toolchain, and plain `x` and `y`.
//
//     /value/<record>/<input>   one HDF5 data set per graph input, decimal names from 0;
//                               attribute rawData of `value`: float32 as raw bytes, shape unknown
//     /x [N, ...], /y [N]       samples and, where present, labels
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "halftone/data/dataset.h"
#include "halftone/data/open_dataset.h"

namespace halftone::data {

/// Opens an HDF5 file of either layout. Samples are read on demand by a child process that lives as
/// long as the data set, because the HDF5 library crashes on some files. Links to other files,
/// virtual and external storage, and filters other than deflate, shuffle and fletcher32 are
/// rejected.
/// @throws Error kIo if the file cannot be read or the process cannot be started; kFormat if it is
///         not an HDF5 file, crashes the library, has neither layout, more than 10^6 records (10^7
///         samples in x) or elements that are not numeric; kUnsupported for the storage named
///         above, and for any file where HALFTONE_WITH_HDF5 is off
Dataset open_hdf5(const std::filesystem::path& path, const DatasetOptions& options);

/// The same from the bytes of an HDF5 file.
Dataset open_hdf5_image(const std::string& name, std::span<const std::byte> image,
                        const DatasetOptions& options);

}  // namespace halftone::data
