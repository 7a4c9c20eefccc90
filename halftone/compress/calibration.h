// SPDX-License-Identifier: Apache-2.0
// What the fits ask of the calibration data, each question one pass over it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/fit/layer_statistics.h"
#include "halftone/compress/fit/value_sample.h"
#include "halftone/compress/unfolding.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/numerics/distortion.h"
#include "halftone/spmd/devices.h"

namespace halftone::compress {

/// A value of the float network and its twin in the quantized one, in the same graph.
struct ValuePair {
  ir::ValueId original;
  ir::ValueId actual;
};

/// Asks questions about values of a graph, answered by streaming the calibration data through the
/// part of it that computes them, on devices. Memory: per device, one batch and log2(batches) + 1
/// times the answer.
class Calibration {
 public:
  /// `data` must outlive this.
  /// @param devices  as in runtime::StreamOptions; no answer depends on how many there are
  explicit Calibration(const data::Dataset& data, spmd::Devices devices = {})
      : data_(data),
        devices_(devices.empty() ? spmd::Devices::for_threads() : std::move(devices)) {}

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

  /// How often each row of a table is looked up.
  /// @param indices  value of int32 or int64, of the float network; negative ones count from the
  /// end
  /// @return         [rows]
  [[nodiscard]] std::vector<std::size_t> uses(const ir::Graph& graph, ir::ValueId indices,
                                              std::size_t rows, const ProgressSink& progress) const;
  /// The elements of a value for the first samples: [samples, ...].
  [[nodiscard]] std::vector<float> collect(const ir::Graph& graph, ir::ValueId id,
                                           std::size_t samples) const;
  [[nodiscard]] std::size_t num_samples() const { return data_.size(); }
  [[nodiscard]] const spmd::Devices& devices() const { return devices_; }

 private:
  template <typename Ask>
  auto stream_pairs(const ir::Graph& graph, std::span<const ValuePair> pairs,
                    const ProgressSink& progress, std::size_t samples, const Ask& ask) const;

  const data::Dataset& data_;
  spmd::Devices devices_;
};

}  // namespace halftone::compress
