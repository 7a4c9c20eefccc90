// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/programs.h"

#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/hash.h"
#include "halftone/base/paths.h"

namespace halftone::gpu {
namespace {

namespace fs = std::filesystem;

/// What a compiled program depends on.
std::string identity(const DeviceInfo& info, const std::string& text) {
  return "halftone kernels 1\n" + std::string(to_string(info.api)) + "\n" + info.name + "\n" +
         info.driver + "\n" + info.target + "\n" + text;
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.value();
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A file is the identity, the program, and a hash of both.
std::optional<std::vector<std::byte>> read_program(const fs::path& file,
                                                   const std::string& identity) {
  try {
    std::vector<std::byte> bytes = read_file(file);
    std::uint64_t hash = 0;
    if (bytes.size() < identity.size() + sizeof hash) return std::nullopt;
    const std::size_t end = bytes.size() - sizeof hash;
    std::memcpy(&hash, bytes.data() + end, sizeof hash);
    bytes.resize(end);
    const bool is_same = std::memcmp(bytes.data(), identity.data(), identity.size()) == 0;
    if (!is_same || hash != hash_of(bytes)) return std::nullopt;
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(identity.size()));
    return bytes;
  } catch (const Error&) {
    return std::nullopt;  // no such file
  }
}

void write_program(const fs::path& file, const std::string& identity,
                   std::span<const std::byte> program) {
  std::vector<std::byte> bytes(bytes_of(identity).begin(), bytes_of(identity).end());
  bytes.insert(bytes.end(), program.begin(), program.end());
  const std::uint64_t hash = hash_of(bytes);
  const auto tail = std::as_bytes(std::span(&hash, 1));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  try {
    write_file(file, bytes);
  } catch (const Error&) {  // the next program compiles again
  }
}

}  // namespace

fs::path default_kernel_cache() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "kernels";
}

Kernel& Programs::kernel(const std::string& text, const std::string& name) {
  Entry& entry = entries_[text];
  if (entry.program == nullptr) entry.program = read_or_compile(text);
  std::unique_ptr<Kernel>& kernel = entry.kernels[name];
  if (kernel == nullptr) kernel = entry.program->kernel(name);
  return *kernel;
}

std::unique_ptr<Program> Programs::read_or_compile(const std::string& text) {
  const std::string key = identity(device_.info(), text);
  const fs::path file =
      cache_.empty() ? cache_ : cache_ / (std::to_string(hash_of(bytes_of(key))) + ".bin");
  if (!file.empty()) {
    if (const auto found = read_program(file, key)) {
      try {
        return device_.load(*found);
      } catch (const Error&) {  // the driver refuses it: compile again
      }
    }
  }
  ++num_compiled_;
  std::unique_ptr<Program> program = device_.compile(text);
  if (!file.empty()) write_program(file, key, program->binary());
  return program;
}

}  // namespace halftone::gpu
