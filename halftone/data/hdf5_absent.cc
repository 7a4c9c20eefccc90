// SPDX-License-Identifier: Apache-2.0
// Implements hdf5.h without HDF5.
#include "halftone/base/error.h"
#include "halftone/data/hdf5.h"

namespace halftone::data {

Dataset open_hdf5(const std::filesystem::path& path, const DatasetOptions& options) {
  return open_hdf5_image(path.string(), {}, options);
}

Dataset open_hdf5_image(const std::string& name, std::span<const std::byte> /*image*/,
                        const DatasetOptions& /*options*/) {
  fail(ErrorKind::kUnsupported,
       name +
           ": this build reads no HDF5; save the samples as .npy or .npz, or in Python pass "
           "arrays that h5py has read");
}

}  // namespace halftone::data
