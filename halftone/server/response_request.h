// SPDX-License-Identifier: Apache-2.0
// Requests in the newer of OpenAI's protocols for conversations, /v1/responses.
#pragma once

#include "halftone/server/json_body.h"

namespace halftone::server {

/// The request of /v1/chat/completions that asks for the same.
/// @throws RequestError 400 that names the member which is wrong or not followed
Json chat_of_response(Json request);

/// An error of that request, with the names that members have here.
RequestError in_names_of_responses(const RequestError& error);

/// The members that a response repeats of its request, with their defaults.
Json repeated_members(const Json& request);

}  // namespace halftone::server
