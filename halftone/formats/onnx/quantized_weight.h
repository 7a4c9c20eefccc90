// SPDX-License-Identifier: Apache-2.0
// Weights of a few bits in ONNX's forms: DequantizeLinear of a constant, and MatMulNBits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/ops/encoding.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

/// A constant x = scale (number(code) - zero_point), with a scale and a zero point for each block.
/// A block has `blocks[i]` neighbours along axis i; the last block of an axis may have fewer.
struct QuantizedWeight {
  std::string name;
  /// Of the numbers of codes: a float of up to eight bits; null: integers, lowest + code.
  const numerics::NumberSystem* floats = nullptr;
  int bits = 8;             ///< of a code: 2, 4 or 8
  std::int32_t lowest = 0;  ///< integer of code 0: -2^(bits-1) if they have a sign, else 0
  ir::Shape shape;
  std::span<const std::uint8_t> bytes;  ///< byte i is first_byte + code i
  std::uint8_t first_byte = 0;          ///< of code 0: integers with a sign stay as a file has them
  std::shared_ptr<const void> owner;    ///< of the bytes
  std::vector<ir::Dim> blocks;
  ir::Tensor scales;       ///< float32, one for each block: as many axes as codes
  ir::Tensor zero_points;  ///< float32, the same shape, whole unless MatMulNBits says otherwise

  [[nodiscard]] std::size_t size() const { return bytes.size(); }
  [[nodiscard]] std::uint8_t code(std::size_t i) const {
    return static_cast<std::uint8_t>(bytes[i] - first_byte);
  }
  /// Takes the codes, uint8, and their shape.
  void set_codes(ir::Tensor codes);
  /// Extents of the scales of this shape.
  [[nodiscard]] static ir::Shape block_counts(const ir::Shape& shape,
                                              const std::vector<ir::Dim>& blocks);
};

/// The codes, uint8.
ir::Tensor codes_of(const QuantizedWeight& weight);

/// The axes in another order.
QuantizedWeight permuted(const QuantizedWeight& weight,
                         const std::vector<std::size_t>& permutation);

/// The same numbers as codes of a matrix whose rows are the first axis, in the system `int` if
/// every zero point is the middle of the integers, otherwise `affine`, or a float: nothing if the
/// blocks are not those of a numerics::Granularity. A block of scale 0 becomes zeros of another
/// scale.
std::optional<ir::EncodedTensor> encode(const QuantizedWeight& weight);

/// The numbers, float32: fl(scale fl(number - zero_point)).
ir::Tensor decode(const QuantizedWeight& weight);

/// The integers as they are, int8 or uint8, and what a DequantizeLinear does to them: nothing for
/// floats, for scales that are not above 0, and for blocks that are neither the whole tensor nor
/// slices along one axis.
struct AffineIntegers {
  ir::Tensor integers;
  ir::AffineParameters parameters;
};
std::optional<AffineIntegers> affine_integers(const QuantizedWeight& weight);

/// The inverse of encode(), for codes of `int`, `affine` or a float.
QuantizedWeight quantized_weight(const ir::EncodedTensor& weights);

/// Whether weights have groups that MatMulNBits knows: powers of two from 16 on.
bool has_nbits_groups(const numerics::MatrixEncoding& encoding);

}  // namespace halftone::formats::onnx
