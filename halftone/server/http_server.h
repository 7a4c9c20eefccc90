// SPDX-License-Identifier: Apache-2.0
// A language model, or another network, behind HTTP.
#pragma once

#include <functional>

#include "halftone/api/language_model.h"
#include "halftone/api/network.h"
#include "halftone/server/server_options.h"

namespace halftone::server {

/// Serves a model in OpenAI's protocol until it is to end; then no request begins, and those that
/// have begun are answered.
/// @param model     is used by this alone
/// @param is_over   asked several times a second
/// @throws Error kUnsupported if this build has no library for HTTP; kIo if it cannot listen at
///         the host and port; kUsage for an option out of range
void serve(TextModel& model, const ServerOptions& options, const std::function<bool()>& is_over);
/// Runs a network on what requests give: POST /v1/run.
/// @throws Error as above; as SizedSessions
void serve(Network network, const ServerOptions& options, const std::function<bool()>& is_over);

}  // namespace halftone::server
