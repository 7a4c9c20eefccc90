// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/constants.h"

#include <algorithm>

#include "halftone/gpu/launches.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::gpu {
namespace {

/// A BlockTensor. The rows of experts follow each other.
kernels::PackedGroups packed(const ir::Constant& constant) {
  ir::BlockTensor blocks = std::get<ir::BlockTensor>(constant);
  const ir::Dim cols = blocks.shape.back();
  const auto count = static_cast<ir::Dim>(blocks.shape.element_count());
  blocks.shape = {cols == 0 ? 0 : count / cols, cols};
  return runtime::pack_groups(blocks, 1);
}

}  // namespace

const Buffer& DeviceConstants::floats(const SharedConstant& constant) {
  std::unique_ptr<Buffer>& buffer = floats_[constant];
  if (buffer == nullptr) {
    const ir::Tensor tensor = ir::to_float(*constant);
    buffer = upload(programs_.device(), tensor.as<float>());
  }
  return *buffer;
}

const Buffer& DeviceConstants::turned_floats(const SharedConstant& constant) {
  std::unique_ptr<Buffer>& buffer = turned_[constant];
  if (buffer == nullptr) {
    const ir::Tensor tensor = ir::to_float(*constant);
    const auto [rows, cols] = ir::matrix_extent(tensor.shape());
    const auto w = tensor.as<float>();
    std::vector<float> turned(w.size());
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) turned[c * rows + r] = w[r * cols + c];
    }
    buffer = upload(programs_.device(), std::span<const float>(turned));
  }
  return *buffer;
}

const GroupMatrix& DeviceConstants::groups(const SharedConstant& constant) {
  std::unique_ptr<GroupMatrix>& matrix = groups_[constant];
  if (matrix == nullptr) {
    matrix = std::make_unique<GroupMatrix>(programs_, packed(*constant));
    ir::release_pages(*constant);
  }
  return *matrix;
}

const GroupMatrix* DeviceConstants::joined(const std::vector<SharedConstant>& constants) {
  const auto found = joined_.find(constants);
  if (found != joined_.end()) return found->second.get();
  std::vector<kernels::PackedGroups> parts;
  bool can_join = true;
  for (const SharedConstant& each : constants) {
    parts.push_back(packed(*each));
    ir::release_pages(*each);
    can_join = can_join && GroupMatrix::can_join(parts.front(), parts.back());
  }
  std::unique_ptr<GroupMatrix>& matrix = joined_[constants];
  if (can_join) {
    matrix = std::make_unique<GroupMatrix>(programs_, parts);
  } else {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      groups_[constants[i]] = std::make_unique<GroupMatrix>(programs_, parts[i]);
    }
  }
  return matrix.get();
}

const Buffer& DeviceConstants::joined_floats(const std::vector<SharedConstant>& constants,
                                             const GroupMatrix& rows) {
  std::unique_ptr<Buffer>& buffer = joined_floats_[constants];
  if (buffer == nullptr) {
    std::vector<float> floats(rows.rows());
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const ir::Tensor tensor = ir::to_float(*constants[i]);
      std::ranges::copy(tensor.as<float>(),
                        floats.begin() + static_cast<std::ptrdiff_t>(rows.first_row(i)));
    }
    buffer = upload(programs_.device(), std::span<const float>(floats));
  }
  return *buffer;
}

}  // namespace halftone::gpu
