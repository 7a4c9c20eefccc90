// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "halftone/base/relative_fit.h"
#include "halftone/spmd/agreement.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/exchange.h"

namespace halftone::spmd {
namespace {

using Vector3 = std::array<double, 3>;

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

/// Row i of the equations: the coefficient of each unknown in model / measured.
Vector3 row_of(const CostSample& sample) {
  return {sample.path.messages / sample.seconds, sample.path.bytes / sample.seconds,
          sample.path.added_bytes / sample.seconds};
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
  std::vector<Vector3> rows;
  for (const CostSample& sample : samples) rows.push_back(row_of(sample));
  const auto [latency, per_byte, per_added_byte] = fit_relative<3>(rows).coefficients;
  return {latency, per_byte, per_added_byte};
}

}  // namespace halftone::spmd
