// SPDX-License-Identifier: Apache-2.0
// What the layers of a network take when it runs: measured here, or estimated.
#pragma once

#include <string>
#include <vector>

#include "halftone/api/measure.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone {

/// Measures a network: measure(). The encoding of a layer's input counts for the layer that reads
/// it, first of several.
/// @param layers  names, in order of execution
/// @throws Error as measure()
compress::RunCosts measured_costs(const ir::Graph& network, const std::vector<std::string>& layers,
                                  const TimingSettings& options);

/// Has sensitivity() measure the time of layers on this machine.
void measure_time(compress::MeasureSettings& options);

}  // namespace halftone
