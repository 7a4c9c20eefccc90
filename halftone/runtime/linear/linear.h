// SPDX-License-Identifier: Apache-2.0
// Implementations of FullyConnected, MatMul and ExpertProduct, with their costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/tensor.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/groups/packed_groups.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// The float32 elements of a constant input; empty if the input is absent.
std::span<const float> constant_floats(const NodeContext& context, std::size_t input);

/// Refuses integers, weights or biases that are not constant, and empty layers; otherwise nothing.
std::optional<Verdict> refuse_float_layer(const NodeContext& context);

/// Encoded input and encoded constant weights: bit planes, xor and popcount.
extern const Implementation kFullyConnectedBits;
/// Encoded constant weights. A dense input is rounded to 8-bit integers in every run, with one
/// scale per row; codes arrive as integers. Multiplies them by the levels of the weights, rounded
/// to 8 bits unless they are evenly spaced.
extern const Implementation kFullyConnectedLevels;
/// Constant weights in blocks of codes, with kernels::multiply_groups().
extern const Implementation kFullyConnectedGroups;
/// Constant weights, with kernels::float_matmul(), whose order of sums is fixed. Decodes weights
/// once, and an encoded input in every run.
extern const Implementation kFullyConnectedFixed;
/// ExpertProduct with constant weights in blocks of codes, or decoded once, as the two above. Sorts
/// rows by expert and multiplies each expert with all of its rows; reads no others.
extern const Implementation kExpertGroups;
extern const Implementation kExpertFloats;
/// MatMul with kernels::float_matmul(). A constant right operand is packed once, a computed one in
/// every run unless few rows multiply it. Threads divide the products, their rows and columns.
extern const Implementation kMatMulFixed;

/// A layer [rows, inputs] x [outputs, inputs].
struct LayerExtent {
  std::size_t rows = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  int input_bits = 0;            ///< 0: float32
  int weight_bits = 0;           ///< 0: float32
  std::size_t group_inputs = 0;  ///< inputs that share a scale of the weights; 0: all of an output
  bool is_summed = true;         ///< whether bits of the weights are signs of coefficients
  std::size_t steps = 1;         ///< how often it is computed: the steps of a Recurrent
};

/// The extents of ir::work_of(). @param node  a FullyConnected or Recurrent
LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node);

/// Time per weight (once in a run) and time per product.
struct Picoseconds {
  double weight;
  double product;
};

/// The measured times of each method, defined beside its implementation: by `make bench` on layers
/// of 784 x 700 and 4096 x 4096 with 1 to 256 rows, for AVX2 on Zen 3 at 3.15 GHz, for AVX-512 on
/// Sapphire Rapids, by AMD on Zen 4. Only the ratios matter.
Picoseconds bits_time(const LayerExtent& layer, Core core);
Picoseconds planes_time(const LayerExtent& layer, Core core);
Picoseconds nibbles_time(const LayerExtent& layer, Core core);
Picoseconds bytes_time(const LayerExtent& layer, Core core);
Picoseconds float_time(const LayerExtent& layer, Core core);

/// Estimated time of one thread in microseconds, for all steps.
double cost_us(Product product, const LayerExtent& layer, Core core);

/// The same and that of a float32 layer, on the processor at hand.
Speed speed_of(Product product, const LayerExtent& layer);

/// The fastest method with integers and the levels of the weights: kPlanes, kNibbles or kBytes. The
/// choice changes no result.
Product cheapest_levels(const LayerExtent& layer, Core core);

/// Those of these methods that a layer may use, for Implementation::products.
std::vector<Product> level_products(const LayerExtent& layer);

/// The layout of a method with levels, on the processor at hand.
/// @pre product is kNibbles or kBytes
kernels::LevelLayout level_layout(Product product);

/// The layout for bits, on the processor at hand.
kernels::BitLayout bit_layout(const ir::EncodedTensor& weights);

/// The method of the way to compute a node, or the cheapest one on the processor at hand.
Product level_product(const NodeContext& context, const LayerExtent& layer);

/// The number of threads worth waking for this amount of work.
std::size_t worthwhile_threads(double us, int threads);
/// The threads for a node of this amount of work: all of the way to compute it, or by estimate.
std::size_t threads_for(const NodeContext& context, double us);

/// Blocks of outputs that a kernel computes together, in as many shares as there are threads worth
/// waking. Results do not depend on the number of shares, bit for bit.
class OutputShares {
 public:
  /// @param threads  maximum number of shares; 1 for a layer too small for two
  OutputShares(std::size_t outputs, std::size_t block_outputs, std::size_t threads)
      : outputs_(outputs),
        block_outputs_(block_outputs),
        blocks_(outputs / block_outputs + (outputs % block_outputs != 0)),
        shares_(std::clamp<std::size_t>(blocks_, 1, threads)) {}

  /// Calls compute(blocks) for every share in parallel, then applies the activation to the outputs
  /// of that share in y [m, outputs].
  template <typename Compute>
  void run(const Compute& compute, const ir::Activation& activation, MatrixView<float> y) const {
    const auto body = [&](std::size_t share) {
      const kernels::BlockRange blocks{blocks_ * share / shares_, blocks_ * (share + 1) / shares_};
      compute(blocks);
      const std::size_t first = blocks.begin * block_outputs_;
      const std::size_t last = std::min(blocks.end * block_outputs_, outputs_);
      for (std::size_t r = 0; r < y.rows(); ++r) {
        const auto row = y.row(r).subspan(first, last - first);
        apply_activation(activation, row, row);
      }
    };
    if (shares_ == 1) return body(0);
    parallel_for(shares_, std::ref(body));  // by reference: allocates nothing
  }

 private:
  std::size_t outputs_;
  std::size_t block_outputs_;
  std::size_t blocks_;
  std::size_t shares_;
};

/// The groups of a matrix in blocks. Threads divide its strips.
/// @throws Error kUnsupported as kernels::check_groups(); kMemory as AlignedBuffer
kernels::PackedGroups pack_groups(const ir::BlockTensor& weights, int threads);

}  // namespace halftone::runtime
