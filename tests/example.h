// SPDX-License-Identifier: Apache-2.0
// Location of the bundled example.
#pragma once

#include <string>

namespace halftone {

inline const std::string kExample = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist";

}  // namespace halftone
