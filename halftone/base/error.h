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

/// The setting that a caller can change to avoid an error. Messages describe it in words; a user
/// interface adds its own name for it, such as an option.
enum class Hint {
  kNone,
  kBatch,       ///< samples per step or run
  kCheckpoint,  ///< the checkpoint of a training
  kContext,     ///< tokens that a language model remembers
  kIterations,  ///< iterations until a loop counts as one without an end
  kInputs,      ///< the tensors or files that a network receives
  kRecipe,      ///< number systems and bits of layers
  kReference,   ///< a network to compare with
  kResume,      ///< whether a training continues from its checkpoint
  kScale,       ///< the factor on pixels
  kTokenizer,   ///< the tokenizer of a language model
  kTemplate,    ///< how a language model writes conversations
};

/// The name of a kind in messages: "usage", "io", ...
std::string_view to_string(ErrorKind kind);

/// The exception every public function of Halftone throws.
/// Its text is one line: what, where, expected and found.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, Hint hint = Hint::kNone)
      : std::runtime_error(message), kind_(kind), hint_(hint) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] Hint hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  Hint hint_;
};

/// @throws Error of the given kind, always
[[noreturn]] void fail(ErrorKind kind, const std::string& message, Hint hint = Hint::kNone);

/// Runs `body` and puts "context: " in front of the message of an Error. For module borders.
template <typename Body>
auto with_context(std::string_view context, Body&& body) -> decltype(std::forward<Body>(body)()) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    fail(error.kind(), std::string(context) + ": " + error.what(), error.hint());
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
