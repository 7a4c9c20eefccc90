// SPDX-License-Identifier: Apache-2.0
// How good a network is on labelled data, and how close to another one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/base/progress.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/kernel.h"
#include "halftone/spmd/devices.h"

namespace halftone::compress {

struct EvaluateOptions {
  std::size_t batch = 64;
  ProgressSink progress;  ///< may be empty
  // What messages call the two.
  std::string network = "network";
  std::string reference = "reference";
  bool int8_activations = true;  ///< as in runtime::PlanOptions
  spmd::Devices devices{};       ///< as in runtime::StreamOptions
  runtime::FloatOrder float_order = runtime::FloatOrder::kFastest;
};

/// What a network and its reference gave on the same samples.
struct Comparison {
  std::optional<double> value;  ///< the reference's own accuracy, where there are labels
  double agreement = 0;         ///< fraction of samples with the same answer
  double sqnr_db = 0;           ///< of the first output, the reference's being the signal
};

struct Evaluation {
  std::string metric;  ///< "accuracy" with labels, else "agreement"
  double value = 0;    ///< in [0, 1]
  std::size_t samples = 0;
  std::optional<Comparison> reference;
};

/// Runs a classifier over a data set and counts right answers. The answer is the index of the
/// largest number of the first output (the first of equal ones); with a single number, whether it
/// exceeds 1/2.
/// The result does not depend on the number of devices, and is the same on all ranks.
/// @param reference  a network to compare with, or null; it may want its inputs in another shape
/// @throws Error kShape if data, network and reference do not fit; kFormat if a label is no class
///         of the network; kUsage if there are neither labels nor a reference
Evaluation evaluate(const ir::Graph& graph, const data::Dataset& data,
                    const ir::Graph* reference = nullptr, const EvaluateOptions& options = {});

}  // namespace halftone::compress
