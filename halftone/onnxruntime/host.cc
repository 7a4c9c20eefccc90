// SPDX-License-Identifier: Apache-2.0
#include "halftone/onnxruntime/host.h"

#include "halftone/base/error.h"
#include "onnx.pb.h"

namespace halftone::onnxruntime {
namespace {

/// Bytes of an element. @throws Error kUnsupported
std::size_t element_bytes(OrtElementType type) {
  using onnx_pb::TensorProto;
  switch (type) {
    case TensorProto::BOOL:
    case TensorProto::INT8:
    case TensorProto::UINT8:
      return 1;
    case TensorProto::BFLOAT16:
    case TensorProto::FLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return 2;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 4;
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return 8;
    default:
      fail(ErrorKind::kUnsupported, "elements of ONNX's type " + std::to_string(type) +
                                        ": expected numbers of 8 to 64 bits");
  }
}

}  // namespace

void Host::check(OrtStatus* status) const {
  if (status == nullptr) return;
  const std::string message = function_of<GetErrorMessage>(*api_)(status);
  function_of<ReleaseStatus> (*api_)(status);
  fail(ErrorKind::kUsage, message);
}

bool Host::forget(OrtStatus* status) const {
  if (status == nullptr) return true;
  function_of<ReleaseStatus> (*api_)(status);
  return false;
}

OrtStatus* Host::status(OrtErrorCode code, const std::string& message) const {
  return function_of<CreateStatus>(*api_)(code, message.c_str());
}

HostTensor Host::tensor(const OrtValue* value) const {
  OrtTensorTypeAndShapeInfo* owned = nullptr;
  call<GetTensorTypeAndShape>(value, &owned);
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
      owned, function_of<ReleaseTensorTypeAndShapeInfo>(*api_));
  HostTensor result;
  call<GetTensorElementType>(info.get(), &result.type);
  std::size_t rank = 0;
  call<GetDimensionsCount>(info.get(), &rank);
  result.extents.resize(rank);
  call<GetDimensions>(info.get(), result.extents.data(), rank);
  std::size_t bytes = element_bytes(result.type);
  for (const std::int64_t extent : result.extents) bytes *= static_cast<std::size_t>(extent);
  void* data = nullptr;
  // The function gives memory to write, but what is an input is only read here.
  call<GetTensorMutableData>(const_cast<OrtValue*>(value), &data);
  result.bytes = {static_cast<std::byte*>(data), bytes};
  return result;
}

}  // namespace halftone::onnxruntime
