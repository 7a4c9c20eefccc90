// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/metrics.h"

#include <fmt/format.h>

#include <vector>

namespace halftone::server {
namespace {

std::string head(const std::string& name, const char* type, const std::string& help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::uint64_t value;
};

/// In the order in which they are written.
std::vector<Metric> metrics_of(const lm::ServeCounts& counts) {
  return {
      {"texts_running", "gauge", "Texts that are being written.", counts.running},
      {"texts_waiting", "gauge", "Texts that wait for a sequence.", counts.waiting},
      {"texts_total", "counter", "Texts that were accepted.", counts.accepted},
      {"texts_refused_total", "counter", "Texts refused because too many were waiting.",
       counts.refused},
      {"texts_interrupted_total", "counter", "Texts whose client left, or whose time was over.",
       counts.interrupted},
      {"texts_failed_total", "counter", "Texts that the model failed at.", counts.failed},
      {"evictions_total", "counter", "Texts that lost their sequence for a while.",
       counts.evictions},
      {"prompt_tokens_total", "counter", "Tokens of prompts.", counts.prompt_tokens},
      {"reused_prompt_tokens_total", "counter", "Of these, which were computed before.",
       counts.reused_tokens},
      {"generated_tokens_total", "counter", "Tokens that were written.", counts.generated_tokens},
      {"guessed_tokens_total", "counter", "Tokens that were guessed before.",
       counts.guessed_tokens},
      {"accepted_tokens_total", "counter", "Of these, which were right.", counts.accepted_tokens},
      {"runs_total", "counter", "Runs of the model.", counts.runs},
      {"run_tokens_total", "counter", "Tokens of all runs.", counts.run_tokens},
      {"cache_shared_bytes", "gauge", "Memory of caches that texts share, and copies would take.",
       counts.shared_bytes},
  };
}

std::string lines_of(const std::vector<Metric>& metrics) {
  std::string text;
  for (const Metric& metric : metrics) {
    const std::string name = std::string("halftone_") + metric.name;
    text += head(name, metric.type, metric.help) + fmt::format("{} {}\n", name, metric.value);
  }
  return text;
}

}  // namespace

void Histogram::add(double value) {
  ++count_;
  sum_ += value;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (value <= kBounds[i]) ++counts_[i];
  }
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
  std::string lines = head(name, "histogram", help);
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    lines += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], counts_[i]);
  }
  lines += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n", name, count_);
  return lines + fmt::format("{}_sum {}\n{}_count {}\n", name, sum_, name, count_);
}

void Metrics::note(const std::string& path, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[fmt::format("path=\"{}\",status=\"{}\"", path, status)];
  request_seconds_.add(seconds);
}

void Metrics::note(const lm::Generation& generation) {
  if (generation.tokens.empty()) return;
  const std::lock_guard lock(mutex_);
  first_token_seconds_.add(generation.first_seconds);
}

std::string Metrics::requests_text() const {
  std::string text = head("halftone_requests_total", "counter", "Requests that were answered.");
  for (const auto& [labels, count] : requests_) {
    text += fmt::format("halftone_requests_total{{{}}} {}\n", labels, count);
  }
  return text + request_seconds_.text("halftone_request_seconds", "Time to answer a request.");
}

std::string Metrics::text(std::uint64_t runs, std::uint64_t samples) const {
  const std::lock_guard lock(mutex_);
  return lines_of({{"runs_total", "counter", "Runs of the network.", runs},
                   {"samples_total", "counter", "Samples of all runs.", samples}}) +
         requests_text();
}

std::string Metrics::text(const lm::ServeCounts& counts) const {
  const std::lock_guard lock(mutex_);
  return lines_of(metrics_of(counts)) + requests_text() +
         first_token_seconds_.text("halftone_first_token_seconds",
                                   "Time from a request to the first token of a text.");
}

}  // namespace halftone::server
