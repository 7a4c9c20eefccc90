// SPDX-License-Identifier: Apache-2.0
// What a client is told when its request is not answered.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace halftone::server {

/// An error of the protocol: {"error": {"message", "type", "param", "code"}}.
class RequestError : public std::runtime_error {
 public:
  /// @param status  of HTTP
  /// @param param   the member of the request that is wrong; empty: none
  /// @param code    for programs, such as "model_not_found"; empty: none
  RequestError(int status, const std::string& message, std::string param = {},
               std::string code = {})
      : std::runtime_error(message),
        status_(status),
        param_(std::move(param)),
        code_(std::move(code)) {}

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& param() const { return param_; }
  [[nodiscard]] const std::string& code() const { return code_; }
  /// As OpenAI's servers name it.
  [[nodiscard]] const char* type() const {
    return status_ == 401   ? "authentication_error"
           : status_ == 429 ? "rate_limit_error"
           : status_ >= 500 ? "server_error"
                            : "invalid_request_error";
  }
  /// The body, in JSON.
  [[nodiscard]] std::string body() const;

 private:
  int status_;
  std::string param_;
  std::string code_;
};

}  // namespace halftone::server
