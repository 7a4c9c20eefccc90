// SPDX-License-Identifier: Apache-2.0
// What memory there is, asked before a lot of it is taken: a system that promises more than it has
// ends the process when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace halftone {

/// Bytes this process may still take: the least of fifteen sixteenths of what the system has free
/// or can free, and its swap, of what the control groups of the process leave it, and of what is
/// left of its address space (RLIMIT_AS). Nothing where none of them is known; Linux knows.
/// @param root  in front of /proc and /sys, for tests
[[nodiscard]] std::optional<std::uint64_t> available_memory(const std::string& root = "");

/// Checks that so many bytes may be taken. Less than 16 MiB are never refused, which saves asking.
/// @param what  what they are for, as the message begins
/// @throws Error kUnsupported "WHAT: N bytes of memory are needed, M are available"
void require_memory(std::size_t bytes, const std::string& what, const std::string& root = "");

}  // namespace halftone
