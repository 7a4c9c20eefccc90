// SPDX-License-Identifier: Apache-2.0
// What the fits ask of the calibration data, each question one pass over it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/fit/layer_statistics.h"
#include "halftone/compress/unfolding.h"
#include "halftone/compress/value_sample.h"
#include "halftone/formats/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {

/// A value of the float network and its twin in the quantized one, in the same graph.
struct ValuePair {
  ir::ValueId original;
  ir::ValueId actual;
};

/// Asks questions about values of a graph, answered by streaming the calibration data through the
/// part of it that computes them. Memory: one batch per thread and the answer.
class Calibration {
 public:
  /// `data` must outlive this.
  explicit Calibration(const formats::Dataset& data) : data_(data) {}

  /// Pairs of single values.
  /// @param most  pairs to keep at most
  [[nodiscard]] ValueSample sample(const ir::Graph& graph, ValuePair pair, std::size_t most,
                                   std::uint64_t seed, const ProgressSink& progress) const;
  /// Second moments of the rows that a layer multiplies, one for each group of its outputs; the
  /// twin's values are first brought to the nearest level of `encoding`, if there is one.
  [[nodiscard]] std::vector<LayerStatistics> statistics(const ir::Graph& graph, ValuePair pair,
                                                        const Unfolding& unfolding,
                                                        const numerics::BasisEncoding* encoding,
                                                        const ProgressSink& progress) const;
  /// How far the twins are from the originals.
  [[nodiscard]] std::vector<numerics::Distortion> distortions(const ir::Graph& graph,
                                                              std::span<const ValuePair> pairs,
                                                              const ProgressSink& progress) const;

  /// The values themselves for the first samples, one list per value: [samples, ...].
  [[nodiscard]] std::vector<std::vector<float>> collect(const ir::Graph& graph, ValuePair pair,
                                                        std::size_t samples,
                                                        const ProgressSink& progress) const;
  [[nodiscard]] std::size_t num_samples() const { return data_.size(); }

 private:
  const formats::Dataset& data_;
};

}  // namespace halftone::compress
