// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/http_server.h"

#include <memory>
#include <string>
#include <utility>

#include "halftone/server/chat_page.h"
#include "halftone/server/completion_delivery.h"
#include "halftone/server/http_listener.h"
#include "halftone/server/response_request.h"
#include "halftone/server/text_routes.h"
#include "halftone/server/text_service.h"

namespace halftone::server {
namespace {

constexpr const char* kMetrics = "text/plain; version=0.0.4; charset=utf-8";

/// Clients of HTTP/1.0 know no chunks: they get the whole answer at once.
void deliver_whole(CompletionDelivery& delivery, httplib::Response& response) {
  std::string all;
  const Sink to{[&](const std::string& text) {
                  all += text;
                  return true;
                },
                [] { return true; }};
  CompletionDelivery::State state = CompletionDelivery::State::kMore;
  while (state == CompletionDelivery::State::kMore) state = delivery.send(to);
  if (state == CompletionDelivery::State::kLost) throw RequestError(500, "the model failed");
  response.set_content(all, delivery.content_type());
}

std::shared_ptr<CompletionDelivery> begin(TextService& service, Endpoint endpoint,
                                          HttpListener::HttpCall& call) {
  try {
    return std::make_shared<CompletionDelivery>(service, endpoint, call.body,
                                                std::move(call.exchange));
  } catch (const RequestError& error) {
    if (endpoint == Endpoint::kResponse) throw in_names_of_responses(error);
    throw;
  }
}

/// Sends an answer while it is written.
void deliver(TextService& service, Endpoint endpoint, HttpListener::HttpCall& call) {
  const std::shared_ptr<CompletionDelivery> delivery = begin(service, endpoint, call);
  call.response.set_header("Cache-Control", "no-cache");
  if (call.request.version == "HTTP/1.0") return deliver_whole(*delivery, call.response);
  call.response.set_chunked_content_provider(
      delivery->content_type(), [delivery](std::size_t /*offset*/, httplib::DataSink& sink) {
        const Sink to{[&](const std::string& text) { return sink.write(text.data(), text.size()); },
                      [&] { return sink.is_writable(); }};
        const CompletionDelivery::State state = delivery->send(to);
        if (state == CompletionDelivery::State::kDone) sink.done();
        return state != CompletionDelivery::State::kLost;
      });
}

void send_page(HttpListener::HttpCall& call) {
  const ChatPage page = chat_page(new_nonce());
  call.response.set_header("Content-Security-Policy", page.policy);
  call.response.set_header("X-Content-Type-Options", "nosniff");
  call.response.set_header("Referrer-Policy", "no-referrer");
  call.response.set_header("Cache-Control", "no-store");
  call.response.set_content(page.html, "text/html; charset=utf-8");
}

void add_routes(HttpListener& http, TextService& service) {
  const auto with = [&service](std::string (*answer)(TextService&, std::string_view)) {
    return [&service, answer](std::string_view given) { return answer(service, given); };
  };
  const auto texts = [&service](Endpoint endpoint) {
    return [&service, endpoint](HttpListener::HttpCall& call) { deliver(service, endpoint, call); };
  };
  http.get("/", send_page);
  http.post("/v1/chat/completions", texts(Endpoint::kChat));
  http.post("/v1/completions", texts(Endpoint::kCompletion));
  http.post("/v1/responses", texts(Endpoint::kResponse));
  http.post("/v1/embeddings", with(embeddings), kJson);
  http.get("/v1/models", with(list_models), kJson);
  http.get("/v1/models/(.+)", with(describe_model), kJson);
  http.get("/health", with(report_health), kJson);
  http.get("/metrics", with(report_metrics), kMetrics);
  http.post("/tokenize", with(tokenize), kJson);
  http.post("/detokenize", with(detokenize), kJson);
}

}  // namespace

void serve(TextModel& model, const ServerOptions& options, const std::function<bool()>& is_over) {
  TextService service(model, options);
  HttpListener http(options, service.metrics());
  add_routes(http, service);
  http.run(is_over, {{"model", service.name()}}, [&] { service.drain(); });
}

}  // namespace halftone::server
