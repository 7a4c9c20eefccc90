// SPDX-License-Identifier: Apache-2.0
// Accuracy of a network on labelled data, and its agreement with a reference network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "halftone/base/progress.h"
#include "halftone/compress/feed.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/execution_options.h"
#include "halftone/spmd/devices.hpp"
#include "halftone/types/defaults.hpp"
#include "halftone/types/evaluate.hpp"

namespace halftone::compress {

struct EvaluateSettings {
  std::size_t batch = v0::kRunBatch;
  ProgressSink progress;  ///< may be empty
  // Names of the two networks in messages.
  std::string network = "network";
  std::string reference = "reference";
  spmd::Devices devices{};  ///< as in runtime::StreamOptions
  /// For its bit_layers: values of the network keep their ids; those of the reference are above
  /// them.
  runtime::ExecutionOptions execution{};
  /// Called with the scores of each sample of this process, and with those of the reference or
  /// nothing; from several threads, in any order. May be empty.
  std::function<void(std::size_t sample, std::span<const float> scores,
                     std::span<const float> reference)>
      visit{};
  // Give the networks the extents of samples; empty: samples have one size.
  Resize resize{};
  Resize resize_reference{};
};

/// The class that a network predicts by its scores: the index of the largest (the first one if
/// several are equal). Of a single score: 1 if it exceeds 1/2, else 0.
std::int64_t predicted_class(std::span<const float> scores);

using v0::Comparison;
using v0::Evaluation;

/// Runs a classifier over a data set and counts correctly classified samples: those whose
/// predicted_class() by the first output is the label.
/// The result does not depend on the number of devices, and is the same on all ranks. Where the
/// size of the first output depends on data, samples run one by one, and those elements that only
/// one of both networks has are noise: the other has zeros there.
/// @param reference  a network to compare with, or null; its inputs may have other shapes
/// @throws Error kShape if data, network and reference do not fit; kFormat if a label is not a
///         class of the network; kUsage if there are neither labels nor a reference
Evaluation evaluate(const ir::Graph& graph, const data::Dataset& data,
                    const ir::Graph* reference = nullptr, const EvaluateSettings& options = {});

}  // namespace halftone::compress
