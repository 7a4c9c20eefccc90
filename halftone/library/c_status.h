// SPDX-License-Identifier: Apache-2.0
// From exceptions to the statuses of the C API.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// A text that may be NULL.
inline std::string optional_text(const char* text) { return text == nullptr ? "" : text; }

/// Texts of the caller.
/// @throws Error as required()
template <typename Text>
std::vector<Text> texts_of(const char* const* texts, std::size_t count, const char* name) {
  if (count != 0) required(texts, name);
  std::vector<Text> result;
  for (std::size_t i = 0; i < count; ++i) result.emplace_back(&required(texts[i], name));
  return result;
}

/// @param struct_bytes  of a struct of the caller's
/// @throws Error kUsage if it is the size of no version of the struct
template <typename Struct>
void check_version(std::size_t struct_bytes, const char* name) {
  if (struct_bytes < sizeof(std::size_t) || struct_bytes > sizeof(Struct)) {
    fail(ErrorKind::kUsage,
         std::string(name) + ".struct_bytes: expected " + std::to_string(sizeof(Struct)) +
             ", found " + std::to_string(struct_bytes) + "; a newer header needs a newer library");
  }
}

/// A copy of options of which the caller may have an older, shorter version, or none.
/// @throws Error as check_version()
template <typename Options>
Options known(const Options* options, const char* name) {
  Options mine{};
  if (options == nullptr) return mine;
  check_version<Options>(options->struct_bytes, name);
  std::memcpy(&mine, options, options->struct_bytes);
  return mine;
}

/// Gives the caller, who may have an older version of the struct, a result.
/// @pre check_version() has passed
template <typename Result>
void give_result(Result result, Result& callers) {
  result.struct_bytes = callers.struct_bytes;
  std::memcpy(&callers, &result, result.struct_bytes);
}

}  // namespace halftone::library
