// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone::data {
namespace {

void swap_bytes(std::span<std::byte> data, std::size_t element_bytes) {
  for (std::size_t i = 0; i < data.size(); i += element_bytes) {
    const auto element = data.subspan(i, element_bytes);
    std::reverse(element.begin(), element.end());
  }
}

/// Copies elements from Fortran order (first extent fastest) to C order (last extent fastest).
/// Walks dst from front to back with one counter per extent; strides are in elements of src.
void copy_from_fortran(const std::byte* src, std::span<std::byte> dst, std::size_t element_bytes,
                       std::span<const std::size_t> shape) {
  struct Extent {
    std::size_t count;
    std::size_t stride;
    std::size_t at = 0;
  };
  std::vector<Extent> extents;
  std::size_t stride = 1;
  for (const std::size_t count : shape) {
    extents.push_back({count, stride});
    stride *= count;
  }
  std::reverse(extents.begin(), extents.end());  // fastest in dst first
  std::size_t from = 0;
  for (std::size_t to = 0; to < dst.size(); to += element_bytes) {
    std::memcpy(dst.data() + to, src + from * element_bytes, element_bytes);
    for (Extent& extent : extents) {
      from += extent.stride;
      if (++extent.at < extent.count) break;
      from -= extent.stride * extent.count;
      extent.at = 0;
    }
  }
}

std::string dictionary(const NpyArray& array) {
  std::string type = "|b1";
  if (array.type != Scalar::kBool) {
    const std::string_view name = to_string(array.type);
    const std::size_t bytes = size_bytes(array.type);
    type = {bytes == 1 ? '|' : (std::endian::native == std::endian::little ? '<' : '>'),
            name.front(), static_cast<char>('0' + bytes)};
  }
  std::string shape;
  for (const std::size_t extent : array.shape) shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.pop_back();
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
}

void append(std::vector<std::byte>& bytes, std::string_view text) {
  const auto added = std::as_bytes(std::span(text.data(), text.size()));
  bytes.insert(bytes.end(), added.begin(), added.end());
}

void check_size(const NpyArray& array) {
  std::size_t expected = size_bytes(array.type);
  bool fits = true;
  for (const std::size_t extent : array.shape) {
    fits = fits && (extent == 0 || expected <= static_cast<std::size_t>(-1) / extent);
    expected *= extent;
  }
  if (!fits || expected != array.data.size()) {
    fail(ErrorKind::kShape, "npy: shape " + dictionary(array) + " does not fit " +
                                std::to_string(array.data.size()) + " bytes");
  }
}

}  // namespace

std::vector<float> NpyArray::floats() const {
  std::vector<float> result(num_elements());
  to_floats(type, data, result);
  return result;
}

std::vector<std::int64_t> NpyArray::integers() const {
  std::vector<std::int64_t> result(num_elements());
  to_integers(type, data, result);
  return result;
}

NpyArray parse_npy(std::span<const std::byte> file) {
  const NpyHeader header = parse_npy_header(file);
  const auto elements = file.subspan(header.data_offset);
  NpyArray array{header.type, header.shape, {elements.begin(), elements.end()}};
  const std::size_t element_bytes = size_bytes(header.type);
  if (header.fortran_order && header.shape.size() > 1) {
    copy_from_fortran(elements.data(), array.data, element_bytes, header.shape);
  }
  if (header.swapped) swap_bytes(array.data, element_bytes);
  return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_file(path);
  return with_context(path.string(), [&] { return parse_npy(file); });
}

namespace {

/// What stands before the elements, with room for as many bytes behind it.
std::vector<std::byte> head_of(const NpyArray& array, std::size_t room) {
  check_size(array);
  // Spaces and a newline pad the header so that the elements start at a multiple of 64.
  std::string text = dictionary(array);
  const bool wide = text.size() > 60000;
  const std::size_t before = wide ? 12 : 10;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::vector<std::byte> bytes;
  bytes.reserve(before + text.size() + room);
  append(bytes, "\x93NUMPY");
  bytes.push_back(static_cast<std::byte>(wide ? 2 : 1));
  bytes.push_back(std::byte{0});
  for (std::size_t i = 0; i < before - 8; ++i) {
    bytes.push_back(static_cast<std::byte>(text.size() >> (8 * i) & 0xff));
  }
  append(bytes, text);
  return bytes;
}

}  // namespace

std::vector<std::byte> npy_bytes(const NpyArray& array) {
  std::vector<std::byte> bytes = head_of(array, array.data.size());
  bytes.insert(bytes.end(), array.data.begin(), array.data.end());
  return bytes;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  write_file(path, with_context(path.string(), [&] { return npy_source(array); }));
}

ByteSource npy_source(const NpyArray& array) {
  return [&array, head = head_of(array, 0)](const ByteSink& sink) {
    sink(head);
    sink(array.data);
  };
}

}  // namespace halftone::data
