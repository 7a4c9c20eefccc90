// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/error.h"

namespace halftone {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kFormat:
      return "format";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kShape:
      return "shape";
    case ErrorKind::kMemory:
      return "memory";
    case ErrorKind::kDevice:
      return "device";
    case ErrorKind::kInterrupted:
      return "interrupted";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "unknown";
}

void fail(ErrorKind kind, const std::string& message, Hint hint) {
  throw Error(kind, message, hint);
}

namespace internal {

void assertion_failed(const char* expression, const char* file, int line) {
  fail(ErrorKind::kInternal,
       std::string(file) + ":" + std::to_string(line) + ": assertion failed: " + expression);
}

}  // namespace internal
}  // namespace halftone
