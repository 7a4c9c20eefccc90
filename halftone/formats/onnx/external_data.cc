// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/external_data.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>

#include "halftone/base/error.h"

namespace halftone::formats::onnx {
namespace {

namespace fs = std::filesystem;

/// Tensors may share a range of a file (tied weights), but a small file must not become a large
/// model through repeated reads.
constexpr std::uintmax_t kMaxReadsPerByte = 4;

std::optional<std::string> entry(const onnx_pb::TensorProto& tensor, const std::string& key) {
  for (const auto& pair : tensor.external_data()) {
    if (pair.key() == key) return pair.value();
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number(const onnx_pb::TensorProto& tensor, const std::string& key) {
  const auto text = entry(tensor, key);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) {
    fail(ErrorKind::kFormat,
         "external data: expected a number as " + key + ", found '" + *text + "'");
  }
  return value;
}

}  // namespace

SharedBytes ExternalData::read(const onnx_pb::TensorProto& tensor, std::size_t needed) {
  const fs::path path = resolve(entry(tensor, "location").value_or(""));
  const auto [found, is_new] = files_.try_emplace(path);
  File& file = found->second;
  if (is_new) file.mapped = map_file(path);
  const std::uintmax_t file_bytes = file.mapped.bytes.size();
  const std::uint64_t offset = number(tensor, "offset").value_or(0);
  const std::uint64_t length = number(tensor, "length").value_or(needed);
  if (length != needed) {
    fail(ErrorKind::kFormat, path.string() + ": expected " + std::to_string(needed) +
                                 " bytes of external data, found a length of " +
                                 std::to_string(length));
  }
  if (offset > file_bytes || length > file_bytes - offset) {
    fail(ErrorKind::kFormat, path.string() + ": external data of " + std::to_string(length) +
                                 " bytes at offset " + std::to_string(offset) +
                                 " exceed the file of " + std::to_string(file_bytes) + " bytes");
  }
  if (file.bytes_read + length > kMaxReadsPerByte * file_bytes) {
    fail(ErrorKind::kFormat, path.string() +
                                 ": external data: expected each byte to be used at most " +
                                 std::to_string(kMaxReadsPerByte) + " times");
  }
  file.bytes_read += length;
  return file.mapped.part(offset, needed);
}

std::uintmax_t ExternalData::file_bytes() const {
  std::uintmax_t sum = 0;
  for (const auto& [path, file] : files_) sum += file.mapped.bytes.size();
  return sum;
}

fs::path ExternalData::resolve(const std::string& location) const {
  const fs::path relative(location);
  const auto refuse = [&](const std::string& reason) {
    fail(ErrorKind::kFormat, "external data '" + location + "': " + reason);
  };
  if (folder_.empty()) refuse("the folder of the model was not given");
  if (location.empty() || location.find('\0') != std::string::npos) refuse("expected a file name");
  if (relative.is_absolute())
    refuse("expected a file in the model's folder, found an absolute path");
  if (std::ranges::count(relative, fs::path("..")) > 0) {
    refuse("expected a file in the model's folder, found '..'");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder_, error);
  if (error) fail(ErrorKind::kIo, folder_.string() + ": " + error.message());
  fs::path path = fs::canonical(root / relative, error);
  if (error) fail(ErrorKind::kIo, (folder_ / relative).string() + ": " + error.message());
  const auto [end, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (end != root.end()) refuse("a symbolic link leads outside the model's folder");
  if (!fs::is_regular_file(path, error)) refuse("expected a regular file");
  return path;
}

}  // namespace halftone::formats::onnx
