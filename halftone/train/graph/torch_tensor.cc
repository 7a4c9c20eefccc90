// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_tensor.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "halftone/base/error.h"

namespace halftone::train {

at::ScalarType scalar_type(ir::ElementType element) {
  switch (element) {
    case ir::ElementType::kFloat32:
      return at::kFloat;
    case ir::ElementType::kInt8:
      return at::kChar;
    case ir::ElementType::kUint8:
      return at::kByte;
    case ir::ElementType::kInt32:
    case ir::ElementType::kUint32:
      return at::kInt;
    case ir::ElementType::kInt64:
    case ir::ElementType::kUint64:
      return at::kLong;
    case ir::ElementType::kBool:
      return at::kBool;
    case ir::ElementType::kInt16:
    case ir::ElementType::kUint16:
      return at::kShort;
    case ir::ElementType::kFloat64:
      return at::kDouble;
    case ir::ElementType::kFloat16:
      return at::kHalf;
    case ir::ElementType::kBfloat16:
      return at::kBFloat16;
  }
  fail(ErrorKind::kInternal, "unknown element type");
}

at::Tensor to_torch(const ir::Tensor& tensor) {
  const auto dims = tensor.shape().dims();
  at::Tensor result = at::empty(at::IntArrayRef(dims.data(), dims.size()),
                                at::TensorOptions(scalar_type(tensor.element())));
  const std::size_t bytes = tensor.size() * ir::size_bytes(tensor.element());
  if (bytes != 0) std::memcpy(result.data_ptr(), tensor.bytes().data(), bytes);
  return result;
}

ir::Tensor to_ir(const at::Tensor& tensor, ir::ElementType element) {
  const at::ScalarType wanted = scalar_type(element);
  const bool both_real = wanted == at::kFloat && tensor.is_floating_point();
  if (tensor.scalar_type() != wanted && !both_real) {
    fail(ErrorKind::kShape, "expected elements of " + std::string(at::toString(wanted)) +
                                ", found " + at::toString(tensor.scalar_type()));
  }
  const at::Tensor plain = tensor.detach().to(at::kCPU, wanted).contiguous();
  const auto sizes = plain.sizes();
  ir::Tensor result(element, ir::Shape(std::vector<ir::Dim>(sizes.begin(), sizes.end())));
  const std::size_t bytes = result.size() * ir::size_bytes(element);
  if (bytes != 0) std::memcpy(result.bytes().data(), plain.data_ptr(), bytes);
  return result;
}

}  // namespace halftone::train
