// SPDX-License-Identifier: Apache-2.0
// gzip streams of which no more is unpacked than asked for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::data {

/// Whether the bytes start like a gzip stream.
[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes);

/// The first `max_bytes` bytes of what a gzip stream holds, or all if it holds fewer; the check
/// sum is verified when the end is reached. Memory grows with what is unpacked, not with
/// `max_bytes`.
/// @throws Error kFormat if the stream is damaged or ends early
std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::size_t max_bytes);

}  // namespace halftone::data
