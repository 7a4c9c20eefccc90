// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/exchange.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <utility>

namespace halftone::server {
namespace {

/// "2026-11-29T08:33:18.042Z"
std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds % 1000);
}

}  // namespace

void Journal::write(const Json& line) {
  if (!log_) return;
  Json with_time = {{"time", now_text()}};
  with_time.update(line);
  const std::lock_guard lock(mutex_);
  log_(dump(with_time));
}

Exchange::Exchange(Journal& journal, std::string method, std::string path, std::string client)
    : journal_(journal),
      method_(std::move(method)),
      path_(std::move(path)),
      client_(std::move(client)) {
  ++journal_.num_open_;
}

Exchange::~Exchange() {
  try {
    note_end();
  } catch (...) {
    // There is no memory for the line, and an answer is more.
    notes_.clear();
  }
  --journal_.num_open_;
}

void Exchange::note_end() {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  journal_.metrics_.note(path_, status_, seconds);
  Json line = {{"client", client_},
               {"method", method_},
               {"path", path_},
               {"status", status_},
               {"seconds", std::round(seconds * 1e6) / 1e6}};
  line.update(notes_);
  journal_.write(line);
}

}  // namespace halftone::server
