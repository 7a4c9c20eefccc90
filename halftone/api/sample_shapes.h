// SPDX-License-Identifier: Apache-2.0
// Open extents of networks that samples show.
#pragma once

#include "halftone/api/network.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/extent.h"

namespace halftone {

/// The numbers for the open extents of a network that samples show.
/// @throws Error as with_samples()
ir::Sizes sizes_of(const Network& network, const data::Dataset& data);

/// The network with numbers for its open extents: those of the samples, whose extents are added,
/// removed and permuted as data::adapt() does.
/// @throws Error kShape if the samples do not fit an input, or have several sizes; else as
/// with_shapes() and
///         compress::paired_inputs()
Network with_samples(Network network, const data::Dataset& data);

}  // namespace halftone
