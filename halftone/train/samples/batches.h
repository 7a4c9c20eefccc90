// SPDX-License-Identifier: Apache-2.0
// Samples in the order in which training sees them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/execute/stream.h"
#include "halftone/train/samples/augment.h"

namespace halftone::train {

/// A data set as a network's inputs, which depend only on seed, epoch and sample.
class Batches {
 public:
  /// @throws Error kShape as compress::make_feed(); kUnsupported if the first extent of an input is
  ///         not the batch; kUsage as Augment
  Batches(const data::Dataset& data, const ir::Graph& graph, const AugmentOptions& augment,
          std::uint64_t seed);

  /// The same samples, augmented alike, in the shapes of another network's inputs.
  /// @throws Error as the constructor
  [[nodiscard]] Batches seen_by(const ir::Graph& graph) const;

  [[nodiscard]] const data::Dataset& data() const { return data_; }
  /// Whether inputs() differ from epoch to epoch.
  [[nodiscard]] bool moves() const { return augment_options_.changes(); }
  /// These samples in the random order of an epoch.
  [[nodiscard]] std::vector<std::size_t> shuffled(std::vector<std::size_t> samples,
                                                  std::size_t epoch) const;
  /// One float32 tensor per graph input, augmented as in this epoch.
  [[nodiscard]] std::vector<at::Tensor> inputs(std::span<const std::size_t> samples,
                                               std::size_t epoch) const;
  /// The same without augmentation.
  [[nodiscard]] std::vector<at::Tensor> plain_inputs(std::span<const std::size_t> samples) const;
  /// int64 [samples]; undefined if the data has no labels.
  [[nodiscard]] at::Tensor labels(std::span<const std::size_t> samples) const;

 private:
  const data::Dataset& data_;
  std::vector<ir::Shape> shapes_;  ///< of the inputs
  runtime::FillInput feed_;
  AugmentOptions augment_options_;
  Augment augment_;
  std::uint64_t seed_;
};

}  // namespace halftone::train
