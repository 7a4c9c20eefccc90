// SPDX-License-Identifier: Apache-2.0
// A request of HTTP from its beginning until its answer is sent.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "halftone/server/json_body.h"
#include "halftone/server/metrics.h"

namespace halftone::server {

/// Where requests are noted. Any thread may use it.
class Journal {
 public:
  Journal(Metrics& metrics, std::function<void(const std::string&)> log)
      : metrics_(metrics), log_(std::move(log)) {}

  /// A line in JSON with the time in front.
  void write(const Json& line);
  [[nodiscard]] std::size_t num_open() const { return num_open_; }

 private:
  friend class Exchange;
  Metrics& metrics_;
  std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::atomic<std::size_t> num_open_ = 0;
};

/// Notes a request when it is destroyed: a line of the log, and what is measured.
class Exchange {
 public:
  /// @param path  of the route, or "other" for what is none, so that clients make no labels
  Exchange(Journal& journal, std::string method, std::string path, std::string client);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const std::string& client() const { return client_; }
  void set_status(int status) { status_ = status; }
  /// Adds something to the line.
  void note(const char* key, Json value) { notes_[key] = std::move(value); }

 private:
  void note_end();

  Journal& journal_;
  std::string method_;
  std::string path_;
  std::string client_;
  int status_ = 200;
  Json notes_ = Json::object();
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace halftone::server
