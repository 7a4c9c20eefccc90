// SPDX-License-Identifier: Apache-2.0
// Control groups of Linux, by which containers and services are limited.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// One that this process is in.
struct ControlGroup {
  std::string folder;  ///< with its files
  int version = 2;     ///< 1 or 2, whose files have other names
};

/// Those that a controller such as "memory" or "cpu" may limit: the group of this process, then
/// those around it. None where the system has no such groups.
/// @param root  prefix of /proc and /sys, for tests
[[nodiscard]] std::vector<ControlGroup> control_groups(std::string_view controller,
                                                       const std::string& root);

/// The content of a file of the system; empty if it cannot be read.
[[nodiscard]] std::string system_text(const std::string& path);

}  // namespace halftone
