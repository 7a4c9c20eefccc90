// SPDX-License-Identifier: Apache-2.0
// What is lost where single layers of a network get few bits, measured on data.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "halftone/accel/explore/space.h"
#include "halftone/compress/quantize.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::accel {

/// What a network in few bits loses against the float network.
struct Loss {
  double noise = 0;  ///< error power of the first output over its power: 10^(-SQNR / 10)
  /// Accuracy lost, in [-1, 1]; without labels the fraction of samples that get another class,
  /// which is at least the accuracy lost.
  double drop = 0;
};

/// The recipe with a pair of bits for each of these layers, and other layers as in the recipe.
compress::Recipe with_bits(const compress::Recipe& recipe, std::span<const std::string> layers,
                           std::span<const BitPair> bits);

/// The layers of a network that a recipe quantizes.
struct SearchedLayers {
  ir::Graph network;               ///< with layers for all products that get bits
  std::vector<std::string> names;  ///< in order of execution
  std::vector<Tie> shared;         ///< those that read the same weights, which have one code
};

/// @throws Error as compress::with_layers(); kUnsupported if there are none
SearchedLayers searched_layers(const ir::Graph& graph, const compress::Recipe& recipe);

/// What sensitivities are measured on.
struct Measurement {
  const ir::Graph& graph;           ///< float, as compress::quantize() takes it
  const data::Dataset& samples;     ///< for the fit; labels are not read
  const data::Dataset& evaluation;  ///< on which losses are measured
  const compress::Recipe& recipe;   ///< how layers are fitted
  compress::QuantizeOptions options{};
  std::size_t batch = 64;  ///< samples per run of the evaluation
};

/// Quantizes the network by a recipe and measures what it loses. The same bits on every processor.
/// @throws Error as compress::quantize() and compress::evaluate()
Loss measure_loss(const Measurement& on, const compress::Recipe& recipe,
                  const ProgressSink& progress = {});

struct LayerSensitivity {
  std::string name;
  std::vector<BitPair> pairs;
  std::vector<Loss> losses;  ///< of each pair, where this layer alone is quantized
};

/// The losses of each layer at each pair of bits that the space allows, all other layers in
/// float32.
///
/// For each pair the network is quantized once, every layer fitted to float values
/// (compress::Schedule::kIndependent), and single layers are grafted into the float network: what
/// quantize() gives if it skips all other layers. Where the recipe reconstructs blocks or fits in
/// phases, each layer is quantized so.
///
/// Noise adds up over layers as far as their errors are small and independent:
///
///     noise(b_1, ..., b_L) = noise_1(b_1) + ... + noise_L(b_L)
///
/// Source: Zhou et al., Adaptive quantization for deep neural network, AAAI 2018, section 3.
/// @param state  a file that keeps what was measured, or empty. It is written after each pair, so
///               that an interrupted run continues; the result is the same.
/// @throws Error as measure_loss() and Space::ties_of(); kFormat if the state is not such a file or
///         of another network, data, recipe or seed, which it names; kIo if it cannot be written
std::vector<LayerSensitivity> measure_sensitivities(const Measurement& on,
                                                    const SearchedLayers& layers,
                                                    const Space& space,
                                                    const std::filesystem::path& state);

/// The drop that goes with a noise: the monotone function closest to all measured pairs, linear
/// between them. It starts at no drop without noise and is proportional to noise beyond what was
/// measured, up to 1.
/// Source: pool adjacent violators; Ayer et al., An empirical distribution function for sampling
/// with incomplete information, Ann. Math. Statist. 26 (1955).
class DropCurve {
 public:
  explicit DropCurve(std::vector<Loss> measured);
  [[nodiscard]] double drop(double noise) const;

 private:
  std::vector<Loss> points_;  ///< ascending in both
};

}  // namespace halftone::accel
