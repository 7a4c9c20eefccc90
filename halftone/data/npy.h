// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array, read and written as a whole. The header of versions 1 to 3:
//
//     93 'NUMPY' | major, minor | header length: uint16, from version 2 on uint32, little-endian
//     | {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and spaces | elements
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <type_traits>
#include <vector>

#include "halftone/base/byte_stream.h"
#include "halftone/data/scalar.h"

namespace halftone::data {

/// An array in C order (last extent fastest) and the native byte order.
struct NpyArray {
  Scalar type = Scalar::kFloat32;
  std::vector<std::size_t> shape;  ///< empty for a scalar
  std::vector<std::byte> data;     ///< [product of shape * size_bytes(type)]

  [[nodiscard]] std::size_t num_elements() const { return data.size() / size_bytes(type); }
  /// Every element as float32; see to_floats().
  [[nodiscard]] std::vector<float> floats() const;
  /// Every element as int64; see to_integers().
  [[nodiscard]] std::vector<std::int64_t> integers() const;
};

/// Reads the bytes of a .npy file of any version, byte order and element order.
/// @throws Error as parse_npy_header()
NpyArray parse_npy(std::span<const std::byte> file);
/// @throws Error kIo if the file cannot be read, otherwise as parse_npy(); messages start with the
///         path
NpyArray read_npy(const std::filesystem::path& path);

/// The bytes of a .npy file, version 1, or version 2 if the header is too long for version 1.
/// @throws Error kShape if the number of bytes does not match the shape
std::vector<std::byte> npy_bytes(const NpyArray& array);
/// Writes a .npy file atomically.
/// @throws Error kIo as write_file(); kShape as npy_bytes()
void write_npy(const std::filesystem::path& path, const NpyArray& array);

/// The bytes of a .npy file, piece by piece. `array` must live until they are taken.
/// @throws Error as npy_bytes()
ByteSource npy_source(const NpyArray& array);

/// The Scalar of a C++ type.
template <typename T>
constexpr Scalar scalar_of() {
  if constexpr (std::same_as<T, float>) return Scalar::kFloat32;
  if constexpr (std::same_as<T, double>) return Scalar::kFloat64;
  if constexpr (std::same_as<T, std::int8_t>) return Scalar::kInt8;
  if constexpr (std::same_as<T, std::int32_t>) return Scalar::kInt32;
  if constexpr (std::same_as<T, std::int64_t>) return Scalar::kInt64;
  if constexpr (std::same_as<T, std::uint8_t>) return Scalar::kUInt8;
  if constexpr (std::same_as<T, bool>) return Scalar::kBool;
}

/// An array of the given numbers, ready for write_npy().
template <typename T>
NpyArray make_npy(std::span<const T> numbers, std::vector<std::size_t> shape) {
  const auto bytes = std::as_bytes(numbers);
  return {scalar_of<T>(), std::move(shape), {bytes.begin(), bytes.end()}};
}

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
