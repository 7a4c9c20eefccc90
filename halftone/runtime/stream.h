// SPDX-License-Identifier: Apache-2.0
// A graph over many samples: the one loop of calibration and evaluation.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "halftone/base/progress.h"
#include "halftone/ir/graph.h"

namespace halftone::runtime {

struct StreamOptions {
  std::size_t num_samples = 0;
  std::size_t batch = 64;  ///< samples per run; a graph without symbolic batch goes by its own
  ProgressSink progress = nullptr;  ///< may be empty
  bool int8_activations = true;     ///< as in PlanOptions
};

/// Writes samples [first, first + count) of a graph input, in row-major order.
using FillInput = std::function<void(std::size_t first, std::size_t count, std::size_t input,
                                     std::span<float> values)>;

/// Takes the outputs for samples [first, first + count): one tensor per output of the graph, the
/// first extent is count.
using ConsumeOutputs =
    std::function<void(std::size_t first, std::size_t count, std::span<const ir::Tensor> outputs)>;

/// Runs a graph over many samples, several batches at once by parallel_for(), each batch on one
/// thread. `fill` and `consume` are each called by one thread at a time and in ascending order of
/// `first`, so what they see does not depend on the number of threads; both may be called from any
/// thread. At most as many batches as threads are in memory. The last batch is filled up with
/// zeros and cut, so a sample's result does not depend on it being in the last one.
///
/// A graph without symbolic batch runs with the first extent of its inputs as the batch.
/// @throws Error kUnsupported if an input is not float32, or an input or output has no batch as
///         its first extent; kUsage if batch is 0; else as make_plan(); whatever `fill` and
///         `consume` throw, of the earliest batch that fails, after all before it were consumed
void run_stream(const ir::Graph& graph, const StreamOptions& options, const FillInput& fill,
                const ConsumeOutputs& consume);

}  // namespace halftone::runtime
