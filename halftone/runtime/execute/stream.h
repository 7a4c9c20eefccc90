// SPDX-License-Identifier: Apache-2.0
// A graph over many samples: the one loop of calibration and evaluation.
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
#include "halftone/spmd/map.h"

namespace halftone::runtime {

struct StreamOptions {
  std::size_t num_samples = 0;
  std::size_t batch = 64;  ///< samples per run; a graph without symbolic batch goes by its own
  ProgressSink progress = nullptr;  ///< may be empty
  bool int8_activations = true;     ///< as in PlanOptions
  /// Where batches run; none: on as many emulated ones as parallel_for() may use threads.
  spmd::Devices devices{};
  FloatOrder float_order = FloatOrder::kFastest;  ///< as in PlanOptions
};

/// Writes samples [first, first + count) of a graph input, in row-major order; what an input of
/// integers takes, such as the tokens of a text, as float32 too. Called from several threads.
using FillInput = std::function<void(std::size_t first, std::size_t count, std::size_t input,
                                     std::span<float> values)>;

/// A graph with the same outputs that starts from values that are kept, not from the network's
/// inputs.
struct Shortcut {
  ir::Graph graph;
  /// The inputs of that graph for a batch, [count, ...] each; empty if they are not kept here, and
  /// the batch starts from the network's inputs. Called from several threads.
  std::function<std::vector<const ir::Tensor*>(std::size_t batch)> inputs;
};

/// The outputs of a graph for samples [first, first + count): one tensor per output, whose first
/// extent is count.
struct Batch {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<ir::Tensor> outputs;
};

/// Runs a graph over samples, a batch in each lane of a spmd::spread() over devices, on one thread.
/// What is made of the batches is the same, bit for bit, however many devices and ranks there are;
/// on each rank only the samples of its own lanes are filled in. At most as many batches as devices
/// are in memory, beside what is made of them. The last batch is filled up with zeros and cut, so a
/// sample's result does not depend on it being in the last one.
///
/// A graph without symbolic batch runs with the first extent of its inputs as the batch.
class Stream {
 public:
  /// @throws Error kUnsupported if an input or output has no batch as its first extent; kUsage if
  ///         batch is 0; kFormat if there are no samples; else as make_plan()
  Stream(const ir::Graph& graph, StreamOptions options, FillInput fill,
         std::optional<Shortcut> shortcut = std::nullopt);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Samples of each batch but the last.
  [[nodiscard]] std::size_t batch_size() const;
  [[nodiscard]] std::size_t num_batches() const;

  /// The sum over all batches, as spmd::spread_sum() has it, of a tree of arrays.
  /// @param statistics  statistics(batch), called from several threads
  /// @throws Error kFormat if an input of integers is given others, or such from 2^24 on; what
  ///         `fill` and `statistics` throw, with the number of the batch, of the first that does
  template <typename F>
  auto sum(const F& statistics) const {
    auto total = spmd::spread_sum([&] { return statistics(run_batch()); }, map_options())();
    finish();
    return total;
  }

  /// Runs those batches of this process that are wanted, and shows each to `visit`.
  /// @param is_wanted  asked once for each batch, by its number, from several threads
  /// @param visit      called from several threads
  /// @throws Error as sum()
  void visit(const std::function<bool(std::size_t batch)>& is_wanted,
             const std::function<void(std::size_t batch, Batch)>& visit) const;

  /// Numbers of all batches, one after another in the order of samples: several lists of them.
  /// @param lists    how many
  /// @param most     as many numbers of a batch, and of a list, at most
  /// @param numbers  numbers(batch), the lists, called from several threads
  /// @throws Error as sum()
  [[nodiscard]] std::vector<std::vector<float>> collect(
      std::size_t lists, std::size_t most,
      const std::function<std::vector<std::vector<float>>(const Batch&)>& numbers) const;

 private:
  class State;
  /// Of the lane that asks.
  [[nodiscard]] Batch run_batch() const;
  [[nodiscard]] spmd::MapOptions map_options() const;
  void finish() const;

  std::unique_ptr<State> state_;
};

}  // namespace halftone::runtime
