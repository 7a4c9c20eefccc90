// SPDX-License-Identifier: Apache-2.0
// The manual, as `man` reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/cli/verb_texts.h"

namespace halftone::cli {

struct ManualPage {
  std::string file;  ///< "halftone-quantize.1"
  std::string text;  ///< roff with the macros of man(7)
};

/// A page of the program and one of each verb.
std::vector<ManualPage> manual_pages(const ProgramText& text, std::string_view version);

}  // namespace halftone::cli
