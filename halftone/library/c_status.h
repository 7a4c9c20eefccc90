// SPDX-License-Identifier: Apache-2.0
// From exceptions to the statuses of the C API.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/halftone.h"

namespace halftone::library {

/// Keeps the exception that is being handled as the message of this thread. Does not allocate.
halftone_status keep_exception() noexcept;

/// Runs `body`, which may throw, at the border of the library.
template <typename Body>
halftone_status guarded(Body&& body) noexcept {
  try {
    body();
    return HALFTONE_OK;
  } catch (...) {
    return keep_exception();
  }
}

/// A handle that its caller owns until take_back().
template <typename Handle>
Handle* give(Handle handle) {
  return std::make_unique<Handle>(std::move(handle)).release();
}
/// Ends a handle; nothing for null.
template <typename Handle>
void take_back(Handle* handle) noexcept {
  const std::unique_ptr<Handle> owner(handle);
}

/// @throws Error kUsage "NAME: expected a pointer, found NULL"
template <typename T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) {
    fail(ErrorKind::kUsage, std::string(name) + ": expected a pointer, found NULL");
  }
  return *pointer;
}

/// A copy of options of which the caller may have an older, shorter version, or none.
/// @throws Error kUsage if the caller's size is that of no version
template <typename Options>
Options known(const Options* options, const char* name) {
  Options mine{};
  if (options == nullptr) return mine;
  const std::size_t bytes = options->struct_bytes;
  if (bytes < sizeof(options->struct_bytes) || bytes > sizeof(Options)) {
    fail(ErrorKind::kUsage, std::string(name) + ".struct_bytes: expected " +
                                std::to_string(sizeof(Options)) + ", found " +
                                std::to_string(bytes) + "; a newer header needs a newer library");
  }
  std::memcpy(&mine, options, bytes);
  return mine;
}

}  // namespace halftone::library
