// SPDX-License-Identifier: Apache-2.0
// Maps advice in library messages to options of the command line.
#pragma once

#include <string>

namespace halftone::cli {

/// Appends the matching option to a library message that ends with advice:
/// "... give a reference network to compare with" gains " (--reference)". The library does not
/// know the command line; this is the only place that maps its advice to options.
/// @return the message, unchanged if no option applies
[[nodiscard]] std::string with_option_names(std::string message);

}  // namespace halftone::cli
