// SPDX-License-Identifier: Apache-2.0
// Descriptions of hardware by name, in files, or as text.
#pragma once

#include <string_view>

namespace halftone {

/// Whether a description is the text of a TOML file, which has a line feed; else it is a name or
/// the path of one.
inline bool is_description_text(std::string_view description) {
  return description.find('\n') != std::string_view::npos;
}

}  // namespace halftone
