// SPDX-License-Identifier: Apache-2.0
// In place of the server where a build has no library for HTTP, or none for text.
#include "halftone/base/error.h"
#include "halftone/server/http_server.h"

namespace halftone::server {

void serve(TextModel& /*model*/, const ServerOptions& /*options*/,
           const std::function<bool()>& /*is_over*/) {
  fail(ErrorKind::kUnsupported,
       "serve: this build has no server: install libcpp-httplib-dev, and build it again");
}

}  // namespace halftone::server
