// SPDX-License-Identifier: Apache-2.0
// Numbers of Halftone's systems in the number types of ONNX.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halftone/formats/onnx/quantized_weight.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

/// The system of floats of ONNX, of up to eight bits, that has these codes; null if none has.
const numerics::NumberSystem* standard_floats(const numerics::Codebook& codebook);

/// Levels as multiples of a power of two: level[code] = step numbers[code].
struct Multiples {
  std::vector<int> numbers;
  float step = 1;
};
/// With the largest step from 1 to 2^-8; nothing if some multiple is beyond 255.
std::optional<Multiples> multiples_of(const numerics::Codebook& codebook);

/// The offset of a block in steps below zero, if it is a whole number of them.
std::optional<int> zero_point(const numerics::MatrixEncoding& encoding, std::size_t block,
                              float step);

/// Weights in the types of DequantizeLinear or MatMulNBits, or the reason why there are none.
struct StandardWeight {
  std::optional<QuantizedWeight> weight;
  std::string reason;
};
/// @param for_nbits  for MatMulNBits: integers have 2, 4 or 8 bits, and zero points may be floats;
///                   else they have 4 or 8 bits
StandardWeight standard_weight(const ir::EncodedTensor& weights, bool for_nbits);

}  // namespace halftone::formats::onnx
