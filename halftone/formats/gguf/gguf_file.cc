// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/gguf_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"

namespace halftone::formats {
namespace {

using ValueType = GgufValueType;

[[noreturn]] void fail_gguf(const std::string& message) { fail(ErrorKind::kFormat, message); }

[[noreturn]] void fail_unknown_type(std::uint32_t id) {
  const std::string_view former = former_gguf_type(id);
  std::string message = "expected a known type of tensors, found type " + std::to_string(id);
  if (!former.empty()) {
    message += ", " + std::string(former) +
               ", which llama.cpp has given up: convert the model anew, to " +
               std::string(former.starts_with("IQ4") ? "IQ4_NL" : "Q4_0");
  }
  fail(ErrorKind::kUnsupported, message);
}

/// The least bytes that a value takes.
std::size_t least_bytes(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kString:
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    case ValueType::kArray:
      break;
  }
  return 12;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string text_of(const std::vector<std::size_t>& shape) {
  std::string text = "[";
  for (const std::size_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

/// "model-00002-of-00003.gguf" as its parts; nothing for other names.
struct SplitName {
  std::string stem;
  std::size_t count = 0;

  [[nodiscard]] std::string part(std::size_t number) const {
    const auto digits = [](std::size_t n) {
      const std::string text = std::to_string(n);
      return std::string(5 - std::min<std::size_t>(5, text.size()), '0') + text;
    };
    return stem + "-" + digits(number) + "-of-" + digits(count) + ".gguf";
  }
};

std::optional<SplitName> split_name(const std::string& file) {
  constexpr std::string_view kForm = "-00001-of-00001.gguf";
  if (file.size() <= kForm.size()) return std::nullopt;
  const std::string ending = file.substr(file.size() - kForm.size());
  SplitName name{file.substr(0, file.size() - kForm.size())};
  const char* digits = ending.data() + 10;
  const auto [end, error] = std::from_chars(digits, digits + 5, name.count);
  if (error != std::errc() || end != digits + 5) return std::nullopt;
  for (std::size_t number = 1; number <= name.count; ++number) {
    if (name.part(number) == file) return name;
  }
  return std::nullopt;
}

}  // namespace

/// Reads the head of one file.
class GgufParser {
 public:
  explicit GgufParser(const SharedBytes& bytes) : bytes_(bytes), reader_(bytes.bytes) {}

  GgufFile parse() {
    check_head();
    const std::size_t num_tensors = count(8 + 4 + 4 + 8, "tensors");
    const std::size_t num_keys = count(8 + 4 + 1, "keys");
    for (std::size_t i = 0; i < num_keys; ++i) read_key();
    for (std::size_t i = 0; i < num_tensors; ++i) read_tensor();
    place_tensors();
    file_.file_bytes_ = bytes_.bytes.size();
    file_.files_.push_back(bytes_.owner);
    return std::move(file_);
  }

 private:
  void check_head() {
    constexpr std::uint32_t kNewest = 3;
    if (text_of(reader_.take(4)) != "GGUF") fail_gguf("expected a GGUF file, found other bytes");
    const auto version = reader_.little_endian<std::uint32_t>();
    if ((version & 0xFFFF) == 0 && version != 0) {
      fail(ErrorKind::kUnsupported, "expected numbers in little-endian order, found big-endian");
    }
    if (version < 2 || version > kNewest) {
      fail(ErrorKind::kUnsupported,
           "expected GGUF of version 2 or 3, found version " + std::to_string(version));
    }
  }

  /// A count of things that take at least so many bytes each: no more than there is room for.
  std::size_t count(std::size_t least, const std::string& what) {
    const auto found = reader_.little_endian<std::uint64_t>();
    if (found > reader_.remaining() / least) {
      fail_gguf("expected at most " + std::to_string(reader_.remaining() / least) + " " + what +
                ", found " + std::to_string(found));
    }
    return static_cast<std::size_t>(found);
  }

  std::string_view string() { return text_of(reader_.take(count(1, "bytes of text"))); }

  ValueType value_type() {
    const auto type = reader_.little_endian<std::uint32_t>();
    if (type > static_cast<std::uint32_t>(ValueType::kFloat64)) {
      fail_gguf("expected a type of values from 0 to 12, found " + std::to_string(type));
    }
    return static_cast<ValueType>(type);
  }

  template <typename T>
  GgufValue whole() {
    return static_cast<std::int64_t>(reader_.little_endian<T>());
  }

  GgufValue value(ValueType type) {
    switch (type) {
      case ValueType::kUint8:
        return whole<std::uint8_t>();
      case ValueType::kInt8:
        return whole<std::int8_t>();
      case ValueType::kUint16:
        return whole<std::uint16_t>();
      case ValueType::kInt16:
        return whole<std::int16_t>();
      case ValueType::kUint32:
        return whole<std::uint32_t>();
      case ValueType::kInt32:
        return whole<std::int32_t>();
      case ValueType::kInt64:
        return whole<std::int64_t>();
      case ValueType::kFloat32:
        return static_cast<double>(reader_.little_endian<float>());
      case ValueType::kFloat64:
        return reader_.little_endian<double>();
      case ValueType::kString:
        return string();
      case ValueType::kArray:
        return array();
      case ValueType::kUint64:
      case ValueType::kBool:
        break;
    }
    return type == ValueType::kBool ? boolean() : large();
  }

  GgufValue boolean() {
    const auto found = reader_.little_endian<std::uint8_t>();
    if (found > 1) fail_gguf("expected a boolean of 0 or 1, found " + std::to_string(found));
    return found == 1;
  }

  GgufValue large() {
    const auto found = reader_.little_endian<std::uint64_t>();
    if (found <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(found);
    return found;
  }

  GgufValue array() {
    const ValueType type = value_type();
    if (type == ValueType::kArray) {
      fail(ErrorKind::kUnsupported, "expected a list of values, found a list of lists");
    }
    const std::size_t size = count(least_bytes(type), "values of a list");
    GgufArray result;
    for (std::size_t i = 0; i < size; ++i) add(result, value(type));
    return result;
  }

  static void add(GgufArray& array, const GgufValue& value) {
    if (const auto* text = std::get_if<std::string_view>(&value)) array.texts.push_back(*text);
    if (const auto* number = std::get_if<double>(&value)) array.numbers.push_back(*number);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) array.integers.push_back(*whole);
    if (const auto* flag = std::get_if<bool>(&value)) array.integers.push_back(*flag ? 1 : 0);
    if (std::holds_alternative<std::uint64_t>(value)) {
      fail(ErrorKind::kUnsupported, "expected integers below 2^63 in a list, found a larger one");
    }
  }

  void read_key() {
    const std::string_view name = string();
    const std::string key(name);
    const std::size_t begin = reader_.position();
    with_context("key '" + key + "'", [&] {
      if (!file_.keys_.emplace(key, value(value_type())).second) {
        fail_gguf("expected it once, found it twice");
      }
    });
    file_.stored_keys_.push_back({name, bytes_.bytes.subspan(begin, reader_.position() - begin)});
  }

  void read_tensor() {
    GgufTensor tensor;
    tensor.name = string();
    with_context("tensor '" + tensor.name + "'", [&] {
      const bool is_new = file_.by_name_.emplace(tensor.name, file_.tensors_.size()).second;
      if (!is_new) fail_gguf("expected it once, found it twice");
      const auto rank = reader_.little_endian<std::uint32_t>();
      if (rank > 4) fail_gguf("expected at most 4 axes, found " + std::to_string(rank));
      for (std::uint32_t axis = 0; axis < rank; ++axis) {
        const auto extent = reader_.little_endian<std::uint64_t>();
        tensor.shape.insert(tensor.shape.begin(), static_cast<std::size_t>(extent));
      }
      const auto id = reader_.little_endian<std::uint32_t>();
      tensor.type = gguf_type(id);
      if (tensor.type == nullptr) {
        fail_unknown_type(id);
      }
      check_gguf_shape(tensor.shape, *tensor.type, ErrorKind::kFormat);
      offsets_.push_back(reader_.little_endian<std::uint64_t>());
    });
    file_.tensors_.push_back(std::move(tensor));
  }

  /// The tensors begin behind the head, at a multiple of the alignment.
  void place_tensors() {
    const std::size_t step =
        checked_gguf_alignment(file_.integer("general.alignment").value_or(kGgufAlignment));
    const std::size_t start = (reader_.position() + step - 1) / step * step;
    const std::size_t size = bytes_.bytes.size();
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      GgufTensor& tensor = file_.tensors_[i];
      const std::size_t bytes = tensor.type->bytes_of(tensor.num_elements());
      const bool fits = start <= size && offsets_[i] <= size - start &&
                        bytes <= size - start - static_cast<std::size_t>(offsets_[i]);
      if (!fits || offsets_[i] % step != 0) {
        fail_gguf("tensor '" + tensor.name + "': expected its " + std::to_string(bytes) +
                  " bytes within the file at a multiple of " + std::to_string(step) +
                  ", found offset " + std::to_string(offsets_[i]) + " of " +
                  std::to_string(size > start ? size - start : 0) + " bytes; is the file whole?");
      }
      tensor.bytes = bytes_.part(start + static_cast<std::size_t>(offsets_[i]), bytes);
    }
    check_places();
  }

  /// Bytes belong to one tensor.
  void check_places() const {
    std::vector<std::size_t> order(offsets_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return offsets_[i]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const GgufTensor& before = file_.tensors_[order[i - 1]];
      if (offsets_[order[i - 1]] + before.bytes.bytes.size() <= offsets_[order[i]]) continue;
      fail_gguf("tensor '" + file_.tensors_[order[i]].name +
                "': expected bytes of its own, found some of '" + before.name + "'");
    }
  }

  SharedBytes bytes_;
  ByteReader reader_;
  GgufFile file_;
  std::vector<std::uint64_t> offsets_;  ///< by tensor
};

std::size_t GgufTensor::num_elements() const {
  std::size_t elements = 1;
  for (const std::size_t extent : shape) elements *= extent;
  return elements;
}

GgufFile GgufFile::parse(const SharedBytes& file) {
  GgufFile result = GgufParser(file).parse();
  const std::int64_t parts = result.integer("split.count").value_or(1);
  if (parts > 1) {
    fail(ErrorKind::kUnsupported, "expected a whole model, found one of " + std::to_string(parts) +
                                      " parts: open the first of its files");
  }
  return result;
}

GgufFile GgufFile::open(const std::filesystem::path& path) {
  const std::optional<SplitName> split = split_name(path.filename().string());
  if (!split || split->count < 2) {
    const SharedBytes file = map_file(path);
    return with_context(path.string(), [&] { return parse(file); });
  }
  GgufFile whole;
  for (std::size_t number = 1; number <= split->count; ++number) {
    const std::filesystem::path file = path.parent_path() / split->part(number);
    const SharedBytes bytes = map_file(file);
    with_context(file.string(), [&] {
      GgufFile part = GgufParser(bytes).parse();
      const auto found = part.integer("split.no");
      if (found != static_cast<std::int64_t>(number - 1)) {
        fail_gguf("expected part " + std::to_string(number - 1) + " of a split file, found " +
                  (found ? "part " + std::to_string(*found) : "no number of a part"));
      }
      whole.add_part(std::move(part));
    });
  }
  const auto expected = whole.integer("split.tensors.count");
  if (expected && *expected != static_cast<std::int64_t>(whole.tensors_.size())) {
    fail_gguf(path.string() + ": expected " + std::to_string(*expected) +
              " tensors in all parts, found " + std::to_string(whole.tensors_.size()));
  }
  return whole;
}

void GgufFile::add_part(GgufFile part) {
  for (const GgufStoredKey& key : part.stored_keys_) {
    if (find(key.name) == nullptr) stored_keys_.push_back(key);
  }
  keys_.merge(part.keys_);  // those of the first part are the model's
  for (GgufTensor& each : part.tensors_) {
    if (!by_name_.emplace(each.name, tensors_.size()).second) {
      fail_gguf("tensor '" + each.name + "': expected in one part, found in two");
    }
    tensors_.push_back(std::move(each));
  }
  files_.insert(files_.end(), part.files_.begin(), part.files_.end());
  file_bytes_ += part.file_bytes_;
}

void check_gguf_shape(const std::vector<std::size_t>& shape, const GgufType& type, ErrorKind kind) {
  constexpr std::size_t kMaxElements = std::size_t{1} << 40;
  if (shape.size() > 4) fail(kind, "expected at most 4 axes, found shape " + text_of(shape));
  std::size_t elements = 1;
  for (const std::size_t extent : shape) {
    if (extent == 0 || extent > kMaxElements / elements) {
      fail(kind, "expected 1 to 2^40 elements, found shape " + text_of(shape));
    }
    elements *= extent;
  }
  if ((shape.empty() ? 1 : shape.back()) % type.block != 0) {
    fail(kind, "expected rows of a multiple of the " + std::to_string(type.block) +
                   " elements of a block of " + std::string(type.name) + ", found shape " +
                   text_of(shape));
  }
}

std::size_t checked_gguf_alignment(std::int64_t alignment) {
  if (alignment < 1 || alignment > (1 << 20) ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    fail_gguf("general.alignment: expected a power of two up to 2^20, found " +
              std::to_string(alignment));
  }
  return static_cast<std::size_t>(alignment);
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second;
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string_view>(value)) return *text;
  fail_gguf("key '" + std::string(key) + "': expected a text, found another type");
}

std::optional<std::int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return *whole;
  fail_gguf("key '" + std::string(key) + "': expected an integer, found another type");
}

}  // namespace halftone::formats
