// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace halftone {

/// Bytes as text, with padding. Source: RFC 4648, section 4.
std::string to_base64(std::string_view bytes);
/// The bytes of such a text, with or without padding; nullopt if it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace halftone
