// SPDX-License-Identifier: Apache-2.0
// The time and energy of a workload on described hardware, and what limits each operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/parallel.h"
#include "halftone/accel/simulate.h"
#include "halftone/accel/workload.h"

namespace halftone::accel {

/// How closely hardware is modelled.
enum class Model : std::uint8_t {
  kRoofline,  ///< peak rate, and each byte moved once: a lower bound
  kTiles,     ///< products in pieces that fit units and memories, closed forms
  kEvents,    ///< the same pieces, competing for memories and units event by event
};
std::string_view to_string(Model model);  ///< "roofline", "tiles", "events"
/// @throws Error kUsage with the list of names if it is none of them
Model model_named(std::string_view name);

struct EstimateOptions {
  Model model = Model::kTiles;
  Split split{};  ///< over several chips
};

/// Bytes that cross the boundary below a memory, and the time they take.
struct LevelTraffic {
  std::size_t memory = 0;  ///< index among the accelerator's
  double bytes_read = 0;
  double bytes_written = 0;
  double seconds = 0;
};

struct OperationEstimate {
  std::string name;
  std::string op;
  std::string unit{};   ///< that computes it; "-" for what only moves bytes
  std::string bound{};  ///< "compute", the name of a memory, "link" or "overhead"
  double seconds = 0;
  double compute_s = 0;
  double overhead_s = 0;
  double link_s = 0;
  double energy_j = 0;
  Product product{};
  double products = 0;
  double utilization = 0;               ///< products over those at the peak rate in `seconds`
  double intensity = 0;                 ///< products per byte that crosses the outermost memory
  std::size_t tiles = 1;                ///< pieces that are loaded from the outermost memory
  std::vector<LevelTraffic> traffic{};  ///< by memory
};

/// A bar of the timeline.
struct Bar {
  std::string lane;  ///< a memory, a unit and its number, the link
  std::string name;
  double start_s = 0;
  double end_s = 0;
};

/// Bytes that have to be kept in the outermost memory of each chip.
struct Footprint {
  double weights = 0;
  double activations = 0;  ///< the largest inputs and outputs of one operation
  double states = 0;
  double training = 0;  ///< gradients and states of the optimizer
  [[nodiscard]] double total() const { return weights + activations + states + training; }
};

struct Estimate {
  std::string workload;
  std::string accelerator;
  std::string comparison;  ///< as in Accelerator
  Model model = Model::kTiles;
  std::size_t batch = 1;
  Split split{};
  std::vector<OperationEstimate> operations{};
  double seconds = 0;     ///< of all operations, one after another
  double interval_s = 0;  ///< between batches: `seconds`, or the slowest stage of a pipeline
  double host_s = 0;  ///< to bring the first inputs and fetch the last outputs, beside `seconds`
  double energy_j = 0;
  double idle_j = 0;    ///< part of `energy_j`: of the power that flows all the time
  double active_j = 0;  ///< part of `energy_j`: of leakage and clocks while chips work
  [[nodiscard]] double watts() const { return seconds > 0 ? energy_j / seconds : 0; }
  Footprint footprint{};
  std::vector<Bar> timeline{};
};

/// What the chip with the largest part keeps.
Footprint footprint(const Workload& workload, const Split& split);

/// Estimates every operation:
///
///     seconds = overhead + max(compute, traffic of each memory / its bandwidth + latency) + link
///
/// compute is products / (units rate(Kw, Ka) efficiency) with extents rounded up to what units
/// compute at once, plus what rules of the description add. A memory without double buffering adds
/// to compute instead. Elements are computed by the fastest unit that has operations; if another
/// one multiplies, both work at the same time.
///
/// Weights stay in the innermost memory shared by all units that has room for all of them, inputs
/// and outputs likewise if they fit beside the weights; the first inputs and the last outputs are
/// in the outermost memory.
/// @throws Error kUnsupported, with all operations that no unit computes; if weights, states and
///         activations do not fit the outermost memory of all chips; or as check_split()
Estimate estimate(const Workload& workload, const Accelerator& accelerator,
                  const EstimateOptions& options = {});

}  // namespace halftone::accel
