// SPDX-License-Identifier: Apache-2.0
// Old names of options, which the program accepts for one release.
#pragma once

#include <string>
#include <vector>

namespace halftone::cli {

/// The arguments with the old names of options replaced by the current ones, both as "--name" and
/// as "--name=value". Applies only to verbs that have the option; the verb is the first
/// argument.
std::vector<std::string> with_current_names(std::vector<std::string> arguments);

}  // namespace halftone::cli
