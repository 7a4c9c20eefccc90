// SPDX-License-Identifier: Apache-2.0
// The time and energy of a workload on described hardware, and what limits each operation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/parallel.h"
#include "halftone/accel/simulate.h"
#include "halftone/accel/workload.h"
#include "halftone/types/hardware.hpp"

namespace halftone::accel {

/// How closely hardware is modelled.
enum class Method : std::uint8_t {
  kRoofline,  ///< peak rate, and each byte moved once: a lower bound
  kTiles,     ///< products in pieces that fit units and memories, closed forms
  kEvents,    ///< the same pieces, competing for memories and units event by event
};
std::string_view to_string(Method model);  ///< "roofline", "tiles", "events"
/// @throws Error kUsage with the list of names if it is none of them
Method method_named(std::string_view name);

struct EstimateSettings {
  Method model = Method::kTiles;
  Split split{};  ///< over several chips
};

using v0::Footprint;
using v0::LevelTraffic;
using v0::OperationEstimate;
using Bar = v0::TimelineBar;
using Estimate = v0::HardwareEstimate;

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
                  const EstimateSettings& options = {});

}  // namespace halftone::accel
