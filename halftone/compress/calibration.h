// SPDX-License-Identifier: Apache-2.0
// Statistics of a network's values on the calibration data, as the fits need them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/cut.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/fit/layer_statistics.h"
#include "halftone/compress/fit/range.h"
#include "halftone/compress/fit/value_sample.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/unfolding.h"
#include "halftone/numerics/distortion.h"
#include "halftone/runtime/execute/stream.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::compress {

/// A value of the float network and its counterpart in the quantized one, in the same graph.
struct ValuePair {
  ir::ValueId original;
  ir::ValueId actual;
};

/// The input of a layer, as rows that its weights multiply.
struct LayerInput {
  ValuePair pair;
  ir::Unfolding unfolding;
  /// If not null, the counterpart's values are first rounded to its nearest level.
  const numerics::MatrixEncoding* encoding = nullptr;
  /// The layer, if its unfolding depends on the extents of samples.
  std::optional<ir::NodeId> layer{};
};

/// How large a value is in each sample. Samples that are computed in one run, and cannot be told
/// apart, have the same numbers.
struct SampleSizes {
  std::vector<float> mean_square;         ///< of the finite elements
  std::vector<float> peak;                ///< the largest square of them
  std::vector<std::uint8_t> is_finite;    ///< whether all elements are
  std::vector<std::uint8_t> is_infinite;  ///< whether an element is
  std::vector<std::uint8_t> is_bytes;     ///< whether all elements are whole numbers from 0 to 255
};

/// The elements of two values, [samples, ...] each.
struct CollectedValues {
  std::array<std::vector<float>, 2> elements;
  std::size_t samples = 0;
};

/// The number of samples per run that calibrates a network: 64, or 1 if the first extent of an
/// input or output of a layer is not the batch, so that samples in a run cannot be told apart. (A
/// network without symbolic batch takes as many as it fixes.)
std::size_t calibration_batch(const ir::Graph& graph, std::span<const ir::NodeId> layers);

/// Computes statistics of values of a graph. It streams the calibration data through the part of
/// the graph that computes these values, on devices. If possible, that part begins at the cut
/// of the last keep_cut(). Memory: the cut; per device, one batch and log2(batches) + 1
/// copies of the result.
///
/// Samples of several sizes are streamed size by size, through the same graph with other extents
/// (runtime::StreamPart); statistics are sums over all of them.
///
/// Values must be finite, or it fails with kFormat. Of data with_gaps(), elements that are not, and
/// the rows of a layer's input that have one, are left out.
class Calibration {
 public:
  /// `data` must outlive this.
  /// @param batch       samples per run, as calibration_batch(); on it depends the order of sums
  /// @param devices     as in runtime::StreamOptions; no result depends on their number
  /// @param max_bytes   memory for cuts in this process; no result depends on it. Batches that
  ///                    do not fit start from the network's inputs. nullopt: a quarter of the
  ///                    memory that is available now, or 1 GiB if that is unknown.
  /// @param resize      gives graphs the extents of samples; empty: they have one size
  explicit Calibration(const data::Dataset& data, std::size_t batch, spmd::Devices devices = {},
                       std::optional<std::uint64_t> max_bytes = std::nullopt, Resize resize = {});

  /// Computes values for all samples from the old cut and replaces that cut by them. Both
  /// cuts are in memory meanwhile, so each gets half of it. Keeps the old cut if samples
  /// cannot be told apart in a value.
  /// @param values  the values that later statistics depend on; must not change until
  ///                forget_cut()
  void keep_cut(const ir::Graph& graph, std::vector<ir::ValueId> values);
  void forget_cut() { cut_ = {}; }

  /// A sample of pairs of elements.
  /// @param most  maximum number of pairs
  [[nodiscard]] ValueSample sample(const ir::Graph& graph, ValuePair pair, std::size_t most,
                                   std::uint64_t seed, const ProgressSink& progress) const;
  /// What calibrators need of some float values, in one pass over the data. Memory: 32 KiB for each
  /// value and device, for any number of samples.
  /// @param momentum  of the moving averages, over the runs in the order of samples
  /// @return          one for each value, the same on all ranks
  /// @throws Error    kFormat if an element is NaN or infinite
  [[nodiscard]] std::vector<ValueStatistics> ranges(const ir::Graph& graph,
                                                    std::span<const ir::ValueId> values,
                                                    double momentum,
                                                    const ProgressSink& progress) const;
  /// How large float values are in each sample; one for each value, the same on all ranks.
  [[nodiscard]] std::vector<SampleSizes> sizes(const ir::Graph& graph,
                                               std::span<const ir::ValueId> values) const;
  /// Second moments of the rows that a layer multiplies, one for each group of its outputs. Of many
  /// rows, a sample counts.
  /// @param most  maximum number of rows
  [[nodiscard]] std::vector<LayerStatistics> statistics(const ir::Graph& graph,
                                                        const LayerInput& input, std::size_t most,
                                                        std::uint64_t seed,
                                                        const ProgressSink& progress) const;
  /// Distortion of the counterparts relative to the originals, in the arithmetic of each layer:
  /// what a file of the graph computes.
  [[nodiscard]] std::vector<numerics::Distortion> distortions(const ir::Graph& graph,
                                                              std::span<const ValuePair> pairs,
                                                              const ProgressSink& progress) const;

  /// Counts how often each row of a table is looked up.
  /// @param indices  int32 or int64 value of the float network; negative indices count from the
  ///                 end
  /// @return         [rows]
  [[nodiscard]] std::vector<std::size_t> uses(const ir::Graph& graph, ir::ValueId indices,
                                              std::size_t rows, const ProgressSink& progress) const;
  /// Two values for the first samples that have the extents of the graph. Of data with_gaps(), a
  /// sample that has one is left out.
  [[nodiscard]] CollectedValues collect(const ir::Graph& graph, std::array<ir::ValueId, 2> values,
                                        std::size_t samples) const;
  [[nodiscard]] std::size_t num_samples() const { return data_.size(); }
  [[nodiscard]] const spmd::Devices& devices() const { return devices_; }

 private:
  /// How layers with codes are computed.
  enum class LayerValues {
    kFitted,   ///< without 8-bit integers: what fits look at
    kAsFiles,  ///< in their arithmetic, from the network's inputs on
  };
  [[nodiscard]] runtime::Stream stream(const ir::Graph& graph, std::span<const ir::ValueId> values,
                                       const ProgressSink& progress, std::size_t samples,
                                       LayerValues computed = LayerValues::kFitted) const;
  /// The part of the graph that computes some values, from the cut on if possible.
  void narrow(runtime::StreamPart& part, std::span<const ir::ValueId> values, bool from_cut) const;
  /// The samples that have the extents of a graph; null if there are none.
  [[nodiscard]] const data::Dataset* samples_like(const ir::Graph& graph) const;
  [[nodiscard]] runtime::Stream stream(std::vector<runtime::StreamPart> parts,
                                       const ProgressSink& progress, LayerValues computed,
                                       bool whole_runs) const;
  /// By size of samples: how a layer reads its input.
  [[nodiscard]] std::vector<ir::Unfolding> unfoldings(const ir::Graph& graph,
                                                      const LayerInput& input) const;
  [[nodiscard]] runtime::Stream stream(const ir::Graph& graph, std::span<const ValuePair> pairs,
                                       const ProgressSink& progress,
                                       LayerValues computed = LayerValues::kFitted) const;
  void check_finite(std::span<const float> values, const ir::Value& value) const;

  const data::Dataset& data_;
  std::size_t batch_;
  spmd::Devices devices_;
  std::uint64_t max_bytes_;
  Resize resize_;
  Cut cut_;
};

}  // namespace halftone::compress
