// SPDX-License-Identifier: Apache-2.0
// Maps the hints of library errors to options of the command line.
#pragma once

#include <string>

#include "halftone/base/error.h"

namespace halftone::cli {

/// The message of an error, followed by the option that its hint refers to:
/// "... give a reference network to compare with (--reference)". The library does not know the
/// command line; this is the only place that maps hints to options.
[[nodiscard]] std::string message_with_option(const Error& error);

}  // namespace halftone::cli
