// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/gguf_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone::formats {
namespace {

constexpr std::string_view kAlignmentKey = "general.alignment";

void append_text(ByteWriter& bytes, std::string_view text) {
  bytes.little_endian<std::uint64_t>(text.size());
  bytes.append(text);
}

std::size_t aligned(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

std::size_t bytes_of(const NewGgufTensor& tensor) {
  std::size_t elements = 1;
  for (const std::size_t extent : tensor.shape) elements *= extent;
  return tensor.type->bytes_of(elements);
}

void check_tensors(std::span<const NewGgufTensor> tensors) {
  constexpr std::size_t kMaxName = 64;
  std::set<std::string_view> names;
  for (const NewGgufTensor& tensor : tensors) {
    with_context("tensor '" + tensor.name + "'", [&] {
      if (!names.insert(tensor.name).second) {
        fail(ErrorKind::kUsage, "expected it once, found it twice");
      }
      if (tensor.name.size() > kMaxName) {
        fail(ErrorKind::kUsage,
             "expected a name of at most 64 bytes, found " + std::to_string(tensor.name.size()));
      }
      check_gguf_shape(tensor.shape, *tensor.type, ErrorKind::kShape);
    });
  }
}

}  // namespace

/// What a file has in front of its tensors.
class GgufHead {
 public:
  GgufHead(const GgufKeys& keys, std::span<const NewGgufTensor> tensors) {
    check_tensors(tensors);
    bytes_.append("GGUF");
    bytes_.little_endian<std::uint32_t>(3);
    bytes_.little_endian<std::uint64_t>(tensors.size());
    bytes_.little_endian<std::uint64_t>(keys.size());
    for (const GgufKeys::Key& key : keys.keys_) {
      append_text(bytes_, key.name);
      bytes_.append(key.value);
      if (key.name == kAlignmentKey) alignment_ = alignment_of(key.value);
    }
    std::size_t offset = 0;
    for (const NewGgufTensor& tensor : tensors) {
      append_tensor(tensor, offset);
      offset += aligned(bytes_of(tensor), alignment_);
    }
    bytes_.align(alignment_);
  }

  [[nodiscard]] std::size_t alignment() const { return alignment_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  /// @param value  with its type
  static std::size_t alignment_of(std::span<const std::byte> value) {
    ByteReader reader(value);
    const auto type = reader.little_endian<std::uint32_t>();
    if (type != static_cast<std::uint32_t>(GgufValueType::kUint32)) {
      fail(ErrorKind::kFormat,
           std::string(kAlignmentKey) +
               ": expected an unsigned integer of 32 bits (type 4), found type " +
               std::to_string(type));
    }
    return checked_gguf_alignment(reader.little_endian<std::uint32_t>());
  }

  void append_tensor(const NewGgufTensor& tensor, std::size_t offset) {
    append_text(bytes_, tensor.name);
    bytes_.little_endian(static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) {
      bytes_.little_endian<std::uint64_t>(*extent);
    }
    bytes_.little_endian(tensor.type->id);
    bytes_.little_endian<std::uint64_t>(offset);
  }

  ByteWriter bytes_;
  std::size_t alignment_ = static_cast<std::size_t>(kGgufAlignment);
};

GgufKeys::GgufKeys(const GgufFile& file) {
  for (const GgufStoredKey& key : file.stored_keys()) {
    if (key.name.starts_with("split.")) continue;
    keys_.push_back({std::string(key.name), {key.value.begin(), key.value.end()}});
  }
}

ByteWriter GgufKeys::value_of(GgufValueType type) {
  ByteWriter value;
  value.little_endian(static_cast<std::uint32_t>(type));
  return value;
}

ByteWriter GgufKeys::list_of(GgufValueType type, std::size_t size) {
  ByteWriter value = value_of(GgufValueType::kArray);
  value.little_endian(static_cast<std::uint32_t>(type));
  value.little_endian<std::uint64_t>(size);
  return value;
}

GgufKeys& GgufKeys::put(std::string_view key, std::vector<std::byte> value) {
  const auto found = std::ranges::find(keys_, key, &Key::name);
  if (found != keys_.end()) {
    found->value = std::move(value);
  } else {
    keys_.push_back({std::string(key), std::move(value)});
  }
  return *this;
}

GgufKeys& GgufKeys::set(std::string_view key, std::string_view text) {
  ByteWriter value = value_of(GgufValueType::kString);
  append_text(value, text);
  return put(key, value.bytes());
}

GgufKeys& GgufKeys::set(std::string_view key, const std::vector<std::string>& texts) {
  ByteWriter value = list_of(GgufValueType::kString, texts.size());
  for (const std::string& text : texts) append_text(value, text);
  return put(key, value.bytes());
}

void GgufKeys::erase(std::string_view key) {
  std::erase_if(keys_, [&](const Key& each) { return each.name == key; });
}

void write_gguf(const ByteSink& sink, const GgufKeys& keys,
                std::span<const NewGgufTensor> tensors) {
  const GgufHead head(keys, tensors);
  sink(head.bytes());
  for (const NewGgufTensor& tensor : tensors) {
    const std::size_t bytes = bytes_of(tensor);
    with_context("tensor '" + tensor.name + "'", [&] { pour(tensor.bytes, bytes, sink); });
    sink(std::vector<std::byte>(aligned(bytes, head.alignment()) - bytes));
  }
}

void write_gguf(const std::filesystem::path& path, const GgufKeys& keys,
                std::span<const NewGgufTensor> tensors) {
  write_file(path, [&](const ByteSink& sink) { write_gguf(sink, keys, tensors); });
}

}  // namespace halftone::formats
