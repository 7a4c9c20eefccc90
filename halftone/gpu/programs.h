// SPDX-License-Identifier: Apache-2.0
// Compiled kernels of a device, kept in memory and in files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "halftone/gpu/driver.h"

namespace halftone::gpu {

/// Where compiled kernels are kept: $XDG_CACHE_HOME/halftone/kernels, or that in ~/.cache; empty if
/// there is neither.
std::filesystem::path default_kernel_cache();

/// Compiles each text once. A file of the cache has the name of a hash of device, driver and text,
/// and all of these in it. One that cannot be read or written, or is damaged, is ignored.
class Programs {
 public:
  /// @param device  must outlive this
  /// @param cache   a folder, or empty: none
  explicit Programs(GpuDevice& device, std::filesystem::path cache = default_kernel_cache())
      : device_(device), cache_(std::move(cache)) {}

  [[nodiscard]] GpuDevice& device() const { return device_; }
  /// Texts compiled so far, without those read from files.
  [[nodiscard]] std::size_t num_compiled() const { return num_compiled_; }
  /// A kernel of a text. @throws Error as GpuDevice::compile() and Program::kernel()
  Kernel& kernel(const std::string& text, const std::string& name);

 private:
  struct Entry {
    std::unique_ptr<Program> program;
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
  };
  std::unique_ptr<Program> read_or_compile(const std::string& text);

  GpuDevice& device_;
  std::filesystem::path cache_;
  std::map<std::string, Entry> entries_;  ///< by text
  std::size_t num_compiled_ = 0;
};

}  // namespace halftone::gpu
