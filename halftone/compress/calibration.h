// SPDX-License-Identifier: Apache-2.0
// Answers the fits' questions about values of a network on the calibration data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/border.h"
#include "halftone/compress/fit/layer_statistics.h"
#include "halftone/compress/fit/value_sample.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/unfolding.h"
#include "halftone/numerics/distortion.h"
#include "halftone/runtime/execute/stream.h"
#include "halftone/spmd/devices.h"

namespace halftone::compress {

/// A value of the float network and its twin in the quantized one, in the same graph.
struct ValuePair {
  ir::ValueId original;
  ir::ValueId actual;
};

/// Asks questions about values of a graph. The answers come from streaming the calibration data
/// through the part of the graph that computes these values, on devices. That part begins at the
/// border that keep_border() was given last, where it can. Memory: the border; per device, one
/// batch and log2(batches) + 1 times the answer.
class Calibration {
 public:
  /// `data` must outlive this.
  /// @param devices     as in runtime::StreamOptions; no answer depends on how many there are
  /// @param max_bytes   memory for borders in this process; no answer depends on it. Batches that
  ///                    do not fit start from the network's inputs. None: a quarter of the memory
  ///                    that is available now, or 1 GiB if that is unknown.
  explicit Calibration(const data::Dataset& data, spmd::Devices devices = {},
                       std::optional<std::uint64_t> max_bytes = std::nullopt);

  /// Computes values for all samples, from the border before, and keeps them instead of it. Two
  /// borders exist at a time, so each gets half of the memory. Keeps the old border if a value has
  /// no batch as its first extent.
  /// @param values  which later questions depend on, and which do not change until forget_border()
  void keep_border(const ir::Graph& graph, std::vector<ir::ValueId> values);
  void forget_border() { border_ = {}; }

  /// Pairs of single values.
  /// @param most  pairs to keep at most
  [[nodiscard]] ValueSample sample(const ir::Graph& graph, ValuePair pair, std::size_t most,
                                   std::uint64_t seed, const ProgressSink& progress) const;
  /// Second moments of the rows that a layer multiplies, one for each group of its outputs; the
  /// twin's values are first brought to the nearest level of `encoding`, if there is one.
  [[nodiscard]] std::vector<LayerStatistics> statistics(const ir::Graph& graph, ValuePair pair,
                                                        const ir::Unfolding& unfolding,
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
  [[nodiscard]] runtime::Stream stream(const ir::Graph& graph, std::span<const ir::ValueId> values,
                                       const ProgressSink& progress, std::size_t samples) const;
  [[nodiscard]] runtime::Stream stream(const ir::Graph& graph, std::span<const ValuePair> pairs,
                                       const ProgressSink& progress) const;

  const data::Dataset& data_;
  spmd::Devices devices_;
  std::uint64_t max_bytes_;
  Border border_;
};

}  // namespace halftone::compress
