// SPDX-License-Identifier: Apache-2.0
// Float32 images that are never stored: their readers ask a function for each pixel.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "halftone/export_c/scope.h"

namespace halftone::export_c {

/// The index of the function of each value that is computed by pixel. Such are the float32 outputs
/// of convolutions of codes, if all readers take pixels in order: an Encode, a residual, the mean
/// of a whole image. A second reader computes them again, unless they have residuals themselves.
/// @param nodes  in order of execution
std::map<ir::ValueId, std::size_t> functions_by_pixel(std::span<const NodeToWrite> nodes);

/// The first and the last node during which a function runs.
struct Run {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Of each node: its own index; by pixel, those of its readers.
/// @param layers  of the nodes
std::vector<Run> runs_of(std::span<const NodeToWrite> nodes, std::span<const LayerFunction> layers);

}  // namespace halftone::export_c
