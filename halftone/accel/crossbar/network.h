// SPDX-License-Identifier: Apache-2.0
// Networks whose layers of bits run on arrays: accuracy, and what the arrays cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/accel/crossbar/device.h"
#include "halftone/compress/evaluate.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::crossbar {

/// A layer on arrays, or why it is not.
struct LayerUse {
  std::string name;
  std::string op;          ///< "FullyConnected", "Conv", ...
  std::string digital;     ///< why the layer is not on arrays; empty: it is, and the rest is set
  std::size_t inputs = 0;  ///< of an output
  std::size_t outputs = 0;
  int weight_bits = 0;
  int input_bits = 0;
  std::size_t arrays = 0;
  std::size_t cells = 0;   ///< occupied
  double conversions = 0;  ///< per sample
  double joules = 0;       ///< per sample: of all cells in each read, and of conversions
  double seconds = 0;      ///< per sample: of the conversions that follow one another
};

/// The layers of a network with weights, in order of execution.
/// @throws Error as Mapping, with the layer
std::vector<LayerUse> layer_uses(const ir::Graph& graph, const Device& device);

/// The network whose layers compute bits wherever their codes and extents allow it; the others,
/// and convolutions of single channels, keep their arithmetic. It is what the arrays compute if
/// they are ideal.
ir::Graph with_bits(ir::Graph graph);

struct NetworkOptions {
  std::size_t num_seeds = 1;  ///< programmed devices: seed, seed + 1, ...; 1 if nothing is random
  std::uint64_t seed = 0;
  compress::EvaluateOptions evaluate{};
};

/// Results over all seeds.
struct NetworkResult {
  std::string metric;  ///< as compress::Evaluation
  std::size_t samples = 0;
  std::optional<double> digital;  ///< accuracy of the digital network, if there are labels
  std::vector<double> values;     ///< by seed
  double mean = 0;                ///< of values
  double deviation = 0;           ///< standard deviation of values, of a sample; 0 for one seed
  double agreement = 0;           ///< mean fraction of samples with the class of the digital one
  bool is_equal = false;          ///< whether all outputs have the bits of the digital network
  std::vector<LayerUse> layers;
};

/// Runs a network over a data set with its layers of bits on arrays, once per seed, and beside it
/// the digital network, with_bits().
/// @throws Error kUsage if there are no seeds; kUnsupported "network: no layer can be mapped ...";
///         as Device::check(), layer_kernel() and compress::evaluate()
NetworkResult evaluate(const ir::Graph& graph, const data::Dataset& data, const Device& device,
                       const NetworkOptions& options = {});

}  // namespace halftone::crossbar
