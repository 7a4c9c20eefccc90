// SPDX-License-Identifier: Apache-2.0
// Gzip and deflate streams. Hides zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halftone {

/// Whether the bytes start with the gzip magic.
[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// One gzip stream of the best compression, without name and time.
std::vector<std::byte> gzip(std::span<const std::byte> bytes);

/// Unpacks at most `max_bytes` bytes of a gzip stream. The checksum is verified if the end is
/// reached. Memory grows with the unpacked bytes, not with `max_bytes`.
/// @throws Error kFormat if the stream is damaged or ends early
std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::size_t max_bytes);

/// The same for a deflate stream without header and checksum, as ZIP archives hold them.
std::vector<std::byte> inflate(std::span<const std::byte> bytes, std::size_t max_bytes);

/// The checksum of gzip and ZIP.
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace halftone
