// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/constants.h"

#include "halftone/gpu/launches.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::gpu {

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
    ir::BlockTensor blocks = std::get<ir::BlockTensor>(*constant);
    const ir::Dim cols = blocks.shape.back();  // the rows of experts follow each other
    const auto count = static_cast<ir::Dim>(blocks.shape.element_count());
    blocks.shape = {cols == 0 ? 0 : count / cols, cols};
    matrix = std::make_unique<GroupMatrix>(programs_, runtime::pack_groups(blocks, 1));
    ir::release_pages(*constant);
  }
  return *matrix;
}

}  // namespace halftone::gpu
