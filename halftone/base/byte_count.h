// SPDX-License-Identifier: Apache-2.0
// Numbers of bytes as people write them.
#pragma once

#include <optional>
#include <string_view>

namespace halftone {

/// The bytes of "60k", "1.5 MB" or "4GiB", in any case: k, M, G and T are powers of 1,000, Ki, Mi,
/// Gi and Ti powers of 1,024; a B may follow. Nothing for other texts, and for numbers below 0.
std::optional<double> parse_bytes(std::string_view text);

}  // namespace halftone
