// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/safetensors/safetensors_writer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone::formats {
namespace {

constexpr std::size_t kDataAlignment = 64;

/// A tensor with the number of its bytes.
struct SizedTensor {
  const NewSafetensorsTensor* tensor = nullptr;
  std::size_t bytes = 0;

  [[nodiscard]] std::size_t alignment() const {
    return bytes == 0 ? kDataAlignment
                      : std::min(kDataAlignment, std::size_t{1} << std::countr_zero(bytes));
  }
};

std::size_t bytes_of(const NewSafetensorsTensor& tensor) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 48;
  std::size_t bytes = size_bytes(tensor.type);
  for (const std::size_t extent : tensor.shape) {
    if (extent != 0 && bytes > kMaxBytes / extent) {
      fail(ErrorKind::kShape,
           "tensor '" + tensor.name + "': expected at most 2^48 bytes, found more");
    }
    bytes *= extent;
  }
  return bytes;
}

/// The tensors in the order of the file.
std::vector<SizedTensor> in_order(std::span<const NewSafetensorsTensor> tensors) {
  std::vector<SizedTensor> order;
  for (const NewSafetensorsTensor& tensor : tensors) order.push_back({&tensor, bytes_of(tensor)});
  std::ranges::sort(order, [](const SizedTensor& a, const SizedTensor& b) {
    return std::tuple(b.alignment(), std::string_view(a.tensor->name)) <
           std::tuple(a.alignment(), std::string_view(b.tensor->name));
  });
  return order;
}

/// A text in JSON.
std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail(ErrorKind::kUsage, "expected names and metadata in UTF-8, found other bytes");
  }
}

/// The head without its size, with spaces behind it.
std::string head_text(const SafetensorsMetadata& metadata, std::span<const SizedTensor> tensors) {
  constexpr std::string_view kMetadata = "__metadata__";
  std::string text;
  for (const auto& [key, value] : metadata) {
    text += (text.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
  }
  if (!metadata.empty()) text = quoted(std::string(kMetadata)) + ":{" + text + "}";
  std::set<std::string_view> names = {kMetadata};
  std::size_t offset = 0;
  for (const SizedTensor& each : tensors) {
    const NewSafetensorsTensor& tensor = *each.tensor;
    if (!names.insert(tensor.name).second) {
      fail(ErrorKind::kUsage, "tensor '" + tensor.name + "': expected a name of its own, found " +
                                  (tensor.name == kMetadata ? "that of the metadata" : "it twice"));
    }
    nlohmann::ordered_json entry;
    entry["dtype"] = to_string(tensor.type);
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, offset + each.bytes};
    text += (text.empty() ? "" : ",") + quoted(tensor.name) + ":" + entry.dump();
    offset += each.bytes;
  }
  text = "{" + text + "}";
  text.append((kDataAlignment - (8 + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

}  // namespace

void write_safetensors(const ByteSink& sink, const SafetensorsMetadata& metadata,
                       std::span<const NewSafetensorsTensor> tensors) {
  const std::vector<SizedTensor> order = in_order(tensors);
  const std::string text = head_text(metadata, order);
  ByteWriter head;
  head.little_endian<std::uint64_t>(text.size());
  head.append(text);
  sink(head.bytes());
  for (const SizedTensor& each : order) {
    with_context("tensor '" + each.tensor->name + "'",
                 [&] { pour(each.tensor->bytes, each.bytes, sink); });
  }
}

void write_safetensors(const std::filesystem::path& path, const SafetensorsMetadata& metadata,
                       std::span<const NewSafetensorsTensor> tensors) {
  write_file(path, [&](const ByteSink& sink) { write_safetensors(sink, metadata, tensors); });
}

}  // namespace halftone::formats
