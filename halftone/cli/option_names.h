// SPDX-License-Identifier: Apache-2.0
// What the library advises, as options of the command line.
#pragma once

#include <string>

namespace halftone::cli {

/// Adds the option to a message of the library that ends with advice an option follows:
/// "... give a reference network to compare with" gains " (--reference)". The library does not
/// know the command line; this is the only place that maps its advice to options.
/// @return the message, unchanged if no option applies
[[nodiscard]] std::string with_option_names(std::string message);

}  // namespace halftone::cli
