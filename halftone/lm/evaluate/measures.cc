// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/evaluate/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::size_t first_highest(std::span<const float> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

void log_softmax(std::span<const float> logits, std::span<double> out) {
  double highest = -kInfinite;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity()) {
      fail(ErrorKind::kFormat, "logit of token " + std::to_string(i) +
                                   ": expected a number, found " + number_text(logits[i]) +
                                   "; the model is broken, or has keys beyond float16: keep them "
                                   "as float32 (cache)");
    }
    highest = std::max(highest, static_cast<double>(logits[i]));
  }
  if (highest == -kInfinite)
    fail(ErrorKind::kFormat, "logits: expected a number, found none; the model is broken");
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = static_cast<double>(logits[i]) - highest;
    sum += elementary::exp(out[i]);
  }
  const double log_sum = elementary::log(sum);
  for (std::size_t i = 0; i < logits.size(); ++i) out[i] -= log_sum;
}

double kl_divergence(std::span<const double> log_p, std::span<const double> log_q) {
  double sum = 0;
  for (std::size_t i = 0; i < log_p.size(); ++i) {
    const double p = elementary::exp(log_p[i]);
    if (p > 0) sum += p * (log_p[i] - log_q[i]);
  }
  return sum;
}

void Mean::add(double x) {
  ++count;
  const double before = x - mean;
  mean += before / static_cast<double>(count);
  squares += before * (x - mean);
}

Estimate Mean::estimate() const {
  if (count < 2) return {mean, 0};
  const auto n = static_cast<double>(count);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

Estimate exp_of(const Estimate& mean) {
  const double value = elementary::exp(mean.value);
  return {value, value * mean.standard_error};
}

Estimate quantile(std::vector<double> values, double q) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  const auto at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(std::ceil(rank), 1.0, n)) - 1];
  };
  const double distance = std::sqrt(n * q * (1 - q));
  return {at(n * q), (at(n * q + distance) - at(n * q - distance)) / 2};
}

TokenMeasures measure_token(std::span<const float> logits, std::span<const float> reference,
                            TokenId token) {
  const auto id = static_cast<std::size_t>(token);
  if (token < 0 || id >= logits.size()) {
    fail(ErrorKind::kUsage, "token: expected 0 to " + std::to_string(logits.size() - 1) +
                                ", which the model has, found " + std::to_string(token));
  }
  std::vector<double> log_q(logits.size());
  log_softmax(logits, log_q);
  TokenMeasures measures{-log_q[id]};
  measures.top = static_cast<TokenId>(first_highest(logits));
  if (reference.empty()) return measures;
  std::vector<double> log_p(reference.size());
  log_softmax(reference, log_p);
  measures.reference_loss = -log_p[id];
  measures.kl = kl_divergence(log_p, log_q);
  measures.reference_top = static_cast<TokenId>(first_highest(reference));
  measures.same_top = measures.top == measures.reference_top;
  return measures;
}

}  // namespace halftone::lm
