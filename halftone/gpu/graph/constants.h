// SPDX-License-Identifier: Apache-2.0
// Constants of graphs on a device.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "halftone/gpu/groups.h"
#include "halftone/gpu/programs.h"
#include "halftone/ir/tensor.h"

namespace halftone::gpu {

using SharedConstant = std::shared_ptr<const ir::Constant>;

/// Constants in the forms that kernels read, each copied to the device once. Graphs share them.
class DeviceConstants {
 public:
  /// @param programs  must outlive this
  explicit DeviceConstants(Programs& programs) : programs_(programs) {}

  [[nodiscard]] Programs& programs() const { return programs_; }
  /// The elements as float32. @throws Error as ir::to_float() and GpuDevice
  const Buffer& floats(const SharedConstant& constant);
  /// Those of a matrix [o, n] as [n, o]. @throws Error as floats()
  const Buffer& turned_floats(const SharedConstant& constant);
  /// @pre  a BlockTensor
  /// @throws Error as runtime::pack_groups() and GroupMatrix
  const GroupMatrix& groups(const SharedConstant& constant);
  /// BlockTensors one behind the other; null if their codes or scales are not of one form.
  /// @throws Error as groups()
  const GroupMatrix* joined(const std::vector<SharedConstant>& constants);
  /// Floats of several constants, each from a row of a joined matrix on. @throws Error as floats()
  const Buffer& joined_floats(const std::vector<SharedConstant>& constants,
                              const GroupMatrix& rows);

 private:
  // A constant in the key keeps its address.
  Programs& programs_;
  std::map<SharedConstant, std::unique_ptr<Buffer>> floats_;
  std::map<SharedConstant, std::unique_ptr<Buffer>> turned_;
  std::map<SharedConstant, std::unique_ptr<GroupMatrix>> groups_;
  std::map<std::vector<SharedConstant>, std::unique_ptr<GroupMatrix>> joined_;  ///< null: none
  std::map<std::vector<SharedConstant>, std::unique_ptr<Buffer>> joined_floats_;
};

}  // namespace halftone::gpu
