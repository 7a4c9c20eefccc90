// SPDX-License-Identifier: Apache-2.0
// Available memory, checked before large allocations: a system that overcommits memory kills the
// process when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace halftone {

/// Bytes that this process may still allocate. The minimum of: 15/16 of the memory that the system
/// has free or can free, plus its swap; the remaining limits of the process's control groups; the
/// remaining address space (RLIMIT_AS). Nothing if none of them is known; Linux knows them.
/// @param root  in front of /proc and /sys, for tests
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::string& root = "");

/// Checks that so many bytes may be allocated. Less than 16 MiB are never refused, which saves the
/// check.
/// @param what  their purpose; the message begins with it
/// @throws Error kMemory "WHAT: N bytes of memory are needed, M are available"
void require_memory(std::size_t bytes, const std::string& what, const std::string& root = "");

}  // namespace halftone
