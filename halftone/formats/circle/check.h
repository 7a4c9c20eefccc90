// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "halftone/base/error.h"

namespace halftone::formats::circle {

/// Checks a requirement on a file. @throws Error kFormat with the message unless `holds`
inline void check(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, message);
}

}  // namespace halftone::formats::circle
