// SPDX-License-Identifier: Apache-2.0
// How many instructions layers of the C program take, before anything is compiled.
#pragma once

#include "halftone/export_c/pack/kernel_costs.h"
#include "halftone/export_c/scope.h"

namespace halftone::export_c {

/// Instructions that QEMU counts for a layer, compiled by GCC 12 with -O3: those of its products,
/// and of each text that it calls
///     a steps + b elements + c rounds.
/// They are no cycles. Fitted to networks of 1 to 8 bits and the cases of all operators by
/// tests/microcontrollers/fit_layer_costs.py, which says how near it is: of layers of 20,000 and
/// more instructions, half are within 5 % and nine of ten within 20 %.
double instructions(const LayerWork& work, Core core);

}  // namespace halftone::export_c
