// SPDX-License-Identifier: Apache-2.0
// Halftone reports all errors of the user and of the environment through this type.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace halftone {

/// The kind of an error; the command line derives its exit code from it.
enum class ErrorKind {
  kUsage,        ///< an option or argument the caller must change
  kIo,           ///< a file or device of the operating system: missing, unreadable, full
  kFormat,       ///< bytes that violate their format
  kUnsupported,  ///< valid input that Halftone does not handle
  kShape,        ///< extents that do not fit together
  kMemory,       ///< more memory is needed than there is
  kDevice,       ///< an accelerator failed or is absent
  kInterrupted,  ///< the work was asked to stop
  kInternal,     ///< an invariant of Halftone itself is broken: a bug
};

/// The name of a kind in messages: "usage", "io", ...
std::string_view to_string(ErrorKind kind);

/// The exception every public function of Halftone throws.
/// Its text is one line: what, where, expected and found.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// @throws Error of the given kind, always
[[noreturn]] void fail(ErrorKind kind, const std::string& message);

/// Runs `body` and puts "context: " in front of the message of an Error. For module borders.
template <typename Body>
auto with_context(std::string_view context, Body&& body) -> decltype(std::forward<Body>(body)()) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    fail(error.kind(), std::string(context) + ": " + error.what());
  }
}

namespace internal {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

}  // namespace halftone

/// A precondition or invariant of the code; checked in debug and sanitizer builds only.
#ifdef HALFTONE_DEBUG
#define HALFTONE_ASSERT(condition) \
  ((condition) ? void() : ::halftone::internal::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define HALFTONE_ASSERT(condition) void(sizeof((condition) ? 1 : 0))
#endif
