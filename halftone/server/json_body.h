// SPDX-License-Identifier: Apache-2.0
// Bodies of requests and answers in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/server/request_error.h"

namespace halftone::server {

using Json = nlohmann::ordered_json;

/// The object that a body is. @throws RequestError 400
inline Json parse_body(std::string_view body) {
  try {
    check_json(body);
  } catch (const Error& error) {
    throw RequestError(400, "the body: " + std::string(error.what()));
  }
  Json request = Json::parse(body);
  if (!request.is_object()) throw RequestError(400, "the body: expected an object in JSON");
  return request;
}

/// In one line; what is not UTF-8 is replaced.
inline std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace halftone::server
