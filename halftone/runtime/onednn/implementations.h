// SPDX-License-Identifier: Apache-2.0
// The implementations with oneDNN, which plan/registry.cc finds by onednn_implementations().
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// A dense input and dense constant weights.
extern const Implementation kOneDnnFullyConnected;
/// The same, one to three spatial axes.
extern const Implementation kOneDnnConv;
extern const Implementation kOneDnnConvTranspose;
/// A constant right operand is packed.
extern const Implementation kOneDnnMatMul;
/// Means over one to three spatial axes.
extern const Implementation kOneDnnPool;

}  // namespace halftone::runtime
