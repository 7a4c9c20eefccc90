// SPDX-License-Identifier: Apache-2.0
// Scripts with which shells complete verbs, options and their values.
#pragma once

#include <string>

#include "halftone/cli/verb_texts.h"

namespace halftone::cli {

/// A script for bash 4.4 or later, which needs no other package.
std::string bash_completion(const ProgramText& text);
/// The file _halftone of a folder of zsh's fpath; sourcing it after compinit does as well.
std::string zsh_completion(const ProgramText& text);

}  // namespace halftone::cli
