// SPDX-License-Identifier: Apache-2.0
// A plain implementation of the reference algorithm, which shows the cost of a low-bit network
// without special kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::bench {

/// Encodes by binary search over thresholds and packs bits into 32-bit words. For every output and
/// pair of planes, counts the differing bits of one word after another: one popcount instruction
/// each, no vectors, one thread. Uses tanh and exp of <cmath>.
///
/// With counts D_ij = n - 2 popcount(b_i xor b'_j) and sums S_i, T_j of the planes as +-1
/// (docs/notation.md):
///
///     y = bias + c' (sum_j a_j T_j + n c) + c sum_i a'_i S_i + sum_ij a'_i a_j D_ij
class PlainNetwork {
 public:
  /// @param graph  alternating Encode and FullyConnected layers: weights with a basis per output, a
  ///         bias, tanh or no activation; then optionally Softmax
  /// @throws Error kUnsupported "NODE: expected layers of encoded inputs" for other nodes
  explicit PlainNetwork(const ir::Graph& graph);

  /// The outputs for one sample.
  void run(std::span<const float> x, std::span<float> y);

 private:
  struct Layer {
    std::vector<float> thresholds;    ///< [2^Kx - 1] ascending
    std::vector<std::uint8_t> codes;  ///< [2^Kx], of the levels between them
    std::vector<float> input_basis;   ///< [Kx] a'
    std::size_t weight_bits = 0;
    std::size_t inputs = 0;
    std::vector<std::uint32_t> weights;  ///< [o, Kw, words]
    std::vector<float> weight_bases;     ///< [o, Kw] a
    std::vector<float> weight_offsets;   ///< [o] c
    std::vector<float> constants;        ///< [o] bias + c' (sum_j a_j T_j + n c)
    bool tanh = false;

    [[nodiscard]] std::size_t words() const { return (inputs + 31) / 32; }
    [[nodiscard]] std::size_t input_bits() const { return input_basis.size(); }
    void pack(std::span<const float> x, std::vector<std::uint32_t>& planes) const;
    void multiply(std::span<const std::uint32_t> planes, std::span<float> y) const;
  };
  static Layer make_layer(const ir::Graph& graph, const ir::Node& node,
                          const numerics::Basis& input);

  std::vector<Layer> layers_;
  bool softmax_ = false;
  std::vector<std::uint32_t> planes_;       ///< [Kx, words] of the layer that runs
  std::vector<std::vector<float>> values_;  ///< outputs of each layer
};

}  // namespace halftone::bench
