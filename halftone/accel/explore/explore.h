// SPDX-License-Identifier: Apache-2.0
// Searches hardware and bits for each layer together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/accel/estimate.h"
#include "halftone/accel/explore/space.h"
#include "halftone/base/progress.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone::accel {

enum class Objective : std::uint8_t {
  kTime,
  kEnergy,
  kEdp,  ///< energy times time
};
std::string_view to_string(Objective objective);  ///< "time", "energy", "edp"
/// @throws Error kUsage with the list of names if it is none of them
Objective objective_named(std::string_view name);

using Budget = v0::HardwareBudget;
/// Reads "area=2.5,accuracy-drop=0.02,time=1e-3,energy=1e-6" in any order.
/// @throws Error kUsage for other names and values below 0
Budget parse_budget(std::string_view text);
/// @throws Error kUsage if a limit is no number of at least 0
void check_budget(const Budget& budget);

using Design = v0::HardwareDesign;
double objective_of(const Design& design, Objective kind);

struct SearchSettings {
  Objective objective = Objective::kTime;
  Budget budget{};
  Method model = Method::kTiles;
  ProgressSink progress{};
};

struct Exploration {
  std::vector<std::string> layers;
  std::size_t num_hardware = 0;  ///< all combinations of parameters
  std::size_t num_within = 0;    ///< those within the area that compute the network
  double num_designs = 0;        ///< combinations of hardware and bits that the front represents
  /// Designs within all limits but the accuracy's that no other one beats: in objective, noise and
  /// area. Ascending objective.
  std::vector<Design> front{};

  /// The designs of the front that are best for some limit on the noise: ascending objective,
  /// falling noise.
  [[nodiscard]] std::vector<const Design*> ladder() const;
};

/// Reads all hardware of a space, so that mistakes are found before the long work.
/// @throws Error as Space::hardware(); kUnsupported if none has an area within the budget
void check_hardware(const Space& space, const Budget& budget);

/// The Pareto front of all designs.
///
/// For each combination of parameters every layer is estimated at each pair of bits, in the network
/// that has this pair everywhere: a layer's outputs have the bits of its own inputs.
/// compress::sum_front() then chooses bits, exactly. Noise adds up over layers as far as their
/// errors are small and independent:
///
///     noise(b_1, ..., b_L) = noise_1(b_1) + ... + noise_L(b_L)
///
/// Source: Zhou et al., Adaptive quantization for deep neural network, AAAI 2018, section 3.
/// What the weights take of the memories depends
/// on all layers together. Where that changes the cost of a layer, the choice is made once for the
/// weights of each uniform network, and the designs found are estimated again with the weights that
/// they have; then a better design may exist beside them. With kEdp, time and energy are criteria
/// of their own, so that their product is least over all designs too.
/// @param losses   compress::losses_alone() of LossKind::kError, with choice_of() each pair of
///                 space.pairs_of(layers) in this order
/// @param by_pair  the network with each pair of space.pairs_of(layers) in all layers, in this
///                 order
/// @throws Error kUnsupported if no hardware within the budget computes the network and has room
/// for
///         it; as check_hardware()
Exploration explore(const Space& space, const compress::Sensitivity& losses,
                    std::span<const Workload> by_pair, const SearchSettings& options);

}  // namespace halftone::accel
