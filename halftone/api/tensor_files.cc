// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/tensor_files.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/data/npy.h"

namespace halftone {
namespace {

data::NpyArray to_array(const ir::Tensor& tensor) {
  const auto dims = tensor.shape().dims();
  std::vector<std::size_t> shape(dims.begin(), dims.end());
  switch (tensor.element()) {
    case ir::ElementType::kFloat32:
      return data::make_npy(tensor.as<float>(), std::move(shape));
    case ir::ElementType::kInt8:
      return data::make_npy(tensor.as<std::int8_t>(), std::move(shape));
    case ir::ElementType::kInt32:
      return data::make_npy(tensor.as<std::int32_t>(), std::move(shape));
    case ir::ElementType::kInt64:
      return data::make_npy(tensor.as<std::int64_t>(), std::move(shape));
    case ir::ElementType::kUint8:
    case ir::ElementType::kBool:
      break;
    case ir::ElementType::kInt16:
    case ir::ElementType::kUint16:
      return to_array(tensor.cast(ir::ElementType::kInt32));
    case ir::ElementType::kUint32:
    case ir::ElementType::kUint64:
      return to_array(tensor.cast(ir::ElementType::kInt64));
    case ir::ElementType::kFloat64:
    case ir::ElementType::kFloat16:
    case ir::ElementType::kBfloat16:
      return to_array(tensor.cast(ir::ElementType::kFloat32));
  }
  return data::make_npy(tensor.as<std::uint8_t>(), std::move(shape));
}

ir::Tensor to_tensor(const data::NpyArray& array, ir::ElementType element) {
  const ir::Shape shape(std::vector<ir::Dim>(array.shape.begin(), array.shape.end()));
  if (!array.shape.empty() && array.shape[0] == 0) {
    fail(ErrorKind::kShape, "expected at least one sample, found shape " + shape.to_string());
  }
  if (element == ir::ElementType::kFloat32) return ir::Tensor::from<float>(shape, array.floats());
  return ir::Tensor::from<std::int64_t>(shape, array.integers()).cast(element);
}

}  // namespace

ir::Tensor read_tensor(const std::filesystem::path& path, ir::ElementType element) {
  const data::NpyArray array = data::read_npy(path);
  return with_context(path.string(), [&] { return to_tensor(array, element); });
}

ir::Tensor read_tensor(std::span<const std::byte> file, ir::ElementType element) {
  return to_tensor(data::parse_npy(file), element);
}

std::vector<std::byte> npy_of(const ir::Tensor& tensor) {
  return data::npy_bytes(to_array(tensor));
}

void write_tensor(const std::filesystem::path& path, const ir::Tensor& tensor) {
  data::write_npy(path, to_array(tensor));
}

void add_tensor(NewFiles& files, const std::filesystem::path& path, const ir::Tensor& tensor) {
  const data::NpyArray array = to_array(tensor);
  files.add(path, with_context(path.string(), [&] { return data::npy_source(array); }));
}

}  // namespace halftone
