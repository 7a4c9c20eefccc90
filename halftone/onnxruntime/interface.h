// SPDX-License-Identifier: Apache-2.0
// The part of ONNX Runtime's C interface that a library of operators needs. Its packages have no
// headers; the interface is stable: later versions append functions to a table and never move them.
// Names, numbers and signatures are those of onnxruntime_c_api.h of version 1.16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::onnxruntime {

/// Objects of ONNX Runtime, which only it looks into.
struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtValue;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;

/// Version of the interface that we ask for: ONNX Runtime 1.16 and later have it.
inline constexpr std::uint32_t kOrtVersion = 16;

/// OrtErrorCode.
enum class OrtErrorCode : int { kFail = 1, kInvalidArgument = 2, kRuntimeException = 6 };

/// ONNXTensorElementDataType, which are the numbers of onnx_pb::TensorProto::DataType.
using OrtElementType = int;
/// Of an input or output that may have any type.
inline constexpr OrtElementType kAnyType = 0;
inline constexpr OrtElementType kFloat = 1;

/// OrtCustomOpInputOutputCharacteristic.
enum class OrtPresence : int { kRequired = 0, kOptional = 1, kAnyNumber = 2 };

/// The table of functions, each at its place.
struct OrtApi {
  const void* functions[250];
};

/// OrtApiBase.
struct OrtApiBase {
  /// Null if this ONNX Runtime is older than the version.
  const OrtApi* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

/// Where a function stands in the table, with its signature: `call<GetDimensions>(api)(...)`.
template <std::size_t kPlace, typename Signature>
struct OrtFunction {
  static constexpr std::size_t place = kPlace;
  using Pointer = Signature*;
};
template <typename Function>
typename Function::Pointer function_of(const OrtApi& api) {
  return reinterpret_cast<typename Function::Pointer>(
      const_cast<void*>(api.functions[Function::place]));
}

struct OrtCustomOp;

using CreateStatus = OrtFunction<0, OrtStatus*(OrtErrorCode, const char*)>;
using GetErrorMessage = OrtFunction<2, const char*(const OrtStatus*)>;
using CreateCustomOpDomain = OrtFunction<26, OrtStatus*(const char*, OrtCustomOpDomain**)>;
using AddToDomain = OrtFunction<27, OrtStatus*(OrtCustomOpDomain*, const OrtCustomOp*)>;
using AddDomain = OrtFunction<28, OrtStatus*(OrtSessionOptions*, OrtCustomOpDomain*)>;
using GetTensorMutableData = OrtFunction<51, OrtStatus*(OrtValue*, void**)>;
using CastTypeInfoToTensorInfo =
    OrtFunction<55, OrtStatus*(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**)>;
using GetTensorElementType =
    OrtFunction<60, OrtStatus*(const OrtTensorTypeAndShapeInfo*, OrtElementType*)>;
using GetDimensionsCount =
    OrtFunction<61, OrtStatus*(const OrtTensorTypeAndShapeInfo*, std::size_t*)>;
using GetDimensions =
    OrtFunction<62, OrtStatus*(const OrtTensorTypeAndShapeInfo*, std::int64_t*, std::size_t)>;
using GetTensorTypeAndShape =
    OrtFunction<65, OrtStatus*(const OrtValue*, OrtTensorTypeAndShapeInfo**)>;
using GetFloatAttribute = OrtFunction<85, OrtStatus*(const OrtKernelInfo*, const char*, float*)>;
using GetIntAttribute =
    OrtFunction<86, OrtStatus*(const OrtKernelInfo*, const char*, std::int64_t*)>;
using GetStringAttribute =
    OrtFunction<87, OrtStatus*(const OrtKernelInfo*, const char*, char*, std::size_t*)>;
using GetInput =
    OrtFunction<90, OrtStatus*(const OrtKernelContext*, std::size_t, const OrtValue**)>;
using GetOutput = OrtFunction<91, OrtStatus*(OrtKernelContext*, std::size_t, const std::int64_t*,
                                             std::size_t, OrtValue**)>;
using ReleaseStatus = OrtFunction<93, void(OrtStatus*)>;
using ReleaseTensorTypeAndShapeInfo = OrtFunction<99, void(OrtTensorTypeAndShapeInfo*)>;
using GetIntsAttribute =
    OrtFunction<163, OrtStatus*(const OrtKernelInfo*, const char*, std::int64_t*, std::size_t*)>;
using GetInputCount = OrtFunction<230, OrtStatus*(const OrtKernelInfo*, std::size_t*)>;
using GetInputName =
    OrtFunction<232, OrtStatus*(const OrtKernelInfo*, std::size_t, char*, std::size_t*)>;
using HasSessionConfigEntry =
    OrtFunction<237, OrtStatus*(const OrtSessionOptions*, const char*, int*)>;
using GetSessionConfigEntry =
    OrtFunction<238, OrtStatus*(const OrtSessionOptions*, const char*, char*, std::size_t*)>;
using GetNodeName = OrtFunction<244, OrtStatus*(const OrtKernelInfo*, char*, std::size_t*)>;
using GetConstantInput =
    OrtFunction<249, OrtStatus*(const OrtKernelInfo*, std::size_t, int*, const OrtValue**)>;

/// An operator as ONNX Runtime asks for it, up to what version 16 has.
struct OrtCustomOp {
  std::uint32_t version = kOrtVersion;
  void* (*create_kernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*) = nullptr;
  const char* (*get_name)(const OrtCustomOp*) = nullptr;
  const char* (*get_execution_provider)(const OrtCustomOp*) = nullptr;  ///< null: the processor
  OrtElementType (*get_input_type)(const OrtCustomOp*, std::size_t) = nullptr;
  std::size_t (*get_input_count)(const OrtCustomOp*) = nullptr;
  OrtElementType (*get_output_type)(const OrtCustomOp*, std::size_t) = nullptr;
  std::size_t (*get_output_count)(const OrtCustomOp*) = nullptr;
  void (*compute)(void*, OrtKernelContext*) = nullptr;
  void (*destroy_kernel)(void*) = nullptr;
  OrtPresence (*get_input_presence)(const OrtCustomOp*, std::size_t) = nullptr;
  OrtPresence (*get_output_presence)(const OrtCustomOp*, std::size_t) = nullptr;
  int (*get_input_memory)(const OrtCustomOp*, std::size_t) = nullptr;
  int (*get_variadic_input_min)(const OrtCustomOp*) = nullptr;
  int (*get_variadic_input_same)(const OrtCustomOp*) = nullptr;
  int (*get_variadic_output_min)(const OrtCustomOp*) = nullptr;
  int (*get_variadic_output_same)(const OrtCustomOp*) = nullptr;
  OrtStatus* (*create_kernel_or_fail)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*,
                                      void**) = nullptr;
  OrtStatus* (*compute_or_fail)(void*, OrtKernelContext*) = nullptr;
};

}  // namespace halftone::onnxruntime
