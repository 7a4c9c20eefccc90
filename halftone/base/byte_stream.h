// SPDX-License-Identifier: Apache-2.0
// Bytes that are made piece by piece, so that they are never all in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/shared_bytes.h"

namespace halftone {

/// Takes bytes, piece after piece.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// Gives all its bytes to a sink, piece after piece.
using ByteSource = std::function<void(const ByteSink& sink)>;

/// The source of bytes that are there already.
inline ByteSource source_of(SharedBytes bytes) {
  return [bytes = std::move(bytes)](const ByteSink& sink) { sink(bytes.bytes); };
}

/// Passes the bytes of a source on.
/// @throws Error kShape if they are not so many
inline void pour(const ByteSource& source, std::size_t expected, const ByteSink& sink) {
  std::size_t found = 0;
  source([&](std::span<const std::byte> piece) {
    found += piece.size();
    sink(piece);
  });
  if (found != expected) {
    fail(ErrorKind::kShape,
         "expected " + std::to_string(expected) + " bytes, found " + std::to_string(found));
  }
}

/// All bytes of a source.
inline std::vector<std::byte> collect(const ByteSource& source) {
  std::vector<std::byte> bytes;
  source([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

}  // namespace halftone
