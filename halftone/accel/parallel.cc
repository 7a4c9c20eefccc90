// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/spmd/cost.h"

namespace halftone::accel {
namespace {

/// Scales transfers of the given roles.
void scale(std::vector<Transfer>& transfers, double factor,
           std::initializer_list<TensorRole> roles) {
  for (Transfer& each : transfers) {
    if (std::ranges::find(roles, each.role) != roles.end()) each.bytes *= factor;
  }
}

void scale_elements(Operation& operation, double factor) {
  operation.operations *= factor;
  operation.functions *= factor;
  operation.outputs *= factor;
}

/// Divides samples: the part of `samples` of them, rounded up to whole rows.
void divide_data(Operation& part, std::size_t samples, std::size_t batch) {
  Product& product = part.product;
  std::size_t& divided = product.rows > 1 ? product.rows : product.count;
  divided = (divided * samples + batch - 1) / batch;
  const double factor = static_cast<double>(samples) / static_cast<double>(batch);
  for (auto* list : {&part.reads, &part.writes}) {
    scale(*list, factor, {TensorRole::kInputs, TensorRole::kOutputs, TensorRole::kStates});
  }
  scale_elements(part, factor);
}

bool has_weights(const Operation& operation) {
  return std::ranges::any_of(
      operation.reads, [](const Transfer& each) { return each.role == TensorRole::kWeights; });
}

/// Divides columns, or the inner extent, of products with weights; heads of products with states;
/// elements between both products of a pair.
void divide_tensor(Operation& part, std::size_t chips) {
  Product& product = part.product;
  const double factor = 1.0 / static_cast<double>(chips);
  if (!part.has_product() && !part.in_shares) return;
  if (!has_weights(part) || part.in_shares) {
    product.count = divide_up(product.count, chips);
    for (auto* list : {&part.reads, &part.writes}) {
      scale(
          *list, factor,
          {TensorRole::kInputs, TensorRole::kOutputs, TensorRole::kStates, TensorRole::kGradients});
    }
    scale_elements(part, factor);
    return;
  }
  scale(part.reads, factor, {TensorRole::kWeights});
  if (part.joins_shares) {
    product.inner = divide_up(product.inner, chips);
    scale(part.reads, factor, {TensorRole::kInputs});
    return;
  }
  product.cols = divide_up(product.cols, chips);
  scale(part.writes, factor, {TensorRole::kOutputs});
  scale_elements(part, factor);
}

}  // namespace

std::string_view to_string(SplitKind kind) {
  switch (kind) {
    case SplitKind::kData:
      return "data";
    case SplitKind::kTensor:
      return "tensor";
    case SplitKind::kPipeline:
      return "pipeline";
  }
  return "";
}

SplitKind split_named(std::string_view name) {
  std::string list;
  for (const SplitKind each : {SplitKind::kData, SplitKind::kTensor, SplitKind::kPipeline}) {
    if (to_string(each) == name) return each;
    list.append(list.empty() ? "" : ", ").append(to_string(each));
  }
  fail(ErrorKind::kUsage, "expected one of " + list + ", found '" + std::string(name) + "'");
}

void check_split(const Workload& workload, const Accelerator& accelerator, const Split& split) {
  if (split.chips == 0) fail(ErrorKind::kUsage, "devices: expected at least 1, found 0");
  if (split.chips == 1) return;
  if (!accelerator.link) {
    fail(ErrorKind::kUsage, "'" + accelerator.name + "' has no [link]: add one, or use one device");
  }
  const auto need = [&](std::size_t found, const char* what) {
    if (found >= split.chips) return;
    fail(ErrorKind::kUnsupported, "a " + std::string(to_string(split.kind)) + " split over " +
                                      std::to_string(split.chips) + " devices needs as many " +
                                      what + ", found " + std::to_string(found));
  };
  if (split.kind == SplitKind::kData) need(workload.batch, "samples");
  if (split.kind == SplitKind::kPipeline) need(workload.operations.size(), "operations");
}

Operation part_of(const Operation& operation, const Split& split, std::size_t batch) {
  Operation part = operation;
  if (split.chips > 1 && split.kind == SplitKind::kData) {
    divide_data(part, divide_up(batch, split.chips), batch);
  }
  if (split.chips > 1 && split.kind == SplitKind::kTensor) {
    divide_tensor(part, split.chips);
  }
  return part;
}

std::vector<std::size_t> pipeline_stages(const std::vector<double>& seconds, std::size_t chips) {
  // best[c][i]: the least time of the slowest of c stages that hold the first i operations.
  const std::size_t n = seconds.size();
  std::vector<double> before(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) before[i + 1] = before[i] + seconds[i];
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(chips + 1, std::vector<double>(n + 1, never));
  std::vector<std::vector<std::size_t>> cut(chips + 1, std::vector<std::size_t>(n + 1, 0));
  best[0][0] = 0;
  for (std::size_t c = 1; c <= chips; ++c) {
    for (std::size_t i = c; i <= n; ++i) {
      for (std::size_t j = c - 1; j < i; ++j) {
        const double slowest = std::max(best[c - 1][j], before[i] - before[j]);
        if (slowest >= best[c][i]) continue;
        best[c][i] = slowest;
        cut[c][i] = j;
      }
    }
  }
  std::vector<std::size_t> first(chips);
  for (std::size_t c = chips, end = n; c > 0; --c) first[c - 1] = end = cut[c][end];
  return first;
}

double send_seconds(const ChipLink& link, double bytes) {
  return link.latency_s + bytes / (link.bytes_per_second * link.efficiency);
}

double all_reduce_seconds(const ChipLink& link, std::size_t chips, double bytes) {
  using spmd::CollectiveAlgorithm;
  if (chips <= 1) return 0;
  const double bandwidth = link.bytes_per_second * link.efficiency;
  const spmd::Link model{link.latency_s, 1 / bandwidth, 0};
  const auto seconds = [&](CollectiveAlgorithm algorithm) {
    return model.seconds(spmd::all_reduce_path(algorithm, chips, bytes));
  };
  const double ring = seconds(CollectiveAlgorithm::kRing);
  if (link.topology == Topology::kRing) return ring;
  // The link to one other chip; a flag beside every word leaves half of it to data.
  const double flagged = bandwidth / static_cast<double>(chips - 1) / 2;
  const double root = std::sqrt(link.latency_s) + std::sqrt(bytes / flagged);
  return std::min({ring, seconds(CollectiveAlgorithm::kHalving), root * root});
}

}  // namespace halftone::accel
