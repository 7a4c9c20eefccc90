// SPDX-License-Identifier: Apache-2.0
// Tensors and element types as ONNX stores them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/ir/tensor.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// The first `needed` bytes of a tensor's external data.
using ReadExternal =
    std::function<std::vector<std::byte>(const onnx_pb::TensorProto& tensor, std::size_t needed)>;

/// "float16" or "data type 99".
std::string data_type_name(std::int32_t data_type);

/// The element type that holds every value of an ONNX type up to the precision of float32; none for
/// strings, complex numbers and floats of eight bits.
std::optional<ir::ElementType> element_of(std::int32_t data_type);

/// The ONNX type of an element type.
std::int32_t data_type_of(ir::ElementType element);

/// The numbers of a tensor, whichever of its fields they lie in.
/// @throws Error kFormat if the data do not match the extents, kUnsupported for other types, and
///         what `external` throws
ir::Tensor decode_tensor(const onnx_pb::TensorProto& proto, const ReadExternal& external);

/// A tensor without a name, its elements as raw little-endian bytes.
onnx_pb::TensorProto encode_tensor(const ir::Tensor& tensor);

/// Float32 numbers as FLOAT16 where every one of them is exactly a binary16, else as FLOAT.
onnx_pb::TensorProto encode_compact(const ir::Tensor& tensor);

}  // namespace halftone::formats::onnx
