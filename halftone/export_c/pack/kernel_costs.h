// SPDX-License-Identifier: Apache-2.0
// How many instructions the kernels of text/ take, from which layers choose one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "halftone/export_c/pack/kernel.h"

namespace halftone::export_c {

/// Processors with instructions of their own.
enum class Core : std::uint8_t {
  kM0,       ///< no shift within another instruction
  kM3,       ///< multiply and add in one instruction
  kM4,       ///< two products of 16 bits in one instruction
  kRv32,     ///< RV32IM
  kRv32Zbb,  ///< counts bits
};

/// The core of a name as in --core, such as "cortex-m4"; Cortex-M7, M33 and M55 count as M4,
/// "wasm", which counts bits too, as RV32 with Zbb.
/// @throws Error kUsage "core: expected cortex-m0, ..., found 'z80'"
Core core_named(std::string_view name);

/// The product of one output position.
struct Product {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t x_planes = 1;  ///< for kernels of bits: bit planes of the inputs
  std::size_t x_digits = 1;  ///< the same after numerics::split_digits()
  std::size_t w_planes = 1;  ///< the same of the weights
};

/// Instructions that QEMU counts for a product, of programs that GCC 12 compiled with -O3:
///     outputs (a inputs + b) + c inputs
/// times the number of products of planes for kBits, of digits for kDigits2, of digits and planes
/// for kPlanes and kSigns. They are no cycles. Fitted to the output of `microcontroller_products
/// ... costs`.
double instructions(Kernel kernel, Core core, const Product& product);

}  // namespace halftone::export_c
