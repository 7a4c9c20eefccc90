// SPDX-License-Identifier: Apache-2.0
// Partial decompression of gzip streams.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::data {

/// Whether the bytes start with the gzip magic.
[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// Unpacks at most `max_bytes` bytes of a gzip stream. The checksum is verified if the end is
/// reached. Memory grows with the unpacked bytes, not with `max_bytes`.
/// @throws Error kFormat if the stream is damaged or ends early
std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::size_t max_bytes);

}  // namespace halftone::data
