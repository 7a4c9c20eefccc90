// SPDX-License-Identifier: Apache-2.0
// A hash that detects damaged or mixed-up data; it is not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace halftone {

/// Incremental 64-bit FNV-1a: h = (h xor byte) * 1099511628211 for each byte.
/// Source: Fowler, Noll, Vo, The FNV Non-Cryptographic Hash Algorithm (draft-eastlake-fnv).
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211U;
    }
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

}  // namespace halftone
