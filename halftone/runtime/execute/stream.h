// SPDX-License-Identifier: Apache-2.0
// Runs a graph over many samples, for calibration and evaluation.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/spmd/map.hpp"

namespace halftone::runtime {

struct StreamOptions {
  std::size_t num_samples = 0;
  std::size_t batch = 64;           ///< samples per run; a fixed batch of the graph overrides it
  ProgressSink progress = nullptr;  ///< may be empty
  /// Devices for batches; if empty, one emulated device per thread of parallel_for().
  spmd::Devices devices{};
  ExecutionOptions execution{};
  /// Samples per run of a graph without symbolic batch; nullopt: as ir::fixed_batch().
  std::optional<std::size_t> fixed_batch{};
  /// By input: the axis along which samples lie. Empty: the symbolic one, or the first.
  std::vector<std::size_t> batch_axes{};
  /// Whether the last run takes samples from the beginning again instead of zeros, and no output is
  /// cut. For statistics over values whose batch axis is unknown.
  bool whole_runs = false;
};

/// Writes samples [first, first + count) of a graph input, one after another, each in row-major
/// order. Values for an integer input, such as token ids, are float32 too. Called from several
/// threads.
using FillInput = std::function<void(std::size_t first, std::size_t count, std::size_t input,
                                     std::span<float> values)>;

/// A graph with the same outputs that starts from kept values instead of the network's inputs.
struct Shortcut {
  ir::Graph graph;
  /// The inputs of that graph for a batch, [count, ...] each; empty if this process does not keep
  /// them, so that the batch starts from the network's inputs. Called from several threads.
  std::function<std::vector<const ir::Tensor*>(std::size_t batch)> inputs;
};

/// Samples of one size, for which a graph has the extents in its types.
struct StreamPart {
  ir::Graph graph;
  std::size_t num_samples = 0;
  FillInput fill;                            ///< `first` is the index of a sample in this part
  std::optional<std::size_t> fixed_batch{};  ///< as in StreamOptions
  std::vector<std::size_t> batch_axes{};     ///< as in StreamOptions
  std::optional<Shortcut> shortcut{};        ///< by number of the batch in the stream
};

/// The outputs of a graph for samples [first, first + count): one tensor per output. Its first
/// extent is count, except in whole runs and in runs of one sample.
struct Batch {
  std::size_t part = 0;   ///< of the stream
  std::size_t first = 0;  ///< counts the samples of all parts, as they follow each other
  std::size_t count = 0;
  std::size_t number = 0;  ///< of this batch in the stream
  std::size_t run = 0;     ///< of this batch in its part
  std::vector<ir::Tensor> outputs;
};

/// Runs a graph over samples, one batch per lane of a spmd::spread() over devices, on one thread
/// each. Results are the same bits for any number of devices and ranks. Each rank fills in only the
/// samples of its own lanes. Memory holds at most one batch per device, plus the results. The last
/// batch is padded with zeros and its outputs are cut, so a sample's result does not depend on its
/// batch.
///
/// If the first extent of an output is not the symbolic batch, samples run one by one.
///
/// Samples of several sizes are parts, each with a graph and a plan of its own. Batches do not mix
/// them; those of a part follow those of the part before. The plan of a part is made for its first
/// batch, and freed behind its last one.
class Stream {
 public:
  /// @throws Error kUnsupported if an output of a graph that takes several samples has no batch as
  ///         its first extent, or an input has no batch axis; kUsage if batch is 0; kFormat if
  ///         there are no samples; else as make_plan()
  Stream(const ir::Graph& graph, const StreamOptions& options, FillInput fill,
         std::optional<Shortcut> shortcut = std::nullopt);
  /// @param parts    at least one; their graphs differ in extents only
  /// @param options  its numbers of samples and batch axes are those of the parts
  /// @throws Error   as the other one
  Stream(std::vector<StreamPart> parts, StreamOptions options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] std::size_t num_parts() const;
  /// Samples per batch of a part, except its last.
  [[nodiscard]] std::size_t batch_size(std::size_t part = 0) const;
  /// Elements of an output in a whole run of a part, and in all runs of it.
  [[nodiscard]] std::size_t run_elements(std::size_t part, std::size_t output) const;
  [[nodiscard]] std::size_t all_elements(std::size_t part, std::size_t output) const;
  [[nodiscard]] std::size_t num_batches() const;

  /// Sums a tree of arrays over all batches, like spmd::spread_sum().
  /// @param statistics  statistics(batch), called from several threads
  /// @throws Error kFormat if an integer input receives a fraction or a value of 2^24 or more; also
  ///         rethrows the error of the first batch whose `fill` or `statistics` threw, with its
  ///         number
  template <typename F>
  auto sum(const F& statistics) const {
    auto total = spmd::spread_sum([&] { return statistics(run_batch()); }, map_options())();
    finish();
    return total;
  }

  /// Runs the wanted batches of this process and passes each to `visit`.
  /// @param is_wanted  is_wanted(batch number), called once per batch, from several threads
  /// @param visit      called from several threads
  /// @throws Error as sum()
  void visit(const std::function<bool(std::size_t batch)>& is_wanted,
             const std::function<void(std::size_t batch, Batch)>& visit) const;

  /// Concatenates lists of values over all batches, in the order of samples.
  /// @param lists       number of lists
  /// @param max_values  maximum number of values per batch and list
  /// @param numbers     numbers(batch) returns the lists of a batch; called from several threads
  /// @throws Error as sum()
  [[nodiscard]] std::vector<std::vector<float>> collect(
      std::size_t lists, std::size_t max_values,
      const std::function<std::vector<std::vector<float>>(const Batch&)>& numbers) const;

 private:
  class Part;
  class State;
  /// The batch of the calling lane.
  [[nodiscard]] Batch run_batch() const;
  [[nodiscard]] spmd::MapOptions map_options() const;
  void finish() const;

  std::unique_ptr<State> state_;
};

}  // namespace halftone::runtime
