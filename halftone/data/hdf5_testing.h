// SPDX-License-Identifier: Apache-2.0
// Writes HDF5 files for tests.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <string>
#include <vector>

namespace halftone::data {

/// Writes one file, complete after destruction. Creates the groups of a path as needed.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
        links_(H5Pcreate(H5P_LINK_CREATE)) {
    H5Pset_create_intermediate_group(links_, 1);
  }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;
  ~Hdf5Writer() {
    H5Pclose(links_);
    H5Fclose(file_);
  }

  [[nodiscard]] hid_t file() const { return file_; }

  void group(const std::string& path) const {
    H5Gclose(H5Gcreate2(file_, path.c_str(), links_, H5P_DEFAULT, H5P_DEFAULT));
  }
  /// Adds the attribute that marks data sets as raw bytes.
  void mark_raw(const std::string& path) const {
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate_by_name(file_, path.c_str(), "rawData", H5T_NATIVE_INT8, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  }
  /// Adds a data set of any type; its elements are not written if data is null.
  void table(const std::string& path, hid_t type, const std::vector<hsize_t>& extents,
             const void* data, hid_t properties = H5P_DEFAULT) const {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t dataset =
        H5Dcreate2(file_, path.c_str(), type, space, links_, properties, H5P_DEFAULT);
    if (data != nullptr) H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(dataset);
    H5Sclose(space);
  }
  void floats(const std::string& path, const std::vector<hsize_t>& extents,
              const std::vector<float>& numbers) const {
    table(path, H5T_NATIVE_FLOAT, extents, numbers.data());
  }

 private:
  hid_t file_;
  hid_t links_;
};

/// Properties of a chunked data set; the caller closes them.
inline hid_t chunked(const std::vector<hsize_t>& chunk) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
  return properties;
}

}  // namespace halftone::data
