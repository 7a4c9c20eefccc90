// SPDX-License-Identifier: Apache-2.0
// A workload over several chips: which part each computes, and what they exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/workload.h"

namespace halftone::accel {

/// Along what a workload is divided.
enum class SplitKind : std::uint8_t {
  kData,      ///< samples; in training, gradients are summed
  kTensor,    ///< columns of weights, then rows of those that follow; sums are all-reduced
  kPipeline,  ///< operations; activations move from chip to chip
};
std::string_view to_string(SplitKind kind);  ///< "data", "tensor", "pipeline"
/// @throws Error kUsage with the list of names if it is none of them
SplitKind split_named(std::string_view name);

struct Split {
  std::size_t chips = 1;
  SplitKind kind = SplitKind::kData;
};

/// @throws Error kUsage if there is no chip, or several but no link; kUnsupported if the batch has
/// fewer
///         samples than chips (kData), or fewer operations than chips (kPipeline)
void check_split(const Workload& workload, const Accelerator& accelerator, const Split& split);

/// The part of one chip, the one with the largest share where a division leaves a remainder.
///
///     kData      samples divided: rows of products, inputs, outputs and operations
///     kTensor    products in pairs: the first of a pair divides columns, the second the inner
///                extent; what stands between both divides its elements, attention and its states
///                their heads
///     kPipeline  the whole operation: one chip after another computes its own
/// @param batch  samples of the whole workload
Operation part_of(const Operation& operation, const Split& split, std::size_t batch);

/// Where a pipeline is cut: the first operation of each chip, so that the slowest chip is as fast
/// as possible. Stages of whole operations, in their order.
/// @param seconds  of each operation, at least as many as chips
std::vector<std::size_t> pipeline_stages(const std::vector<double>& seconds, std::size_t chips);

/// The time of an all-reduce by the fastest of the algorithms that the topology allows:
///
///     ring       as in spmd/cost.h
///     halving    as in spmd/cost.h; fully connected chips only
///     pipelined  latency + n / b + 2 sqrt(latency n / b); fully connected chips only
///
/// The last is a chain of pieces of the best size over single links, each word with a flag so that
/// no message has to be awaited: b = bandwidth / (chips - 1) / 2.
/// Source: NVIDIA NCCL, protocol LL (4 bytes of data, 4 of flag); the best size of a piece as in
/// Johnsson and Ho, Optimum broadcasting in hypercubes, IEEE Trans. Computers 38 (1989), section 3.
double all_reduce_seconds(const ChipLink& link, std::size_t chips, double bytes);
/// The time to move bytes from one chip to the next.
double send_seconds(const ChipLink& link, double bytes);

}  // namespace halftone::accel
