// SPDX-License-Identifier: Apache-2.0
// The exception of the C++ API.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The kind of an error.
  enum class ErrorKind : std::uint8_t {
    kUsage,        ///< an argument or option that the caller must change
    kIo,           ///< a file: missing, unreadable, full
    kFormat,       ///< bytes that violate their format
    kUnsupported,  ///< valid input that Halftone does not handle
    kShape,        ///< extents that do not fit together
    kMemory,       ///< more memory is needed than there is
    kDevice,       ///< an accelerator failed or is absent
    kInterrupted,  ///< the caller's progress function has ended the work
    kInternal,     ///< a bug of Halftone
  };

  /// What the functions of the C++ API throw, beside the exceptions of the caller's own functions.
  /// Its text is one line: what, where, expected and found.
  class HALFTONE_CPP_API Error : public std::runtime_error {
   public:
    /// @param message  one line: what() returns it
    Error(ErrorKind kind, const std::string& message);
    Error(const Error& other) noexcept = default;
    Error& operator=(const Error& other) noexcept = default;
    ~Error() override;
    [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }  ///< what went wrong

   private:
    ErrorKind kind_;
  };

}  // namespace v0
}  // namespace halftone
