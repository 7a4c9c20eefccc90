// SPDX-License-Identifier: Apache-2.0
#include "halftone/error.hpp"

namespace halftone::v0 {

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error(message), kind_(kind) {}

Error::~Error() = default;

}  // namespace halftone::v0
