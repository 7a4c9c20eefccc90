// SPDX-License-Identifier: Apache-2.0
// Small numbers packed one after another, the lowest bits of a byte first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::numerics {

/// Takes numbers of up to 16 bits from bytes.
class BitReader {
 public:
  explicit BitReader(const std::byte* bytes) : bytes_(bytes) {}

  [[nodiscard]] unsigned take(int bits) {
    while (count_ < bits) {
      word_ |= std::to_integer<std::uint32_t>(*bytes_++) << count_;
      count_ += 8;
    }
    const unsigned number = word_ & ((1U << bits) - 1);
    word_ >>= bits;
    count_ -= bits;
    return number;
  }

 private:
  const std::byte* bytes_;
  std::uint32_t word_ = 0;
  int count_ = 0;  ///< bits in the word
};

/// The inverse.
class BitWriter {
 public:
  explicit BitWriter(std::byte* bytes) : bytes_(bytes) {}

  /// @pre number < 2^bits
  void put(unsigned number, int bits) {
    word_ |= std::uint32_t{number} << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, word_ >>= 8) {
      *bytes_++ = static_cast<std::byte>(word_ & 255);
    }
  }
  /// Fills the last byte with zeros.
  void finish() {
    if (count_ > 0) *bytes_++ = static_cast<std::byte>(word_ & 255);
    word_ = 0;
    count_ = 0;
  }

 private:
  std::byte* bytes_;
  std::uint32_t word_ = 0;
  int count_ = 0;
};

}  // namespace halftone::numerics
