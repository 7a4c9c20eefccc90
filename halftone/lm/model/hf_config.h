// SPDX-License-Identifier: Apache-2.0
// config.json of Hugging Face folders.
#pragma once

#include <string>
#include <string_view>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// The sizes that a config.json says: blocks, widths, heads, vocabulary, experts, the window,
/// whether the table is tied. How the network computes beside that is not read.
/// @param name  put before messages
/// @throws Error kFormat if it is no JSON or a key is missing or out of range, named; kUnsupported
///         for an architecture that is not described here, and for blocks of several kinds
Description config_sizes(std::string_view json, const std::string& name);

/// The whole description. Checked.
/// @throws Error as config_sizes(); kUnsupported for an architecture, a function or a way to scale
///         positions that is not described here, and for weights that a package has quantized
Description describe_config(std::string_view json, const std::string& name);

}  // namespace halftone::lm
