// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "halftone/base/error.h"
#include "halftone/spmd/agreement.h"
#include "halftone/spmd/exchange.h"

namespace halftone::spmd {
namespace {

constexpr std::size_t kUnknowns = 3;
using Vector3 = std::array<double, kUnknowns>;

/// ceil(log2 n).
double levels(std::size_t n) { return static_cast<double>(std::bit_width(n - 1)); }

/// The fraction of the bytes that crosses the network if each rank keeps its own share.
double others(std::size_t ranks) {
  return static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

/// Half of recursive halving and doubling, without additions, between 2^k ranks.
CostPath halving(std::size_t ranks, double bytes) {
  const std::size_t power = std::bit_floor(ranks);
  return {levels(power), bytes * others(power), 0};
}

/// Before each collective, ranks exchange which one they are in.
CostPath agreement_path(std::size_t ranks) {
  const auto bytes = static_cast<double>(sizeof(internal::Header) * ranks);
  return {levels(ranks), bytes * others(ranks), 0};
}

double relative_error(const CostSample& sample, const Link& link) {
  return link.seconds(sample.path) / sample.seconds - 1;
}

/// Row i of the equations: the coefficient of each unknown in model / measured.
Vector3 row_of(const CostSample& sample) {
  return {sample.path.messages / sample.seconds, sample.path.bytes / sample.seconds,
          sample.path.added_bytes / sample.seconds};
}

/// Solves the least squares problem for the unknowns in `free`, the others zero, through the normal
/// equations. The unknowns are scaled to similar sizes first.
std::optional<Vector3> solve(std::span<const CostSample> samples, unsigned free) {
  Vector3 scale{};
  for (const CostSample& sample : samples) {
    const Vector3 row = row_of(sample);
    for (std::size_t i = 0; i < kUnknowns; ++i) scale[i] = std::max(scale[i], row[i]);
  }
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> system{};
  const auto is_free = [&](std::size_t i) { return (free >> i & 1U) != 0 && scale[i] > 0; };
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    if (!is_free(i)) system[i][i] = 1;
  }
  for (const CostSample& sample : samples) {
    const Vector3 row = row_of(sample);
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      if (!is_free(i)) continue;
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        if (is_free(j)) system[i][j] += row[i] / scale[i] * row[j] / scale[j];
      }
      system[i][kUnknowns] += row[i] / scale[i];
    }
  }
  // Elimination without pivoting: the matrix is positive definite, or close to singular.
  for (std::size_t k = 0; k < kUnknowns; ++k) {
    if (system[k][k] < 1e-9) return std::nullopt;
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      if (i == k) continue;
      const double factor = system[i][k] / system[k][k];
      for (std::size_t j = k; j <= kUnknowns; ++j) system[i][j] -= factor * system[k][j];
    }
  }
  Vector3 solution{};
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    if (is_free(i)) solution[i] = system[i][kUnknowns] / system[i][i] / scale[i];
    if (solution[i] < 0) return std::nullopt;
  }
  return solution;
}

}  // namespace

CostPath all_gather_path(CollectiveAlgorithm algorithm, std::size_t ranks, double bytes) {
  if (ranks < 2) return {};
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return {static_cast<double>(ranks - 1), bytes * others(ranks), 0};
    case CollectiveAlgorithm::kTree:
      return {levels(ranks), bytes * levels(ranks), 0};
    case CollectiveAlgorithm::kHalving:
      break;
  }
  const CostPath fold = std::has_single_bit(ranks) ? CostPath() : CostPath{1, bytes, 0};
  return halving(ranks, bytes) + fold;
}

CostPath all_reduce_path(CollectiveAlgorithm algorithm, std::size_t ranks, double bytes) {
  const CostPath half = all_gather_path(algorithm, ranks, bytes);
  return {2 * half.messages, 2 * half.bytes, half.bytes};
}

CostPath ppermute_path(std::size_t ranks, double bytes) {
  if (ranks < 2) return {};
  return agreement_path(ranks) + CostPath{1, bytes, 0};
}

CostPath psum_path(std::size_t ranks, double bytes) {
  if (ranks < 2) return {};
  const CostPath agreement = agreement_path(ranks);
  const auto each = static_cast<double>(ranks - 1);
  if (bytes < static_cast<double>(internal::kWholeBytes)) {
    return agreement + CostPath{each, each * bytes, each * bytes};
  }
  return agreement + all_reduce_path(CollectiveAlgorithm::kRing, ranks, bytes);
}

Link fit_link(std::span<const CostSample> samples) {
  if (samples.empty()) fail(ErrorKind::kUsage, "link: expected at least one sample, found none");
  for (const CostSample& sample : samples) {
    if (!(sample.seconds > 0)) {
      fail(ErrorKind::kUsage, "the time of a sample: expected a positive number, found " +
                                  std::to_string(sample.seconds));
    }
  }
  // Tries all subsets of the three unknowns and keeps the best solution that is not negative.
  Link best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned free = 0; free < 1U << kUnknowns; ++free) {
    const auto solution = solve(samples, free);
    if (!solution) continue;
    const Link link{(*solution)[0], (*solution)[1], (*solution)[2]};
    double error = 0;
    for (const CostSample& sample : samples) error += std::pow(relative_error(sample, link), 2);
    if (error < least) {
      least = error;
      best = link;
    }
  }
  return best;
}

}  // namespace halftone::spmd
