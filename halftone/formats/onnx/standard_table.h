// SPDX-License-Identifier: Apache-2.0
// Weights of uneven levels with operators of ONNX that runtimes compute once, when they load.
#pragma once

#include <string>

#include "halftone/ir/graph.h"

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

}  // namespace halftone::formats::onnx
