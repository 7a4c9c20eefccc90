// SPDX-License-Identifier: Apache-2.0
// Where the bundled example lies.
#pragma once

#include <string>

namespace halftone {

inline const std::string kExample = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist";

}  // namespace halftone
