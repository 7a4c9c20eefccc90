// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace halftone {

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      result += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return result;
}

}  // namespace halftone
