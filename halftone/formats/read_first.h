// SPDX-License-Identifier: Apache-2.0
// What readers of networks do about the batch. The samples of most networks are independent: they
// are read with the batch N. Others count, mix or select samples, which the shape rules refuse: of
// these the batch is an open extent like others (ir/extent.h).
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// A way to read a network; nullopt if it does not apply.
using WayToRead = std::function<std::optional<ir::Graph>()>;

/// The network of the first way that reads it.
/// @pre the first way applies
/// @throws Error that of the first way if none does; any of kind kMemory or kUsage
ir::Graph read_first(std::span<const WayToRead> ways);

/// Checks that no operator mixes the samples of the batch N, as far as types show it. The shape
/// rules reject most that do, but not sums of products and normalizations along the batch.
/// @throws Error kShape that names the node
void require_independent_samples(const ir::Graph& graph);

}  // namespace halftone::formats
