// SPDX-License-Identifier: Apache-2.0
// Import options from texts, as people write them.
#pragma once

#include <string>
#include <vector>

#include "halftone/formats/options.h"

namespace halftone {

/// @param shapes     "NAME=1,3,320,320"; the extent N is the batch
/// @param constants  "NAME=16000", a number for every element, or "NAME=file.npy"
/// @throws Error kUsage if a text has another form or a name occurs twice; kFormat if an element of
///         a file is NaN or infinite; else as data::read_npy()
formats::ImportOptions parse_import_options(const std::vector<std::string>& shapes,
                                            const std::vector<std::string>& constants);

}  // namespace halftone
