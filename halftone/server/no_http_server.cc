// SPDX-License-Identifier: Apache-2.0
// In place of the server where a build has no library for HTTP, or none for text.
#include "halftone/base/error.h"
#include "halftone/server/http_server.h"

namespace halftone::server {

namespace {

[[noreturn]] void fail_without_http() {
  fail(ErrorKind::kUnsupported,
       "serve: this build has no server: install libcpp-httplib-dev and libssl-dev, and build it "
       "again");
}

}  // namespace

void serve(TextModel& /*model*/, const ServerOptions& /*options*/,
           const std::function<bool()>& /*is_over*/) {
  fail_without_http();
}

void serve(Network /*network*/, const ServerOptions& /*options*/,
           const std::function<bool()>& /*is_over*/) {
  fail_without_http();
}

}  // namespace halftone::server
