// SPDX-License-Identifier: Apache-2.0
// How a language model is served.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "halftone/types/language.hpp"

namespace halftone::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;              ///< 0: any that is free
  std::string api_key{};        ///< that requests must bear; empty: none
  std::string certificate{};    ///< file in PEM: connections are in TLS; empty: they are plain
  std::string key{};            ///< file in PEM of its private key
  std::string name{};           ///< of the model in requests; empty: that of its file
  std::string chat_template{};  ///< as v0::AnswerOptions has it
  /// Of requests that do not say otherwise: those of the protocol. max_tokens 0: until the context
  /// is full. Requests may not ask for more tokens than max_tokens if it is not 0.
  v0::GenerateOptions generate{.max_tokens = 0,
                               .sampling = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0}};
  std::size_t connections = 2048;    ///< that are answered at once; others wait to be accepted
  std::size_t queue = 64;            ///< texts that wait for a sequence; more are refused
  std::size_t body_bytes = 4 << 20;  ///< of a request at most
  double seconds = 600;              ///< for a text, from its request on; 0: any number
  std::size_t run_tokens = 64;       ///< lm::SchedulerOptions::run_tokens
  std::vector<std::string> notes{};  ///< that the log begins with
  /// Gets a line in JSON, without a line feed, for each request, and where the server listens. By
  /// any thread, one at a time; may be empty.
  std::function<void(const std::string&)> log{};
};

}  // namespace halftone::server
