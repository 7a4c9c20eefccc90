// SPDX-License-Identifier: Apache-2.0
// What servers of all kinds have in common: connections, limits, keys, the log. For sources of this
// folder that know cpp-httplib.
#pragma once

#include <httplib.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/server/exchange.h"
#include "halftone/server/metrics.h"
#include "halftone/server/request_error.h"
#include "halftone/server/server_options.h"
#include "halftone/server/timed_server.h"

namespace halftone::server {

inline constexpr const char* kJson = "application/json";

class HttpListener {
 public:
  /// @param options  must outlive this, as the metrics must
  /// @throws Error as Tls; kUsage for a certificate without a key
  HttpListener(const ServerOptions& options, Metrics& metrics);

  /// Answers requests until it is to end.
  /// @param about  of the log's line that says where it listens
  /// @param drain  returns when nothing more is being computed
  /// @throws Error kIo if it cannot listen
  void run(const std::function<bool()>& is_over, const Json& about,
           const std::function<void()>& drain);

  /// A request with its answer and its line of the log.
  struct HttpCall {
    const httplib::Request& request;
    httplib::Response& response;
    std::shared_ptr<Exchange> exchange;
    std::string body{};  ///< of POST
  };
  using Handler = std::function<void(HttpCall&)>;
  /// What a handler throws becomes the answer.
  void get(const char* path, const Handler& handler);
  /// @param types  of bodies
  void post(const char* path, const Handler& handler,
            const std::vector<std::string>& types = {kJson});
  /// Routes whose whole answer a function makes of the end of the path, or of a body in JSON.
  using Answer = std::function<std::string(std::string_view)>;
  void get(const char* path, const Answer& answer, const char* type);
  void post(const char* path, const Answer& answer, const char* type);

 private:
  void set_limits();
  void use_tls();
  int bind();
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
  /// The whole body. @throws RequestError 400, 408, 413
  [[nodiscard]] std::string body_of(const httplib::Response& response,
                                    const httplib::ContentReader& read) const;

  const ServerOptions& options_;
  Journal journal_;
  TimedServer server_;
  socket_t socket_ = INVALID_SOCKET;
};

}  // namespace halftone::server
