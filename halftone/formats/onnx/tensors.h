// SPDX-License-Identifier: Apache-2.0
// Conversion of tensors and element types to and from ONNX.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/ir/shape.h"
#include "halftone/ir/tensor.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// The first `needed` bytes of a tensor's external data.
using ReadExternal =
    std::function<SharedBytes(const onnx_pb::TensorProto& tensor, std::size_t needed)>;

/// "float16" or "data type 99".
std::string data_type_name(std::int32_t data_type);

/// What becomes of floats of 16 bits.
enum class Halves : std::uint8_t {
  kWiden,  ///< float32
  kKeep,
};

/// The element type that represents every value of an ONNX type up to float32 precision; nullopt
/// for strings and complex numbers.
std::optional<ir::ElementType> element_of(std::int32_t data_type);

/// The ONNX type of an element type.
std::int32_t data_type_of(ir::ElementType element);

/// Reads a tensor from any of its data fields. External data in the representation of their element
/// type become a view.
/// @throws Error kFormat if the data do not match the extents; kUnsupported for other types; the
///         errors of `external`
ir::Tensor decode_tensor(const onnx_pb::TensorProto& proto, const ReadExternal& external,
                         Halves halves = Halves::kWiden);

/// Bits of an element of an integer or a float of up to eight bits; 0 for other types.
int narrow_bits(std::int32_t data_type);
/// The name of numerics::find_system() whose codes a float of up to eight bits has; empty for other
/// types.
std::string_view float_system(std::int32_t data_type);

/// The codes of floats of up to eight bits: uint8, one for each element.
/// @pre float_system(proto.data_type()) is not empty
/// @throws Error kFormat if the data do not match the extents; the errors of `external`
ir::Tensor decode_float_codes(const onnx_pb::TensorProto& proto, const ReadExternal& external);

/// The numbers of codes of floats of up to eight bits, as float32.
/// @param codes  uint8, as decode_float_codes() reads them
/// @pre float_system(data_type) is not empty
ir::Tensor numbers_of_codes(const ir::Tensor& codes, std::int32_t data_type);

/// Codes that lie packed in rows of whole bytes, the first in the lowest bits: uint8 [.., count],
/// one for each element.
/// @param bytes  uint8 [.., at least count bits / 8]
/// @param bits   1, 2, 4 or 8
/// @throws Error kShape if the rows are too short
ir::Tensor unpacked_codes(const ir::Tensor& bytes, int bits, ir::Dim count);

/// A tensor without a name of elements of up to eight bits; several share a byte, the first in its
/// lowest bits.
/// @param codes  uint8, one for each element; negative integers in two's complement
/// @pre narrow_bits(data_type) is not 0
onnx_pb::TensorProto encode_codes(const ir::Tensor& codes, std::int32_t data_type);

/// A tensor without a name, with its elements as raw little-endian bytes.
onnx_pb::TensorProto encode_tensor(const ir::Tensor& tensor);

/// A float32 tensor as FLOAT16 if every element is exact in binary16; others as they are.
onnx_pb::TensorProto encode_compact(const ir::Tensor& tensor);

/// The product of extents as one extent: a number, or a multiple of the batch.
/// @throws Error kUnsupported for a square of the batch; kShape above 2^40
ir::Dim product_of(std::span<const ir::Dim> dims);

}  // namespace halftone::formats::onnx
