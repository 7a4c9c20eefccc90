// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/safetensors/safetensors_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/half.h"
#include "halftone/base/json/json_text.h"

namespace halftone::formats {
namespace {

using nlohmann::json;

struct TypeRow {
  SafetensorsType type = SafetensorsType::kBool;
  std::string_view name;
  std::size_t bytes = 0;
};

constexpr std::array kTypes = {
    TypeRow{SafetensorsType::kBool, "BOOL", 1},
    TypeRow{SafetensorsType::kU8, "U8", 1},
    TypeRow{SafetensorsType::kI8, "I8", 1},
    TypeRow{SafetensorsType::kF8E5M2, "F8_E5M2", 1},
    TypeRow{SafetensorsType::kF8E4M3, "F8_E4M3", 1},
    TypeRow{SafetensorsType::kU16, "U16", 2},
    TypeRow{SafetensorsType::kI16, "I16", 2},
    TypeRow{SafetensorsType::kF16, "F16", 2},
    TypeRow{SafetensorsType::kBF16, "BF16", 2},
    TypeRow{SafetensorsType::kU32, "U32", 4},
    TypeRow{SafetensorsType::kI32, "I32", 4},
    TypeRow{SafetensorsType::kF32, "F32", 4},
    TypeRow{SafetensorsType::kU64, "U64", 8},
    TypeRow{SafetensorsType::kI64, "I64", 8},
    TypeRow{SafetensorsType::kF64, "F64", 8},
};

const TypeRow& row_of(SafetensorsType type) {
  return *std::ranges::find(kTypes, type, &TypeRow::type);
}

[[noreturn]] void fail_format(const std::string& message) { fail(ErrorKind::kFormat, message); }

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A document without duplicate keys, of which the last would silently win.
json parse_json(std::string_view text) {
  check_json(text, {.has_unique_keys = true});
  json document = json::parse(text, nullptr, false);
  if (!document.is_object()) fail_format("expected an object in JSON, found another value");
  return document;
}

/// A list of whole numbers from 0 to 2^48.
std::vector<std::size_t> numbers_of(const json& entry, const char* key) {
  const auto found = entry.find(key);
  std::vector<std::size_t> numbers;
  bool is_right = found != entry.end() && found->is_array();
  for (std::size_t i = 0; is_right && i < found->size(); ++i) {
    const json& number = (*found)[i];
    is_right = number.is_number_unsigned() && number.get<std::uint64_t>() >> 48 == 0;
    if (is_right) numbers.push_back(number.get<std::size_t>());
  }
  if (!is_right) fail_format("'" + std::string(key) + "': expected whole numbers, found none");
  return numbers;
}

SafetensorsType type_of(const json& entry) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) {
    fail_format("'dtype': expected a text, found none");
  }
  const auto name = found->get<std::string>();
  const auto row = std::ranges::find(kTypes, name, &TypeRow::name);
  if (row == kTypes.end()) {
    fail(ErrorKind::kUnsupported, "expected a known type of elements, found '" + name + "'");
  }
  return row->type;
}

/// @param data  of the file, behind its head
SafetensorsTensor tensor_of(const std::string& name, const json& entry, const SharedBytes& data) {
  if (!entry.is_object()) fail_format("expected an object, found another value");
  SafetensorsTensor tensor{name, type_of(entry), numbers_of(entry, "shape"), {}};
  const std::vector<std::size_t> offsets = numbers_of(entry, "data_offsets");
  std::size_t bytes = size_bytes(tensor.type);
  for (const std::size_t extent : tensor.shape) {
    if (extent != 0 && bytes > (std::size_t{1} << 50) / extent) {
      fail_format("expected at most 2^50 bytes, found more");
    }
    bytes *= extent;
  }
  const bool fits = offsets.size() == 2 && offsets[0] <= offsets[1] &&
                    offsets[1] <= data.bytes.size() && offsets[1] - offsets[0] == bytes;
  if (!fits) {
    fail_format("expected " + std::to_string(bytes) + " bytes within the " +
                std::to_string(data.bytes.size()) +
                " of the file, found other offsets; is the file whole?");
  }
  tensor.bytes = data.part(offsets[0], bytes);
  return tensor;
}

/// Bytes belong to one tensor.
void check_places(std::span<const SafetensorsTensor> tensors) {
  std::vector<const SafetensorsTensor*> order;
  for (const SafetensorsTensor& tensor : tensors) {
    if (!tensor.bytes.bytes.empty()) order.push_back(&tensor);
  }
  std::ranges::sort(order, {}, [](const auto* tensor) { return tensor->bytes.bytes.data(); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::span<const std::byte> before = order[i - 1]->bytes.bytes;
    if (before.data() + before.size() <= order[i]->bytes.bytes.data()) continue;
    fail_format("tensor '" + order[i]->name + "': expected bytes of its own, found some of '" +
                order[i - 1]->name + "'");
  }
}

float float_from_e4m3(unsigned bits) {
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  const int exponent = static_cast<int>((bits >> 3) & 15);
  const auto fraction = static_cast<float>(bits & 7);
  if ((bits & 0x7F) == 0x7F) return std::nanf("");
  if (exponent == 0) return sign * std::ldexp(fraction, -9);
  return sign * std::ldexp(1 + fraction / 8, exponent - 7);
}

/// Converts elements that `Stored` reads, by `convert`.
template <typename Stored, typename Convert>
void convert_all(std::span<const std::byte> bytes, std::span<float> values,
                 const Convert& convert) {
  ByteReader reader(bytes);
  for (float& value : values) value = convert(reader.little_endian<Stored>());
}

template <typename Stored>
void convert_numbers(std::span<const std::byte> bytes, std::span<float> values) {
  convert_all<Stored>(bytes, values, [](Stored x) { return static_cast<float>(x); });
}

void convert_integers(SafetensorsType type, std::span<const std::byte> bytes,
                      std::span<float> values) {
  if (type == SafetensorsType::kI8) return convert_numbers<std::int8_t>(bytes, values);
  if (type == SafetensorsType::kU16) return convert_numbers<std::uint16_t>(bytes, values);
  if (type == SafetensorsType::kI16) return convert_numbers<std::int16_t>(bytes, values);
  if (type == SafetensorsType::kU32) return convert_numbers<std::uint32_t>(bytes, values);
  if (type == SafetensorsType::kI32) return convert_numbers<std::int32_t>(bytes, values);
  if (type == SafetensorsType::kU64) return convert_numbers<std::uint64_t>(bytes, values);
  if (type == SafetensorsType::kI64) return convert_numbers<std::int64_t>(bytes, values);
  convert_numbers<std::uint8_t>(bytes, values);
}

/// The files of an index, next to it.
std::set<std::string> files_of(const json& index) {
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) {
    fail_format("'weight_map': expected an object, found none");
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    // Only files of this folder: an index is not trusted.
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos) {
      fail_format("'weight_map': expected file names, found another value for '" + tensor + "'");
    }
    files.insert(name);
  }
  return files;
}

}  // namespace

std::string_view to_string(SafetensorsType type) { return row_of(type).name; }

std::size_t size_bytes(SafetensorsType type) { return row_of(type).bytes; }

std::size_t SafetensorsTensor::num_elements() const {
  return bytes.bytes.size() / size_bytes(type);
}

SafetensorsFile SafetensorsFile::parse(const SharedBytes& file) {
  ByteReader reader(file.bytes);
  const auto size = reader.little_endian<std::uint64_t>();
  if (size > reader.remaining()) {
    fail_format("expected a head of at most " + std::to_string(reader.remaining()) +
                " bytes, found " + std::to_string(size) + "; is the file whole?");
  }
  const json head = parse_json(text_of(reader.take(static_cast<std::size_t>(size))));
  const SharedBytes data = file.part(reader.position(), reader.remaining());
  SafetensorsFile result;
  result.file_bytes_ = file.bytes.size();
  for (const auto& item : head.items()) {
    if (item.key() == "__metadata__") {
      for (const auto& [key, value] : item.value().items()) {
        result.metadata_[key] = value.is_string() ? value.get<std::string>() : value.dump();
      }
    } else {
      with_context("tensor '" + item.key() + "'",
                   [&] { result.tensors_.push_back(tensor_of(item.key(), item.value(), data)); });
    }
  }
  result.index();
  check_places(result.tensors_);
  return result;
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  const SharedBytes file = map_file(path);
  if (path.extension() != ".json") {
    return with_context(path.string(), [&] { return parse(file); });
  }
  const json index = with_context(path.string(), [&] { return parse_json(text_of(file.bytes)); });
  const std::set<std::string> names = with_context(path.string(), [&] { return files_of(index); });
  SafetensorsFile whole;
  for (const std::string& name : names) {
    const std::filesystem::path part = path.parent_path() / name;
    const SharedBytes bytes = map_file(part);
    with_context(part.string(), [&] { whole.add_part(parse(bytes)); });
  }
  whole.index();
  for (const auto& [tensor, name] : index["weight_map"].items()) {
    if (whole.tensor(tensor) == nullptr) {
      fail_format(path.string() + ": tensor '" + tensor + "': expected in " +
                  name.get<std::string>() + ", found in no file");
    }
  }
  return whole;
}

void SafetensorsFile::add_part(SafetensorsFile part) {
  metadata_.merge(part.metadata_);
  tensors_.insert(tensors_.end(), std::make_move_iterator(part.tensors_.begin()),
                  std::make_move_iterator(part.tensors_.end()));
  file_bytes_ += part.file_bytes_;
}

void SafetensorsFile::index() {
  for (std::size_t at = 0; at < tensors_.size(); ++at) {
    if (by_name_.emplace(tensors_[at].name, at).second) continue;
    fail_format("tensor '" + tensors_[at].name + "': expected in one file, found in two");
  }
}

const SafetensorsTensor* SafetensorsFile::tensor(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

void decode_safetensors(const SafetensorsTensor& tensor, std::span<float> values) {
  if (values.size() != tensor.num_elements()) {
    fail(ErrorKind::kShape, "tensor '" + tensor.name + "': expected room for " +
                                std::to_string(tensor.num_elements()) + " elements, found " +
                                std::to_string(values.size()));
  }
  using Type = SafetensorsType;
  const std::span<const std::byte> bytes = tensor.bytes.bytes;
  if (tensor.type == Type::kF32) return convert_numbers<float>(bytes, values);
  if (tensor.type == Type::kF64) return convert_numbers<double>(bytes, values);
  if (tensor.type == Type::kF16) return convert_all<std::uint16_t>(bytes, values, float_from_half);
  if (tensor.type == Type::kBF16) {
    return convert_all<std::uint16_t>(bytes, values, float_from_bfloat16);
  }
  if (tensor.type == Type::kF8E4M3) {
    return convert_all<std::uint8_t>(bytes, values, float_from_e4m3);
  }
  if (tensor.type == Type::kF8E5M2) {
    return convert_all<std::uint8_t>(bytes, values, [](std::uint8_t x) {
      return float_from_half(static_cast<std::uint16_t>(x << 8));
    });
  }
  convert_integers(tensor.type, bytes, values);
}

}  // namespace halftone::formats
