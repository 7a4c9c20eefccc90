// SPDX-License-Identifier: Apache-2.0
// Looks at samples before a network is fitted to them.
#pragma once

#include <string>
#include <vector>

#include "halftone/compress/feed.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::compress {

/// The samples that a fit uses.
struct ScreenedData {
  data::Dataset data;
  std::vector<std::string> warnings{};  ///< a line each
};

/// Leaves out samples that would decide a fit alone, and allows values that are NaN or infinite
/// where they do not matter, as in masked rows. Computes the inputs of the network, and those of
/// its first layers, for all samples. Adds states to them, see with_states().
///
/// A sample is left out if its mean square or its largest square in one of these values is among
/// the glitches(). Values that are not finite are allowed if the outputs of these samples are
/// finite and no first layer reads an infinity; Calibration leaves them out of its statistics.
/// Ordinary data is returned as it is. Also warns of few samples, and of whole numbers from 0 to
/// 255 that a first layer reads as they are. The same on all ranks.
/// @param resize  as of Calibration
/// @throws Error kFormat if a value is NaN or infinite and makes an output so: the sample; kShape
///         if the data does not fit
ScreenedData screened(const ir::Graph& graph, const data::Dataset& data,
                      const spmd::Devices& devices, const Resize& resize = {});

/// The first half of screened(): data whose values may be NaN or infinite where that does not reach
/// the outputs. No sample is left out.
/// @throws Error as screened()
data::Dataset with_masked_gaps(const ir::Graph& graph, const data::Dataset& data,
                               const spmd::Devices& devices, const Resize& resize = {});

}  // namespace halftone::compress
