// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5_handle.h"

#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/data/hdf5_reader.h"

namespace halftone::data {
namespace {

/// Upper bound of the elements of one HDF5 data set; keeps every product from overflowing.
constexpr std::size_t kMaxSetElements = std::size_t{1} << 40;
constexpr std::size_t kMaxElementBytes = std::size_t{1} << 23;
constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 30;

void start_library() {
  // No filter plug-ins: a data file must not select code to run. No printing.
  if (::H5PLset_loading_state(0) < 0 || ::H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0) {
    fail(ErrorKind::kInternal, "the HDF5 library failed to initialize");
  }
}

Hdf5Handle access_properties() {
  start_library();
  return {::H5Pcreate(H5P_FILE_ACCESS), ::H5Pclose, "access properties"};
}

Hdf5Handle open_child(const Hdf5Handle& parent, const std::string& name, H5I_type_t kind) {
  const char* const wanted = kind == H5I_GROUP ? "a group" : "a data set";
  if (!has_child(parent, name)) {
    fail(ErrorKind::kFormat, "'" + name + "': expected " + wanted + ", found none");
  }
  H5L_info_t link{};
  if (::H5Lget_info(parent.get(), name.c_str(), &link, H5P_DEFAULT) < 0 ||
      link.type != H5L_TYPE_HARD) {
    fail(ErrorKind::kUnsupported, "'" + name + "': expected a hard link, found another kind");
  }
  Hdf5Handle child(::H5Oopen(parent.get(), name.c_str(), H5P_DEFAULT), ::H5Oclose,
                   "'" + name + "'");
  if (::H5Iget_type(child.get()) != kind) {
    fail(ErrorKind::kFormat, "'" + name + "': expected " + wanted + ", found another object");
  }
  return child;
}

void check_chunks(const Hdf5Handle& properties, std::size_t element_bytes) {
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = ::H5Pget_chunk(properties.get(), H5S_MAX_RANK, chunk.data());
  std::size_t bytes = element_bytes;
  for (int i = 0; i < rank; ++i) {
    const std::size_t extent = chunk.at(static_cast<std::size_t>(i));
    if (extent == 0 || bytes > kMaxChunkBytes / extent) {
      fail(ErrorKind::kFormat, "expected chunks of 1 byte to 1 GiB, found others");
    }
    bytes *= extent;
  }
  for (int i = 0; i < ::H5Pget_nfilters(properties.get()); ++i) {
    unsigned flags = 0;
    std::size_t num_values = 0;
    const H5Z_filter_t filter = ::H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags,
                                                 &num_values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
        filter != H5Z_FILTER_FLETCHER32) {
      fail(ErrorKind::kUnsupported,
           "expected filters deflate, shuffle or fletcher32, found number " +
               std::to_string(filter));
    }
  }
}

/// Rejects storage that refers to other files, runs foreign code or has the wrong size.
void check_storage(const Hdf5Handle& table, std::size_t num_elements, std::size_t element_bytes) {
  const Hdf5Handle properties(::H5Dget_create_plist(table.get()), ::H5Pclose,
                              "data set properties");
  const H5D_layout_t layout = ::H5Pget_layout(properties.get());
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) {
    fail(ErrorKind::kUnsupported, "expected data in this file, found virtual storage");
  }
  if (::H5Pget_external_count(properties.get()) != 0) {
    fail(ErrorKind::kUnsupported, "expected data in this file, found external storage");
  }
  if (layout == H5D_CHUNKED) return check_chunks(properties, element_bytes);
  // The library trusts the extents and reads past the end of storage that is smaller. If contiguous
  // storage is absent, every element is the fill value.
  const std::size_t stored = ::H5Dget_storage_size(table.get());
  const bool absent = layout == H5D_CONTIGUOUS && stored == 0;
  const bool fits = stored % element_bytes == 0 && stored / element_bytes == num_elements;
  if (!absent && !fits) {
    fail(ErrorKind::kFormat, "expected storage for " + std::to_string(num_elements) +
                                 " elements of " + std::to_string(element_bytes) +
                                 " bytes, found " + std::to_string(stored) + " bytes");
  }
}

std::vector<std::size_t> table_extents(const Hdf5Handle& table) {
  const Hdf5Handle space(::H5Dget_space(table.get()), ::H5Sclose, "a data space");
  const int rank = ::H5Sget_simple_extent_ndims(space.get());
  if (rank < 0 || ::H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    fail(ErrorKind::kFormat, "expected an array, found an empty data space");
  }
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  ::H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  std::size_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    const std::size_t extent = extents.at(static_cast<std::size_t>(i));
    if (extent != 0 && elements > kMaxSetElements / extent) {
      fail(ErrorKind::kFormat, "expected at most 2^40 numbers, found more");
    }
    elements *= extent;
  }
  return {extents.begin(), extents.begin() + rank};
}

Scalar integer_type(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? Scalar::kInt8 : Scalar::kUInt8;
    case 2:
      return is_signed ? Scalar::kInt16 : Scalar::kUInt16;
    case 4:
      return is_signed ? Scalar::kInt32 : Scalar::kUInt32;
    case 8:
      return is_signed ? Scalar::kInt64 : Scalar::kUInt64;
    default:
      fail(ErrorKind::kUnsupported,
           "expected integers of 1, 2, 4 or 8 bytes, found " + std::to_string(bytes));
  }
}

/// Floats of any size are read as float32; the enumeration that h5py writes for bool as bool.
Scalar scalar_of_type(const Hdf5Handle& type) {
  const std::size_t bytes = ::H5Tget_size(type.get());
  const H5T_class_t kind = ::H5Tget_class(type.get());
  if (kind == H5T_INTEGER) return integer_type(bytes, ::H5Tget_sign(type.get()) == H5T_SGN_2);
  if (kind == H5T_ENUM && bytes == 1) return Scalar::kBool;
  if (kind != H5T_FLOAT) {
    fail(ErrorKind::kFormat, "expected float, integer or bool elements, found another type");
  }
  if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
    fail(ErrorKind::kUnsupported,
         "expected floats of 2, 4, 8 or 16 bytes, found " + std::to_string(bytes));
  }
  return Scalar::kFloat32;
}

hid_t memory_type(Scalar type) {
  switch (type) {
    case Scalar::kInt8:
    case Scalar::kBool:
      return H5T_NATIVE_INT8;
    case Scalar::kInt16:
      return H5T_NATIVE_INT16;
    case Scalar::kInt32:
      return H5T_NATIVE_INT32;
    case Scalar::kInt64:
      return H5T_NATIVE_INT64;
    case Scalar::kUInt8:
      return H5T_NATIVE_UINT8;
    case Scalar::kUInt16:
      return H5T_NATIVE_UINT16;
    case Scalar::kUInt32:
      return H5T_NATIVE_UINT32;
    case Scalar::kUInt64:
      return H5T_NATIVE_UINT64;
    case Scalar::kFloat16:
    case Scalar::kFloat32:
    case Scalar::kFloat64:
      break;
  }
  return H5T_NATIVE_FLOAT;
}

bool holds_bytes(const Hdf5Handle& type) {
  const H5T_class_t kind = ::H5Tget_class(type.get());
  if (kind == H5T_STRING) return ::H5Tis_variable_str(type.get()) == 0;
  return kind == H5T_OPAQUE || (kind == H5T_INTEGER && ::H5Tget_size(type.get()) == 1);
}

void check_read(herr_t status) {
  if (status < 0) fail(ErrorKind::kFormat, "the HDF5 library cannot read the data");
}

std::size_t product(std::span<const std::size_t> extents) {
  std::size_t elements = 1;
  for (const std::size_t extent : extents) elements *= extent;
  return elements;
}

void check_room(const TableFacts& facts, std::size_t elements, std::size_t found_bytes) {
  if (found_bytes != elements * size_bytes(facts.type)) {
    fail(ErrorKind::kInternal, "HDF5: no room for " + std::to_string(elements) + " elements in " +
                                   std::to_string(found_bytes) + " bytes");
  }
}

}  // namespace

Hdf5Handle::Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what)
    : id_(id), close_(close) {
  if (id < 0) {
    fail(ErrorKind::kFormat, "expected " + what + ", found what the HDF5 library cannot open");
  }
}

Hdf5Handle::Hdf5Handle(Hdf5Handle&& other) noexcept
    : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}

Hdf5Handle& Hdf5Handle::operator=(Hdf5Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

Hdf5Handle::~Hdf5Handle() {
  if (id_ >= 0) close_(id_);
}

Hdf5Handle open_hdf5_file(const std::filesystem::path& path) {
  const Hdf5Handle access = access_properties();
  // Locking fails on read-only file systems, and readers need no lock.
  ::H5Pset_file_locking(access.get(), 0, 1);
  return {::H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), ::H5Fclose, "an HDF5 file"};
}

Hdf5Handle open_hdf5_bytes(std::span<const std::byte> image) {
  constexpr std::size_t kGrowBytes = 4096;
  const Hdf5Handle access = access_properties();
  // The library copies the image and does not write to it, although the parameter is not const.
  void* bytes = const_cast<std::byte*>(image.data());
  if (::H5Pset_fapl_core(access.get(), kGrowBytes, 0) < 0 || image.empty() ||
      ::H5Pset_file_image(access.get(), bytes, image.size()) < 0) {
    fail(ErrorKind::kFormat,
         "expected an HDF5 file, found " + std::to_string(image.size()) + " bytes");
  }
  return {::H5Fopen("image", H5F_ACC_RDONLY, access.get()), ::H5Fclose, "an HDF5 file"};
}

bool has_child(const Hdf5Handle& parent, const std::string& name) {
  return ::H5Lexists(parent.get(), name.c_str(), H5P_DEFAULT) > 0;
}

Hdf5Handle open_group(const Hdf5Handle& parent, const std::string& name) {
  return open_child(parent, name, H5I_GROUP);
}

Hdf5Handle open_table(const Hdf5Handle& parent, const std::string& name) {
  return open_child(parent, name, H5I_DATASET);
}

TableFacts table_facts(const Hdf5Handle& table, bool raw) {
  const Hdf5Handle type(::H5Dget_type(table.get()), ::H5Tclose, "an element type");
  const std::size_t stored_bytes = ::H5Tget_size(type.get());
  if (stored_bytes == 0 || stored_bytes > kMaxElementBytes) {
    fail(ErrorKind::kFormat,
         "expected elements of 1 byte to 8 MiB, found " + std::to_string(stored_bytes) + " bytes");
  }
  TableFacts facts{Scalar::kFloat32, table_extents(table), raw && holds_bytes(type)};
  const std::size_t elements = product(facts.extents);
  check_storage(table, elements, stored_bytes);
  if (!facts.raw) {
    facts.type = scalar_of_type(type);
    if (raw) facts.extents = {elements};
    return facts;
  }
  if (elements * stored_bytes % sizeof(float) != 0) {
    fail(ErrorKind::kFormat, "expected raw bytes of whole float32 numbers, found " +
                                 std::to_string(elements) + " elements of " +
                                 std::to_string(stored_bytes) + " bytes");
  }
  facts.extents = {elements * stored_bytes / sizeof(float)};
  return facts;
}

void read_table(const Hdf5Handle& table, const TableFacts& facts, std::span<std::byte> dst) {
  check_room(facts, product(facts.extents), dst.size());
  check_stored_chunks(table, 0, kMaxSetElements);
  const Hdf5Handle stored(::H5Dget_type(table.get()), ::H5Tclose, "an element type");
  const hid_t wanted = facts.raw ? stored.get() : memory_type(facts.type);
  check_read(::H5Dread(table.get(), wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, dst.data()));
}

void read_table_rows(const Hdf5Handle& table, const TableFacts& facts, std::size_t first,
                     std::size_t count, std::span<std::byte> dst) {
  if (count == 0) return;
  std::vector<hsize_t> start(facts.extents.size(), 0);
  std::vector<hsize_t> extents(facts.extents.begin(), facts.extents.end());
  start.at(0) = first;
  extents[0] = count;
  const hsize_t elements = count * product(std::span(facts.extents).subspan(1));
  check_room(facts, elements, dst.size());
  check_stored_chunks(table, first, count);
  const Hdf5Handle in_file(::H5Dget_space(table.get()), ::H5Sclose, "a data space");
  const Hdf5Handle in_memory(::H5Screate_simple(1, &elements, nullptr), ::H5Sclose, "a data space");
  check_read(::H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr,
                                   extents.data(), nullptr));
  check_read(::H5Dread(table.get(), memory_type(facts.type), in_memory.get(), in_file.get(),
                       H5P_DEFAULT, dst.data()));
}

}  // namespace halftone::data
