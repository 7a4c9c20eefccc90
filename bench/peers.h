// SPDX-License-Identifier: Apache-2.0
// Layers on other libraries. bench/peers.md says how, and what the time includes.
#pragma once

#include <string>

#include "bench/layers.h"

namespace halftone::bench {

/// oneDNN's inner product, weights in the fastest of three layouts: the one it asks for, row by
/// row, column by column.
Prepared prepare_onednn_f32(const LayerShape& shape, Residence residence, int threads);
/// The same of u8 activations and s8 weights with a scale per output, to float32.
Prepared prepare_onednn_int8(const LayerShape& shape, Residence residence, int threads);

/// OpenBLAS in float32: sgemv for one row, sgemm for more.
Prepared prepare_openblas(const LayerShape& shape, Residence residence, int threads);

/// Restricts oneDNN to the instructions of the kernels' SIMD target. Call it before any use of
/// oneDNN. "AVX2", ... or "auto" for no restriction.
void restrict_onednn(const std::string& simd);

/// "oneDNN 2.6.3, AVX2" and "OpenBLAS 0.3.21, Zen": versions, and what was chosen at run time.
std::string describe_onednn();
std::string describe_openblas();

}  // namespace halftone::bench
