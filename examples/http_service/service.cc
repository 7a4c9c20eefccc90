// SPDX-License-Identifier: Apache-2.0
// A classifier behind HTTP:
//
//     http_service MODEL [PORT [WORKERS]]
//
//     POST /predict  application/json          {"input": [...]}
//                    application/octet-stream  float32, little-endian
//                    -> {"scores": [[...], ...], "classes": [...]}, a row for each sample
//     GET  /health   -> {"status": "ok", ...}
//
// It listens on 127.0.0.1. Errors are {"error": "..."} with the status that fits. SIGTERM and
// SIGINT end the service after the requests that have begun.
#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "network.h"
#include "samples.h"

namespace service {
namespace {

constexpr std::size_t kMaxBodyBytes = std::size_t{4} << 20;
constexpr const char* kJson = "application/json";

void answer(httplib::Response& response, int status, const nlohmann::json& body) {
  response.status = status;
  response.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kJson);
}

void complain(httplib::Response& response, int status, const std::string& message) {
  answer(response, status, {{"error", message}});
}

/// The whole body. @throws BadRequest 413 if it is too large, however it is sent
/// @param response  in which the library notes why it could not read
std::string body_of(const httplib::ContentReader& read, const httplib::Response& response) {
  std::string body;
  bool is_too_large = false;
  const bool is_read = read([&](const char* data, std::size_t size) {
    is_too_large = body.size() + size > kMaxBodyBytes;
    if (!is_too_large) body.append(data, size);
    return !is_too_large;
  });
  if (is_too_large || (!is_read && response.status == 413)) {
    throw BadRequest(413, "expected at most " + std::to_string(kMaxBodyBytes) + " bytes");
  }
  if (!is_read) throw BadRequest(400, "the body ended early");
  return body;
}

nlohmann::json predictions(const Network& network, const std::vector<float>& samples) {
  // A worker thread of the server has one session for all of its requests.
  thread_local Session session(network);
  const std::size_t each = network.num_inputs();
  nlohmann::json scores = nlohmann::json::array();
  nlohmann::json classes = nlohmann::json::array();
  std::vector<float> row(network.num_scores());
  for (std::size_t at = 0; at < samples.size(); at += each) {
    session.run(std::span(samples).subspan(at, each), row);
    scores.push_back(row);
    classes.push_back(std::ranges::max_element(row) - row.begin());
  }
  return {{"scores", scores}, {"classes", classes}};
}

void predict(const Network& network, const httplib::Request& request, httplib::Response& response,
             const httplib::ContentReader& read) {
  try {
    const std::string body = body_of(read, response);
    const std::string type = request.get_header_value("Content-Type");
    answer(response, 200, predictions(network, samples_of(type, body, network.num_inputs())));
  } catch (const BadRequest& error) {
    complain(response, error.status(), error.what());
  } catch (const HalftoneError& error) {
    // Sizes were checked, so it is not the sender's fault.
    complain(response, error.status() == HALFTONE_MEMORY ? 503 : 500, error.what());
  } catch (const std::bad_alloc&) {
    complain(response, 503, "out of memory");
  }
}

void add_routes(httplib::Server& server, const Network& network) {
  server.Get("/health", [&](const httplib::Request&, httplib::Response& response) {
    answer(response, 200,
           {{"status", "ok"},
            {"halftone", halftone_version()},
            {"input", {{"name", network.input_name()}, {"numbers", network.num_inputs()}}},
            {"scores", network.num_scores()}});
  });
  server.Post("/predict", [&](const httplib::Request& request, httplib::Response& response,
                              const httplib::ContentReader& read) {
    predict(network, request, response, read);
  });
  server.Get("/predict", [](const httplib::Request&, httplib::Response& response) {
    response.set_header("Allow", "POST");
    complain(response, 405, "expected POST");
  });
  // Statuses of the library's own.
  server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    const std::string what = response.status == 404   ? "nothing is at " + request.path
                             : response.status == 413 ? "the body is too large"
                                                      : "the request is not understood";
    complain(response, response.status, what);
  });
}

void set_limits(httplib::Server& server, std::size_t workers) {
  server.new_task_queue = [workers] { return new httplib::ThreadPool(workers); };  // it owns it
  server.set_payload_max_length(kMaxBodyBytes);
  server.set_read_timeout(5);
  server.set_write_timeout(5);
  server.set_keep_alive_timeout(1);  // an idle connection keeps a worker
  server.set_keep_alive_max_count(1000);
  // The library's own options would let two services share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
}

/// Serves until one of the signals arrives, which all threads keep away.
int serve(httplib::Server& server, int port, const sigset_t& endings) {
  const int bound = port == 0                                ? server.bind_to_any_port("127.0.0.1")
                    : server.bind_to_port("127.0.0.1", port) ? port
                                                             : -1;
  if (bound < 0) throw std::runtime_error("cannot listen on port " + std::to_string(port));
  bool is_served = false;
  std::thread listener([&] {
    is_served = server.listen_after_bind();
    kill(getpid(), SIGTERM);  // wakes the main thread where the socket failed
  });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("http_service: listening on http://127.0.0.1:%d\n", bound);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&endings, &signal);
  server.stop();
  listener.join();
  return is_served ? 0 : 1;
}

/// A number from a word. @throws std::runtime_error unless low <= number <= high
int number(std::string_view word, const char* what, int low, int high) {
  int value = low - 1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < low || value > high) {
    throw std::runtime_error(std::string(what) + ": expected " + std::to_string(low) + " to " +
                             std::to_string(high) + ", found '" + std::string(word) + "'");
  }
  return value;
}

int run(std::span<char*> words) {
  if (words.size() < 2 || words.size() > 4) {
    std::fputs("usage: http_service MODEL [PORT [WORKERS]]\n", stderr);
    return 2;
  }
  const int port = words.size() > 2 ? number(words[2], "PORT", 0, 65535) : 8080;
  const int workers = words.size() > 3 ? number(words[3], "WORKERS", 1, 256) : 8;
  // Before there are threads, so that all of them keep these signals away.
  sigset_t endings;
  sigemptyset(&endings);
  sigaddset(&endings, SIGTERM);
  sigaddset(&endings, SIGINT);
  pthread_sigmask(SIG_BLOCK, &endings, nullptr);
  const Network network(words[1]);
  httplib::Server server;
  set_limits(server, static_cast<std::size_t>(workers));
  add_routes(server, network);
  return serve(server, port, endings);
}

}  // namespace
}  // namespace service

int main(int argc, char** argv) {
  try {
    return service::run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_service: %s\n", error.what());
    return 1;
  }
}
