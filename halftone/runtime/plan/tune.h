// SPDX-License-Identifier: Apache-2.0
// Measures the ways to compute a node.
#pragma once

#include <optional>
#include <vector>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/tuning.h"

namespace halftone::runtime {

/// The ways to compute a node by an implementation, those of one thread first; empty if there is
/// nothing to choose or nothing that can be measured.
std::vector<LayerMethod> methods_of(const Implementation& implementation,
                                    const NodeContext& context);

/// The context to create a kernel for a way, which must outlive the call of create().
NodeContext with_method(NodeContext context, const LayerMethod& way);

/// The fastest way: as `tuning` knows it, otherwise measured on random inputs and recorded there.
/// Nothing if there is nothing to choose.
std::optional<MeasuredMethod> fastest_method(const Implementation& implementation,
                                             const NodeContext& context, Tuning& tuning);

}  // namespace halftone::runtime
