// SPDX-License-Identifier: Apache-2.0
// Keras writes a dilated convolution as a plain one between SPACE_TO_BATCH_ND and
// BATCH_TO_SPACE_ND: each phase of the image becomes an image of its own. A graph has the dilation
// instead, so that the batch stays the batch.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "halftone/formats/circle/file_model.h"

namespace halftone::formats::circle {

/// The first two of the three operators; between them and the last there may be reshapes that add
/// and remove a spatial axis of extent 1.
struct DilatedLayer {
  std::size_t to_batch = 0;
  std::size_t convolution = 0;
};

struct DilatedLayers {
  std::map<std::size_t, DilatedLayer> layers;  ///< by the BATCH_TO_SPACE_ND
  std::set<std::size_t> parts;                 ///< the operators before it
};

/// @throws Error kFormat if an index in the file is out of range
DilatedLayers find_dilated(const FileModel& file);

}  // namespace halftone::formats::circle
