// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/http_server.h"

#include <httplib.h>

#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/server/chat_page.h"
#include "halftone/server/completion_delivery.h"
#include "halftone/server/exchange.h"
#include "halftone/server/text_routes.h"
#include "halftone/server/text_service.h"

namespace halftone::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kJson = "application/json";
constexpr std::chrono::seconds kBodyPatience{30};

/// Threads that answer connections. What comes when all have enough to do waits to be accepted.
class Workers : public httplib::TaskQueue {
 public:
  explicit Workers(std::size_t count)
      : pool_(count), room_(static_cast<std::ptrdiff_t>(2 * count)) {}
  void enqueue(std::function<void()> task) override {
    room_.acquire();
    pool_.enqueue([this, task = std::move(task)] {
      task();
      room_.release();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  httplib::ThreadPool pool_;
  std::counting_semaphore<> room_;
};

/// Whether texts are equal, in a time that does not tell where they differ.
bool equals_secretly(const std::string& a, const std::string& b) {
  int difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= (b.empty() ? -1 : b[i % b.size()]) ^ a[i];
  }
  return difference == 0;
}

/// A server with its routes.
class HttpServer {
 public:
  HttpServer(TextModel& model, const ServerOptions& options)
      : options_(options), service_(model, options), journal_(service_.metrics(), options.log) {
    set_limits();
    add_routes();
  }

  void run(const std::function<bool()>& is_over) {
    const int port = bind();
    std::thread listener([this] { server_.listen_after_bind(); });
    for (const std::string& note : options_.notes) {
      journal_.write({{"event", "note"}, {"text", note}});
    }
    journal_.write({{"event", "listening"},
                    {"host", options_.host},
                    {"port", port},
                    {"model", service_.name()}});
    while (!is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    journal_.write({{"event", "ending"}, {"open", journal_.num_open()}});
    // Stopping the library would cut answers that are being sent.
    service_.drain();
    while (journal_.num_open() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    server_.stop();
    listener.join();
    journal_.write({{"event", "ended"}});
  }

 private:
  void set_limits();
  int bind();
  void add_routes();
  void add_texts(Endpoint endpoint, const char* path);
  /// A route whose whole answer a function makes of the body.
  void add(const char* method, const char* path,
           std::string (*answer)(TextService&, std::string_view), const char* type);
  void add_page();
  void deliver(Endpoint endpoint, const std::string& body, std::shared_ptr<Exchange> exchange,
               httplib::Response& response);

  [[nodiscard]] std::shared_ptr<Exchange> open(const httplib::Request& request, const char* path) {
    return std::make_shared<Exchange>(journal_, request.method, path, request.remote_addr);
  }
  /// Runs `body`; what it throws becomes the answer.
  template <typename Body>
  void guard(const httplib::Request& request, httplib::Response& response, Exchange& exchange,
             const Body& body) {
    try {
      check_host(request);
      check_key(request);
      body();
    } catch (const RequestError& error) {
      refuse(error, exchange, response);
    } catch (const std::bad_alloc&) {
      refuse({503, "out of memory"}, exchange, response);
    } catch (const Error& error) {
      refuse({error.kind() == ErrorKind::kMemory ? 503 : 500, error.what()}, exchange, response);
    } catch (const std::exception& error) {
      refuse({500, error.what()}, exchange, response);
    }
  }
  void check_host(const httplib::Request& request) const;
  void check_key(const httplib::Request& request) const;
  static void refuse(const RequestError& error, Exchange& exchange, httplib::Response& response);
  /// The whole body. @throws RequestError 400, 408, 413, 415
  [[nodiscard]] std::string body_of(const httplib::Request& request,
                                    const httplib::Response& response,
                                    const httplib::ContentReader& read) const;

  const ServerOptions& options_;
  TextService service_;
  Journal journal_;
  httplib::Server server_;
};

void HttpServer::set_limits() {
  const std::size_t connections = options_.connections;
  // It owns what it is given.
  server_.new_task_queue = [connections] {
    return std::make_unique<Workers>(connections).release();
  };
  server_.set_payload_max_length(options_.body_bytes);
  server_.set_read_timeout(5);
  server_.set_write_timeout(5);
  server_.set_keep_alive_timeout(2);  // an idle connection keeps a worker
  server_.set_keep_alive_max_count(1000);
  server_.set_tcp_nodelay(true);
  // The library's own options would let two servers share a port.
  server_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
}

int HttpServer::bind() {
  const int port = options_.port == 0 ? server_.bind_to_any_port(options_.host)
                   : server_.bind_to_port(options_.host, options_.port) ? options_.port
                                                                        : -1;
  if (port > 0) return port;
  fail(ErrorKind::kIo, "cannot listen at " + options_.host + ":" + std::to_string(options_.port) +
                           ": the port is in use, or the host is none of this machine");
}

/// A page of others that has a name of its own lead to this machine is not heard: its requests name
/// that host.
void HttpServer::check_host(const httplib::Request& request) const {
  const auto is_here = [](const std::string& host) {
    return host == "localhost" || host.starts_with("127.") || host == "[::1]" || host == "::1";
  };
  const std::string found = request.get_header_value("Host");
  const std::size_t port = found.find(':', found.starts_with('[') ? found.find(']') : 0);
  if (!is_here(options_.host) || found.empty() || is_here(found.substr(0, port))) return;
  throw RequestError(403, "expected a request to localhost, found the host '" + found +
                              "'; --host names the address that others may use");
}

void HttpServer::check_key(const httplib::Request& request) const {
  if (options_.api_key.empty() || request.path == "/health" || request.path == "/") return;
  const std::string found = request.get_header_value("Authorization");
  if (equals_secretly(found, "Bearer " + options_.api_key)) return;
  throw RequestError(401,
                     "expected the header 'Authorization: Bearer KEY' with the key of this server",
                     {}, "invalid_api_key");
}

void HttpServer::refuse(const RequestError& error, Exchange& exchange,
                        httplib::Response& response) {
  response.status = error.status();
  if (error.status() == 429 || error.status() == 503) response.set_header("Retry-After", "1");
  if (error.status() == 401) response.set_header("WWW-Authenticate", "Bearer");
  response.set_content(error.body(), kJson);
  exchange.set_status(error.status());
  exchange.note("error", error.what());
}

std::string HttpServer::body_of(const httplib::Request& request, const httplib::Response& response,
                                const httplib::ContentReader& read) const {
  std::string body;
  bool is_too_large = false;
  bool is_too_slow = false;
  const Clock::time_point start = Clock::now();
  const bool is_read = read([&](const char* data, std::size_t size) {
    is_too_large = body.size() + size > options_.body_bytes;
    is_too_slow = Clock::now() - start > kBodyPatience;
    if (!is_too_large) body.append(data, size);
    return !is_too_large && !is_too_slow;
  });
  if (is_too_large || (!is_read && response.status == 413)) {
    throw RequestError(
        413, "the body: expected at most " + std::to_string(options_.body_bytes) + " bytes");
  }
  if (is_too_slow) throw RequestError(408, "the body: expected it within 30 seconds");
  if (!is_read) throw RequestError(400, "the body ended early");
  // Pages of others cannot send this type without asking first.
  const std::string type = request.get_header_value("Content-Type");
  if (type.substr(0, type.find(';')) != kJson) {
    throw RequestError(415, "expected Content-Type: application/json, found '" + type + "'");
  }
  return body;
}

void HttpServer::deliver(Endpoint endpoint, const std::string& body,
                         std::shared_ptr<Exchange> exchange, httplib::Response& response) {
  auto delivery =
      std::make_shared<CompletionDelivery>(service_, endpoint, body, std::move(exchange));
  response.set_header("Cache-Control", "no-cache");
  response.set_chunked_content_provider(
      delivery->content_type(), [delivery](std::size_t /*offset*/, httplib::DataSink& sink) {
        const Sink to{[&](const std::string& text) { return sink.write(text.data(), text.size()); },
                      [&] { return sink.is_writable(); }};
        const CompletionDelivery::State state = delivery->send(to);
        if (state == CompletionDelivery::State::kDone) sink.done();
        return state != CompletionDelivery::State::kLost;
      });
}

void HttpServer::add_texts(Endpoint endpoint, const char* path) {
  server_.Post(
      path, [this, endpoint, path](const httplib::Request& request, httplib::Response& response,
                                   const httplib::ContentReader& read) {
        auto exchange = open(request, path);
        guard(request, response, *exchange,
              [&] { deliver(endpoint, body_of(request, response, read), exchange, response); });
      });
}

void HttpServer::add(const char* method, const char* path,
                     std::string (*answer)(TextService&, std::string_view), const char* type) {
  const auto respond = [this, path, answer, type](const httplib::Request& request,
                                                  httplib::Response& response,
                                                  const auto& body_or_match) {
    auto exchange = open(request, path);
    guard(request, response, *exchange,
          [&] { response.set_content(answer(service_, body_or_match(request, response)), type); });
  };
  if (std::string_view(method) == "POST") {
    server_.Post(path, [=, this](const httplib::Request& request, httplib::Response& response,
                                 const httplib::ContentReader& read) {
      respond(request, response, [&](const auto& asked, const auto& answered) {
        return body_of(asked, answered, read);
      });
    });
    return;
  }
  server_.Get(path, [=](const httplib::Request& request, httplib::Response& response) {
    respond(request, response, [](const auto& asked, const auto& /*answered*/) {
      return asked.matches.size() > 1 ? asked.matches[1].str() : std::string();
    });
  });
}

void HttpServer::add_page() {
  server_.Get("/", [this](const httplib::Request& request, httplib::Response& response) {
    auto exchange = open(request, "/");
    guard(request, response, *exchange, [&] {
      const ChatPage page = chat_page(new_nonce());
      response.set_header("Content-Security-Policy", page.policy);
      response.set_header("X-Content-Type-Options", "nosniff");
      response.set_header("Referrer-Policy", "no-referrer");
      response.set_header("Cache-Control", "no-store");
      response.set_content(page.html, "text/html; charset=utf-8");
    });
  });
}

void HttpServer::add_routes() {
  add_page();
  add_texts(Endpoint::kChat, "/v1/chat/completions");
  add_texts(Endpoint::kCompletion, "/v1/completions");
  add("GET", "/v1/models", list_models, kJson);
  add("GET", "/v1/models/(.+)", describe_model, kJson);
  add("GET", "/health", report_health, kJson);
  add("GET", "/metrics", report_metrics, "text/plain; version=0.0.4; charset=utf-8");
  add("POST", "/tokenize", tokenize, kJson);
  add("POST", "/detokenize", detokenize, kJson);
  // Statuses of the library's own: no route, another method, no request of HTTP.
  server_.set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    auto exchange = open(request, "other");
    const int status = response.status;
    const std::string what = status == 404 ? "nothing is at " + request.method + " " + request.path
                             : status == 413 ? "the body is too large"
                                             : "the request is not understood";
    refuse({status, what}, *exchange, response);
  });
}

}  // namespace

void serve(TextModel& model, const ServerOptions& options, const std::function<bool()>& is_over) {
  HttpServer(model, options).run(is_over);
}

}  // namespace halftone::server
