// SPDX-License-Identifier: Apache-2.0
// Memory of the values of a graph on a device.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "halftone/gpu/driver.h"
#include "halftone/ir/graph.h"

namespace halftone::gpu {

/// Gives each value memory until its last reader is done; later values take it over. Launches of a
/// queue run in order, so that is safe. A Reshape has the memory of what it reshapes: its root.
class ValueMemory {
 public:
  /// @param graph  must outlive this
  ValueMemory(GpuDevice& device, const ir::Graph& graph);

  /// The value whose memory another one has.
  [[nodiscard]] ir::ValueId root(ir::ValueId value) const;
  /// Memory for a value, by its root. @throws Error as GpuDevice
  const Buffer& make(ir::ValueId value, std::size_t size_bytes);
  /// Memory that somebody else owns.
  void lend(ir::ValueId value, const Buffer& buffer) { lent_[root(value)] = &buffer; }
  /// @pre  made or lent
  [[nodiscard]] const Buffer& of(ir::ValueId value) const;
  /// Counts down the readers of a value after one of them.
  void read(ir::ValueId value);
  /// Memory for one launch alone, which later values may have.
  const Buffer& scratch(std::size_t size_bytes);
  /// Memory until it is released. @throws Error as GpuDevice
  const Buffer& hold(std::size_t size_bytes);
  void release(const Buffer& held);

 private:
  std::size_t take(std::size_t size_bytes);

  GpuDevice& device_;
  const ir::Graph& graph_;
  std::map<ir::ValueId, std::size_t> readers_;  ///< that are left, by root
  std::map<ir::ValueId, const Buffer*> lent_;
  std::map<const Buffer*, std::size_t> held_;
  std::map<ir::ValueId, std::size_t> taken_;  ///< index of a buffer, by root
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::multimap<std::size_t, std::size_t> free_;  ///< size in bytes, index
};

}  // namespace halftone::gpu
