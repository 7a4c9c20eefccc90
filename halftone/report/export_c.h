// SPDX-License-Identifier: Apache-2.0
// What a network takes as C, for people and for scripts; the keys are a contract, see docs/cli.md.
#pragma once

#include <string>

#include "halftone/types/export_c.hpp"

namespace halftone::report {

/// @param folder  of the files
std::string to_text(const v0::CExport& written, const std::string& folder);
std::string to_json(const v0::CExport& written);

}  // namespace halftone::report
