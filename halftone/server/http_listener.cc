// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/http_listener.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>
#include <utility>

#include "halftone/server/connection_threads.h"

namespace halftone::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBodyPatience{30};
constexpr const char* kLateHeader = "the header: expected it within 10 seconds";
static_assert(TimedServer::kHeaderPatience == std::chrono::seconds(10));

/// Lets the process have as many connections open as it may, if its limit is lower than asked for.
void allow_connections(std::size_t count) {
  constexpr std::size_t kOthers = 256;  // files that are no connections
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 2 * count + kOthers) return;
  limit.rlim_cur = std::min<rlim_t>(2 * count + kOthers, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// Whether texts are equal, in a time that does not tell where they differ.
bool equals_secretly(const std::string& a, const std::string& b) {
  int difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= (b.empty() ? -1 : b[i % b.size()]) ^ a[i];
  }
  return difference == 0;
}

/// "application/json" of "Application/JSON ; charset=utf-8".
std::string name_of_type(const std::string& type) {
  std::string name = type.substr(0, type.find(';'));
  name.erase(name.find_last_not_of(" \t") + 1);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

/// Pages of others cannot send these types without asking first.
void check_type(const httplib::Request& request, const std::vector<std::string>& types) {
  const std::string type = request.get_header_value("Content-Type");
  if (std::ranges::find(types, name_of_type(type)) != types.end()) return;
  std::string expected;
  for (const std::string& each : types) expected += (expected.empty() ? "" : " or ") + each;
  throw RequestError(415, "expected Content-Type: " + expected + ", found '" + type + "'");
}

/// @throws RequestError 415 for a body that the library cannot unpack
void check_encoding(const httplib::Request& request) {
  const std::string encoding = request.get_header_value("Content-Encoding");
  if (encoding.empty() || encoding == "gzip" || encoding == "deflate" || encoding == "identity") {
    return;
  }
  throw RequestError(415,
                     "expected Content-Encoding: gzip, deflate or none, found '" + encoding + "'");
}

}  // namespace

HttpListener::HttpListener(const ServerOptions& options, Metrics& metrics)
    : options_(options), journal_(metrics, options.log) {
  set_limits();
  use_tls();
  // Statuses of the library's own: no route, another method, no request of HTTP.
  server_.set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    auto exchange = open(request, "other");
    const bool is_late = TimedServer::take_late();
    const int status = is_late ? 408 : response.status;
    const std::string what = is_late ? kLateHeader
                             : status == 404
                                 ? "nothing is at " + request.method + " " + request.path
                             : status == 413 ? "the body is too large"
                                             : "the request is not understood";
    refuse({status, what}, *exchange, response);
  });
  server_.set_late_handler([this](const std::string& address) {
    const RequestError error(408, kLateHeader);
    Exchange exchange(journal_, "", "other", address);
    exchange.set_status(error.status());
    exchange.note("error", error.what());
    const std::string body = error.body();
    return "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
           "Content-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  });
}

void HttpListener::use_tls() {
  if (options_.certificate.empty() && options_.key.empty()) return;
  if (options_.certificate.empty() || options_.key.empty()) {
    fail(ErrorKind::kUsage, "TLS: expected a certificate and its key, found one of them");
  }
  server_.set_tls(std::make_unique<Tls>(options_.certificate, options_.key),
                  [this](const std::string& address, const std::string& why) {
                    Exchange exchange(journal_, "", "other", address);
                    exchange.set_status(400);
                    exchange.note("error", why);
                  });
}

void HttpListener::run(const std::function<bool()>& is_over, const Json& about,
                       const std::function<void()>& drain) {
  const int port = bind();
  std::thread listener([this] { server_.listen_after_bind(); });
  for (const std::string& note : options_.notes) {
    journal_.write({{"event", "note"}, {"text", note}});
  }
  Json line = {{"event", "listening"}, {"host", options_.host}, {"port", port}};
  if (!options_.certificate.empty()) line["tls"] = true;
  line.update(about);
  journal_.write(line);
  while (!is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  journal_.write({{"event", "ending"}, {"open", journal_.num_open()}});
  // Stopping the library would cut answers that are being sent.
  drain();
  while (journal_.num_open() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  server_.stop();
  listener.join();
  journal_.write({{"event", "ended"}});
}

void HttpListener::set_limits() {
  const std::size_t connections = options_.connections;
  allow_connections(connections);
  // It owns what it is given.
  server_.new_task_queue = [connections] {
    return std::make_unique<ConnectionThreads>(connections).release();
  };
  server_.set_payload_max_length(options_.body_bytes);
  server_.set_read_timeout(5);
  server_.set_write_timeout(5);
  server_.set_keep_alive_timeout(2);  // an idle connection keeps a worker
  server_.set_keep_alive_max_count(1000);
  server_.set_tcp_nodelay(true);
  // The library's own options would let two servers share a port.
  server_.set_socket_options([this](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socket_ = socket;  // the last one is that which listens
  });
}

int HttpListener::bind() {
  const int port = options_.port == 0 ? server_.bind_to_any_port(options_.host)
                   : server_.bind_to_port(options_.host, options_.port) ? options_.port
                                                                        : -1;
  if (port > 0) {
    // The library lets 5 connections wait to be accepted, the system drops more.
    (void)::listen(socket_, SOMAXCONN);
    return port;
  }
  fail(ErrorKind::kIo, "cannot listen at " + options_.host + ":" + std::to_string(options_.port) +
                           ": the port is in use, or the host is none of this machine");
}

/// A page of others that has a name of its own lead to this machine is not heard: its requests name
/// that host.
void HttpListener::check_host(const httplib::Request& request) const {
  const auto is_here = [](const std::string& host) {
    return host == "localhost" || host.starts_with("127.") || host == "[::1]" || host == "::1";
  };
  const std::string found = request.get_header_value("Host");
  const std::size_t port = found.find(':', found.starts_with('[') ? found.find(']') : 0);
  if (!is_here(options_.host) || found.empty() || is_here(found.substr(0, port))) return;
  throw RequestError(403, "expected a request to localhost, found the host '" + found +
                              "'; --host names the address that others may use");
}

void HttpListener::check_key(const httplib::Request& request) const {
  if (options_.api_key.empty() || request.path == "/health" || request.path == "/") return;
  const std::string found = request.get_header_value("Authorization");
  if (equals_secretly(found, "Bearer " + options_.api_key)) return;
  throw RequestError(401,
                     "expected the header 'Authorization: Bearer KEY' with the key of this server",
                     {}, "invalid_api_key");
}

void HttpListener::refuse(const RequestError& error, Exchange& exchange,
                          httplib::Response& response) {
  response.status = error.status();
  if (error.status() == 429 || error.status() == 503) response.set_header("Retry-After", "1");
  if (error.status() == 401) response.set_header("WWW-Authenticate", "Bearer");
  response.set_content(error.body(), kJson);
  exchange.set_status(error.status());
  exchange.note("error", error.what());
}

std::string HttpListener::body_of(const httplib::Response& response,
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
  return body;
}

void HttpListener::get(const char* path, const Handler& handler) {
  server_.Get(path, [=, this](const httplib::Request& request, httplib::Response& response) {
    HttpCall call{request, response, open(request, path)};
    const std::shared_ptr<Exchange> exchange = call.exchange;
    guard(request, response, *exchange, [&] { handler(call); });
  });
}

void HttpListener::post(const char* path, const Handler& handler,
                        const std::vector<std::string>& types) {
  server_.Post(path, [=, this](const httplib::Request& request, httplib::Response& response,
                               const httplib::ContentReader& read) {
    HttpCall call{request, response, open(request, path)};
    const std::shared_ptr<Exchange> exchange = call.exchange;
    guard(request, response, *exchange, [&] {
      try {
        call.body = body_of(response, read);
      } catch (const RequestError&) {
        // The library reads bodies of some types in its own way.
        check_type(request, types);
        check_encoding(request);
        throw;
      }
      check_type(request, types);
      handler(call);
    });
  });
}

void HttpListener::get(const char* path, const Answer& answer, const char* type) {
  get(path, [answer, type](HttpCall& call) {
    const auto& matches = call.request.matches;
    call.response.set_content(answer(matches.size() > 1 ? matches[1].str() : std::string()), type);
  });
}

void HttpListener::post(const char* path, const Answer& answer, const char* type) {
  post(path,
       [answer, type](HttpCall& call) { call.response.set_content(answer(call.body), type); });
}

}  // namespace halftone::server
