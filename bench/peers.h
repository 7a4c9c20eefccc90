// SPDX-License-Identifier: Apache-2.0
// Layers with other libraries. bench/peers.md describes the methods and what the time includes.
#pragma once

#include <string>

#include "bench/layers.h"

namespace halftone::bench {

/// oneDNN's inner product with the fastest of three layouts of the weights: the one it prefers,
/// row-major, column-major.
Prepared prepare_onednn_f32(const LayerShape& shape, Residence residence, int threads);
/// The same with u8 activations and s8 weights with a scale per output, to float32.
Prepared prepare_onednn_int8(const LayerShape& shape, Residence residence, int threads);

/// OpenBLAS in float32: sgemv for one row, sgemm for more.
Prepared prepare_openblas(const LayerShape& shape, Residence residence, int threads);

/// Restricts oneDNN to the instructions of the kernels' SIMD target: "AVX2", ... or "auto" for no
/// restriction. Call it before any other use of oneDNN.
void restrict_onednn(const std::string& simd);

/// "oneDNN 2.6.3, AVX2" and "OpenBLAS 0.3.21, Zen": versions, and the code paths chosen at run
/// time.
std::string describe_onednn();
std::string describe_openblas();

}  // namespace halftone::bench
