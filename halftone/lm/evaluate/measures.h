// SPDX-License-Identifier: Apache-2.0
// How well logits predict tokens, and how close two models are. Pure functions on rows of logits;
// all sums are in double and in the order of indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/lm/text/vocabulary.h"
#include "halftone/types/language.hpp"

namespace halftone::lm {

/// out[i] = x[i] - m - log sum_j exp(x[j] - m), with m = max x.
/// @param logits  [vocabulary], not empty; -infinity is a token of probability 0
/// @param out     [vocabulary]
/// @throws Error kFormat if a logit is NaN or +infinity, or all are -infinity
void log_softmax(std::span<const float> logits, std::span<double> out);

/// sum_i p[i] (log p[i] - log q[i]) in nats; terms with p[i] = 0 are 0.
/// @param log_p, log_q  [vocabulary]: logarithms of probabilities
/// @return              at least 0 up to rounding; infinite where q[i] = 0 < p[i]
double kl_divergence(std::span<const double> log_p, std::span<const double> log_q);

/// The standard error is 0 where one value says nothing of it.
using v0::Estimate;

/// Mean of independent values x: the standard error is s / sqrt(n) with s^2 = sum (x - mean)^2 /
/// (n - 1). Source: Welford, Technometrics 4 (1962).
struct Mean {
  std::uint64_t count = 0;
  double mean = 0;
  double squares = 0;  ///< sum of (x - mean)^2

  void add(double x);
  [[nodiscard]] Estimate estimate() const;
};

/// exp of a mean; its standard error to first order: exp(mean) times that of the mean.
Estimate exp_of(const Estimate& mean);

/// The smallest value that a share q of the values does not exceed. The standard error is half the
/// distance of the values whose ranks are sqrt(n q (1 - q)) below and above.
/// @param values  in any order; empty: 0
/// @param q       in (0, 1]
/// Source: Conover, Practical Nonparametric Statistics, 3rd ed., sec. 3.2.
Estimate quantile(std::vector<double> values, double q);

/// What the logits of two models say of one token.
struct TokenMeasures {
  double loss = 0;                   ///< -log p(token) of the model
  double reference_loss = 0;         ///< of the reference
  double kl = 0;                     ///< KL(reference || model)
  bool same_top = false;             ///< both have the same most probable token
  TokenId top = kNoToken;            ///< the most probable token of the model
  TokenId reference_top = kNoToken;  ///< of the reference, if there is one
};

/// @param reference  logits of the reference; empty: only the loss is measured
/// @param token      that follows
/// @throws Error kFormat as log_softmax(); kUsage if there is no such token
TokenMeasures measure_token(std::span<const float> logits, std::span<const float> reference,
                            TokenId token);

}  // namespace halftone::lm
