// SPDX-License-Identifier: Apache-2.0
// Implementations of operators on integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "halftone/ir/ops/integer.h"
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/kernel.h"

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
/// The same as a function of two codes. @pre as create_binary_codes()
kernels::FloatPair float_pair(const NodeContext& context);

/// The kernel of a Binary of integers with the Lookups before it and the Requantize behind it: a
/// table of the results for all pairs of codes. @pre context.fused has them
Kernel create_pair_table(const NodeContext& context);
/// The results for all pairs of codes, ordered by their bits: row a, column b.
/// @pre as create_pair_table()
ir::Tensor pair_results(const NodeContext& context);

/// Pool of int8 or uint8.
extern const Implementation kPoolCodes;
/// Sums of int32 over adjacent axes.
extern const Implementation kSumIntegers;

/// QuantizeLinear with one scale for the tensor, to 8 bits.
extern const Implementation kQuantizeCodes;
/// DequantizeLinear with one scale for the tensor, or one for each index of the last axis.
extern const Implementation kDequantizeCodes;

/// The kernel of an elementwise operator; its body takes the memory of input and output.
template <typename Body>
Kernel code_kernel(Body body) {
  Kernel kernel;
  kernel.bind =
      [body = std::make_shared<const Body>(std::move(body))](const Buffers& buffers) -> Call {
    return [body, x = buffers.inputs[0], y = buffers.output] { (*body)(x, y); };
  };
  return kernel;
}

/// Sums of int32 to the codes of a Requantize.
class SumsToCodes {
 public:
  explicit SumsToCodes(const ir::Requantize& op);

  /// @param sums  whole rows of as many columns as the operator has multipliers
  /// @param y     [sums] codes
  void operator()(std::span<const std::int32_t> sums, std::byte* y) const;

 private:
  kernels::Requantization how_;
  bool is_signed_;
};

}  // namespace halftone::runtime
