// SPDX-License-Identifier: Apache-2.0
// A graph on a device, for a number of rows.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/gpu/graph/constants.h"
#include "halftone/gpu/graph/uses.h"
#include "halftone/gpu/graph/value_memory.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/sequence/sequence.h"

namespace halftone::gpu {

/// Why a device cannot run a graph: its operators that no kernel computes, each once;
/// empty if it can.
std::string unsupported_on_device(const ir::Graph& graph);

/// The states of a graph on a device: caches of attention, which runs of any rows share.
class DeviceStates {
 public:
  /// @pre  unsupported_on_device() is empty
  /// @throws Error as GpuDevice
  DeviceStates(GpuDevice& device, const ir::Graph& graph);
  /// The cache behind a run. @param after  of a state
  [[nodiscard]] const Buffer& cache(ir::ValueId after) const { return *caches_.at(after); }
  [[nodiscard]] std::size_t size_bytes() const;

 private:
  std::map<ir::ValueId, std::unique_ptr<Buffer>> caches_;
};

/// The launches that compute a graph, made once for a number of rows and repeated. The bits are
/// those of a runtime::Plan with FloatOrder::kFixed.
class GraphLaunches {
 public:
  /// @param graph   must outlive this; unsupported_on_device() is empty
  /// @param rows    the batch
  /// @param states  must outlive this; null if the graph has none
  /// @throws Error as GpuDevice
  GraphLaunches(const ir::Graph& graph, std::size_t rows, DeviceConstants& constants,
                const DeviceStates* states);

  /// Memory of input `index` without the states, to be written before run().
  [[nodiscard]] Buffer& input(std::size_t index) { return *inputs_[index]; }
  /// Memory of the first output.
  [[nodiscard]] const Buffer& output() const;
  /// All launches, in order.
  [[nodiscard]] std::span<const Launch> launches() const { return launches_; }
  /// Adds all launches to the queue. @throws Error as GpuDevice
  void run();

 private:
  friend class NodeLaunches;
  friend class StepLaunches;
  /// Columns of joined outputs.
  struct Within {
    std::size_t begin = 0;
    std::size_t stride = 0;
  };
  /// Encoded rows of these extents, and the value that they are of at this launch.
  struct Encoded {
    std::unique_ptr<GroupInputs> rows;
    ir::ValueId of = ir::kAbsent;
  };
  using EncodedKey = std::array<std::size_t, 4>;  ///< columns, encoding, piece, rows

  [[nodiscard]] Programs& programs() const { return constants_.programs(); }
  [[nodiscard]] ir::Shape shape_of(ir::ValueId value) const {
    return graph_.value(value).type.shape.with_batch(rows_);
  }
  /// Floats of a value, computed or constant.
  const Buffer& floats_of(ir::ValueId value);
  /// Memory for the rows of these extents.
  Encoded& encoded(std::size_t rows, const kernels::GroupExtents& extents);
  /// A value as the input of a product; adds a launch that encodes it, if one is needed.
  ProductInput product_input(ir::ValueId value, const kernels::GroupExtents& extents);

  const ir::Graph& graph_;
  std::size_t rows_;
  DeviceConstants& constants_;
  const DeviceStates* states_;
  Uses uses_;
  ValueMemory memory_;
  std::vector<std::unique_ptr<Buffer>> inputs_;
  std::map<EncodedKey, Encoded> encoded_;
  std::map<ir::ValueId, Within> within_;         ///< outputs that lie side by side
  std::map<ir::NodeId, const Buffer*> queries_;  ///< placed ones, by attention
  std::vector<Launch> launches_;
  std::unique_ptr<Replay> replay_;  ///< of these, from the first run on
};

}  // namespace halftone::gpu
