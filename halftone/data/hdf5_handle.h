// SPDX-License-Identifier: Apache-2.0
// RAII handles for the HDF5 library. The library is neither thread-safe nor safe with hostile
// files: only the child of an Hdf5Worker calls it. Private to this folder.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "halftone/data/scalar.h"

namespace halftone::data {

/// Owns one identifier of the HDF5 library.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  /// @param what  the object being opened, for the message: "a data space"
  /// @throws Error kFormat if id is negative
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what);
  Hdf5Handle(Hdf5Handle&& other) noexcept;
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept;
  ~Hdf5Handle();

  [[nodiscard]] hid_t get() const { return id_; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  herr_t (*close_)(hid_t) = nullptr;
};

/// Opens a file for reading. @throws Error kFormat if it is not HDF5
Hdf5Handle open_hdf5_file(const std::filesystem::path& path);
/// Opens a copy of a file's bytes. @throws Error kFormat if they are not HDF5
Hdf5Handle open_hdf5_bytes(std::span<const std::byte> image);

/// Whether the parent has a link with this name.
bool has_child(const Hdf5Handle& parent, const std::string& name);
/// Opens a group or data set through a hard link, and so never one in another file.
/// @throws Error kFormat if it is missing or of another kind
Hdf5Handle open_group(const Hdf5Handle& parent, const std::string& name);
Hdf5Handle open_table(const Hdf5Handle& parent, const std::string& name);

/// Type and extents of an HDF5 data set.
struct TableFacts {
  Scalar type = Scalar::kFloat32;  ///< element type that read_table() returns
  std::vector<std::size_t> extents;
  bool raw = false;  ///< the stored bytes are float32 values; extents is [their count]

  bool operator==(const TableFacts&) const = default;
};

/// @param raw  interpret the stored bytes (uint8, opaque, text) as float32 and ignore the extents
/// @throws Error kFormat if the elements are not numeric, or the extents overflow; kUnsupported for
///         storage that open_hdf5() rejects
TableFacts table_facts(const Hdf5Handle& table, bool raw);

/// Reads all elements. @param dst  [product of extents * size_bytes(type)]
/// @throws Error kFormat if the library cannot read them, or a chunk has the wrong size
void read_table(const Hdf5Handle& table, const TableFacts& facts, std::span<std::byte> dst);
/// Reads rows [first, first + count) along the first extent.
void read_table_rows(const Hdf5Handle& table, const TableFacts& facts, std::size_t first,
                     std::size_t count, std::span<std::byte> dst);

}  // namespace halftone::data
