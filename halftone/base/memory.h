// SPDX-License-Identifier: Apache-2.0
// Available memory, checked before large allocations: a system that overcommits kills the process
// only when it uses the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace halftone {

/// Bytes that this process may still allocate: the minimum of 15/16 of the memory that the system
/// has free or can free, plus free swap; the remaining limits of the process's control groups; and
/// the remaining address space (RLIMIT_AS). Nothing if none of them is known, as outside of Linux.
/// @param root  prefix of /proc and /sys, for tests
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::string& root = "");

/// Checks that this many bytes can be allocated, and that they are within the limit of
/// thread_settings(). Without a limit, sizes below 16 MiB always pass, which saves the system
/// calls.
/// @param what  the purpose of the memory; the message begins with it
/// @throws Error kMemory "WHAT: N bytes of memory are needed, M are available"
void require_memory(std::size_t bytes, const std::string& what, const std::string& root = "");

/// Checks that this much address space can be mapped at this moment. Some libraries crash or exit
/// where a mapping of theirs fails; ask before calling them.
/// @param what  the purpose of the memory; the message begins with it
/// @throws Error kMemory "WHAT: N bytes of address space are not available"
void require_address_space(std::size_t bytes, const std::string& what);

}  // namespace halftone
