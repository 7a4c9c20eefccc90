// SPDX-License-Identifier: Apache-2.0
// Sends the texts of a request while they are written.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "halftone/server/answer.h"
#include "halftone/server/completion_request.h"
#include "halftone/server/exchange.h"
#include "halftone/server/text_service.h"

namespace halftone::server {

/// Where bytes of an answer go.
struct Sink {
  std::function<bool(const std::string&)> write;  ///< whether the client is there
  std::function<bool()> is_open;                  ///< whether the client is there
};

/// The answer to a request for texts: JSON, or a stream of server-sent events.
class CompletionDelivery {
 public:
  /// Begins the texts, and waits for the first token of one.
  /// @throws RequestError as parse_completion(), TextService::start(), RunningCompletion::next()
  CompletionDelivery(TextService& service, Endpoint endpoint, std::string_view body,
                     std::shared_ptr<Exchange> exchange);

  [[nodiscard]] const char* content_type() const {
    return request_.streams ? "text/event-stream" : "application/json";
  }
  enum class State { kMore, kDone, kLost };
  /// Sends what there is next.
  /// @return kLost if the client has left, or must be left because the texts failed
  State send(const Sink& sink);

 private:
  State send_stream(const Sink& sink);
  State send_whole(const Sink& sink);
  [[nodiscard]] State lose();
  void note_end();

  std::shared_ptr<Exchange> exchange_;  // shared with who fails before this is made
  CompletionRequest request_;
  std::unique_ptr<RunningCompletion> running_;
  std::unique_ptr<Answer> answer_;
  std::optional<ChoiceEvent> first_;  ///< that has not been sent yet
};

}  // namespace halftone::server
