// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/request_error.h"

#include "halftone/server/json_body.h"

namespace halftone::server {

std::string RequestError::body() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return dump({{"error",
                {{"message", what()},
                 {"type", type()},
                 {"param", or_null(param_)},
                 {"code", or_null(code_)}}}});
}

}  // namespace halftone::server
