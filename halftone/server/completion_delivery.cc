// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/completion_delivery.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "halftone/server/completion_answer.h"
#include "halftone/server/response_answer.h"

namespace halftone::server {
namespace {

/// Between two looks whether the client is still there.
constexpr std::chrono::milliseconds kPatience{200};

AnswerHead new_head(Endpoint endpoint, const std::string& model) {
  static std::atomic<std::uint64_t> count = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const char* kind = endpoint == Endpoint::kChat         ? "chatcmpl-"
                     : endpoint == Endpoint::kCompletion ? "cmpl-"
                                                         : "resp_";
  return {fmt::format("{}{:x}-{:x}", kind,
                      std::chrono::duration_cast<std::chrono::microseconds>(now).count(), ++count),
          std::chrono::duration_cast<std::chrono::seconds>(now).count(), model};
}

std::unique_ptr<RunningCompletion> started(TextService& service, const CompletionRequest& request,
                                           Exchange& exchange) {
  if (!request.ignored.empty()) exchange.note("ignored", request.ignored);
  return service.start(request, exchange.client());
}

std::unique_ptr<Answer> new_answer(const TextService& service, const CompletionRequest& request,
                                   std::size_t choices) {
  AnswerHead head = new_head(request.endpoint, service.name());
  const lm::Tokenizer& tokenizer = service.model().tokenizer();
  const lm::ToolNotation* notation =
      request.tools.functions.empty() ? nullptr : &service.tools().notation();
  if (request.endpoint == Endpoint::kResponse) {
    return std::make_unique<ResponseAnswer>(std::move(head), request, tokenizer, notation);
  }
  return std::make_unique<CompletionAnswer>(std::move(head), request, tokenizer, choices, notation);
}

}  // namespace

CompletionDelivery::CompletionDelivery(TextService& service, Endpoint endpoint,
                                       std::string_view body, std::shared_ptr<Exchange> exchange)
    : exchange_(std::move(exchange)),
      request_(parse_completion(endpoint, body, service.defaults())),
      running_(started(service, request_, *exchange_)),
      answer_(new_answer(service, request_, running_->num_choices())) {
  while (!first_) first_ = running_->next(kPatience);
}

CompletionDelivery::State CompletionDelivery::send(const Sink& sink) {
  return request_.streams ? send_stream(sink) : send_whole(sink);
}

CompletionDelivery::State CompletionDelivery::lose() {
  exchange_->note("lost", true);
  return State::kLost;
}

void CompletionDelivery::note_end() {
  exchange_->note("prompt_tokens", running_->prompt_tokens());
  exchange_->note("reused_tokens", running_->reused_tokens());
  exchange_->note("completion_tokens", running_->written_tokens());
}

CompletionDelivery::State CompletionDelivery::send_stream(const Sink& sink) {
  std::string text;
  try {
    std::optional<ChoiceEvent> event;
    if (first_) {
      text = answer_->begin(*running_);
      event = std::exchange(first_, std::nullopt);
    } else {
      event = running_->next(kPatience);
    }
    if (!event) return sink.is_open() ? State::kMore : lose();
    text += answer_->more(*event, *running_);
    if (running_->has_ended()) note_end();
  } catch (const RequestError& error) {
    exchange_->note("error", error.what());
    (void)sink.write(answer_->failure(error));
    return State::kDone;
  }
  if (!text.empty() && !sink.write(text)) return lose();
  return running_->has_ended() ? State::kDone : State::kMore;
}

CompletionDelivery::State CompletionDelivery::send_whole(const Sink& sink) {
  try {
    std::optional<ChoiceEvent> event = std::exchange(first_, std::nullopt);
    if (!event) event = running_->next(kPatience);
    if (event) answer_->add(*event);
    if (!running_->has_ended()) return sink.is_open() ? State::kMore : lose();
  } catch (const RequestError& error) {
    exchange_->note("error", error.what());
    return lose();
  }
  note_end();
  return sink.write(dump(answer_->whole(*running_))) ? State::kDone : lose();
}

}  // namespace halftone::server
