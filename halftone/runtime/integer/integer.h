// SPDX-License-Identifier: Apache-2.0
// Implementations of exact 8-bit integer arithmetic and of the conversions to and from it.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// FullyConnected and Conv of int8 or uint8 with constant weights: exact 32-bit sums.
extern const Implementation kIntegerLayer;

/// Requantize.
extern const Implementation kRequantizeCodes;
/// Lookup.
extern const Implementation kLookupTable;

/// Whether create_binary_codes() takes an operator: a sum, difference or product, perhaps with an
/// activation that has limits.
bool takes_pairs(const ir::Binary& op);
/// The kernel of a Binary with its conversions from and to codes of one type.
/// @pre context.fused has them, and takes_pairs()
Kernel create_binary_codes(const NodeContext& context);

/// The kernel of a Binary of integers with the Lookups before it and the Requantize behind it: a
/// table of the results for all pairs of codes. @pre context.fused has them
Kernel create_pair_table(const NodeContext& context);

/// Pool of int8 or uint8.
extern const Implementation kPoolCodes;
/// Sums of int32 over adjacent axes.
extern const Implementation kSumIntegers;

/// QuantizeLinear with one scale for the tensor, to 8 bits.
extern const Implementation kQuantizeCodes;
/// DequantizeLinear with one scale for the tensor, or one for each index of the last axis.
extern const Implementation kDequantizeCodes;

}  // namespace halftone::runtime
