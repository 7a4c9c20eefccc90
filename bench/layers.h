// SPDX-License-Identifier: Apache-2.0
// Layers and networks as users run them: a graph, a plan and a session.
#pragma once

#include <cstddef>

#include "bench/case.h"
#include "bench/onnx_runtime.h"

namespace halftone::bench {

/// y [m, o] = x [m, n] w [o, n]^T.
struct LayerShape {
  std::size_t m = 1;
  std::size_t n = 0;
  std::size_t o = 0;
};

/// Where the weights are when a run begins.
enum class Residence {
  kHot,   ///< where the previous run left them
  kCold,  ///< in memory: runs take turns among copies that together exceed the last cache four
          ///< times
};
/// The number of copies of the weights that makes runs cold, or 1.
std::size_t num_copies(Residence residence, std::size_t weight_bytes);

/// Number formats of a layer; 0 bits mean float32.
struct LayerFormat {
  int weight_bits = 0;
  int input_bits = 0;     ///< of the basis the float32 input is encoded in, inside the run
  std::size_t group = 0;  ///< inputs that share a basis; 0: all inputs of an output
};

/// A fully connected layer with random weights, bases and offsets.
Prepared prepare_layer(const LayerShape& shape, const LayerFormat& format, Residence residence,
                       int threads);

/// 784-700-10 with tanh and a final softmax. Weights and inputs of both layers have `bits` bits
/// with offsets; 0 bits mean float32.
Prepared prepare_network(int bits, std::size_t batch, int threads);

/// The network in float32 on ONNX Runtime, or as that quantizes it.
Prepared prepare_network_peer(OnnxRuntimeFormat format, std::size_t batch, int threads);

/// One sample of a network file.
/// @throws Error as load() and prepared()
Prepared prepare_file(const std::string& file, int threads);

/// The same network with `bits` bits on PlainNetwork, image by image, on one thread.
Prepared prepare_plain_network(int bits, std::size_t batch);

}  // namespace halftone::bench
