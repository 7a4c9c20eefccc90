// SPDX-License-Identifier: Apache-2.0
// Weights with operators of ONNX: uneven levels as tables that runtimes compute once, when they
// load, and codes as they are stored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halftone/formats/onnx/quantized_weight.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

/// Why weights cannot be looked up; empty if they can.
std::string why_no_table(const ir::EncodedTensor& weights);

/// Bits that the nodes of add_table() read.
std::size_t table_bits(const ir::EncodedTensor& weights);

/// Adds constants and nodes that compute ir::to_float(weights) exactly. Codes are stored in fields
/// of 1, 2, 4 or 8 bits, the shortest that holds them: with 8 / F fields of F bits in a byte,
///
///     codes = (bytes[:, None] >> [0, F, ..., 8 - F]) & (2^F - 1)      BitShift, BitwiseAnd
///     blocks without a codebook: values = table[block, code]          GatherElements
///     with one:                  values = levels[code] scale + offset Gather, Mul, Add
/// @param name  begins the names
/// @pre why_no_table(weights) is empty
ir::ValueId add_table(ir::Graph& graph, const std::string& name, const ir::EncodedTensor& weights);

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
