// SPDX-License-Identifier: Apache-2.0
#include "halftone/library/c_status.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string_view>

#include "halftone/base/printable.h"

namespace halftone::library {
namespace {

constexpr std::size_t kMaxMessage = 2048;
thread_local std::array<char, kMaxMessage> message{};

void keep(std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), kMaxMessage - 1);
  std::copy_n(text.data(), length, message.data());
  message[length] = '\0';
}

/// One line without control characters, whatever a file holds.
void keep_line(std::string_view text) noexcept {
  try {
    keep(printable_line(text));
  } catch (const std::exception&) {
    keep("out of memory");
  }
}

halftone_status status_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kUsage:
      return HALFTONE_USAGE;
    case ErrorKind::kIo:
      return HALFTONE_IO;
    case ErrorKind::kFormat:
      return HALFTONE_FORMAT;
    case ErrorKind::kUnsupported:
      return HALFTONE_UNSUPPORTED;
    case ErrorKind::kShape:
      return HALFTONE_SHAPE;
    case ErrorKind::kMemory:
      return HALFTONE_MEMORY;
    case ErrorKind::kDevice:
      return HALFTONE_DEVICE;
    case ErrorKind::kInterrupted:
      return HALFTONE_INTERRUPTED;
    case ErrorKind::kInternal:
      break;
  }
  return HALFTONE_INTERNAL;
}

}  // namespace

halftone_status keep_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    keep_line(error.what());
    return status_of(error.kind());
  } catch (const std::bad_alloc&) {
    keep("out of memory");
    return HALFTONE_MEMORY;
  } catch (const std::exception& error) {
    keep_line(error.what());
  } catch (...) {
    keep("an exception of another library");
  }
  return HALFTONE_INTERNAL;
}

}  // namespace halftone::library

const char* halftone_error_message(void) noexcept { return halftone::library::message.data(); }

const char* halftone_status_name(halftone_status status) noexcept {
  switch (status) {
    case HALFTONE_OK:
      return "ok";
    case HALFTONE_USAGE:
      return "usage";
    case HALFTONE_IO:
      return "io";
    case HALFTONE_FORMAT:
      return "format";
    case HALFTONE_UNSUPPORTED:
      return "unsupported";
    case HALFTONE_SHAPE:
      return "shape";
    case HALFTONE_MEMORY:
      return "memory";
    case HALFTONE_DEVICE:
      return "device";
    case HALFTONE_INTERRUPTED:
      return "interrupted";
    case HALFTONE_INTERNAL:
      return "internal";
  }
  return "unknown";
}

const char* halftone_version(void) noexcept { return HALFTONE_VERSION; }
