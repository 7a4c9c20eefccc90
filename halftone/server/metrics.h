// SPDX-License-Identifier: Apache-2.0
// What a server measures of itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "halftone/lm/serve/scheduler.h"

namespace halftone::server {

/// Counts by upper bounds, as Prometheus has them.
class Histogram {
 public:
  void add(double value);
  /// The lines of a metric. @param name  such as "halftone_request_seconds"
  [[nodiscard]] std::string text(const std::string& name, const std::string& help) const;

 private:
  static constexpr std::array<double, 12> kBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                     1,    2.5,   5,    10,  30,   120};
  std::array<std::uint64_t, kBounds.size()> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

/// Any thread may use it.
class Metrics {
 public:
  /// A request that was answered.
  void note(const std::string& path, int status, double seconds);
  /// A text that has ended.
  void note(const lm::Generation& generation);
  /// In Prometheus' text format 0.0.4.
  [[nodiscard]] std::string text(const lm::ServeCounts& counts) const;
  /// The same of a network.
  [[nodiscard]] std::string text(std::uint64_t runs, std::uint64_t samples) const;

 private:
  /// @pre the mutex is held
  [[nodiscard]] std::string requests_text() const;

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> requests_;  ///< by labels
  Histogram request_seconds_;
  Histogram first_token_seconds_;
};

}  // namespace halftone::server
