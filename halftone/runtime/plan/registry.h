// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The implementations of an operator that are linked, in order of preference: a plan uses the
/// first that accepts. The last one accepts every node.
std::span<const Implementation* const> implementations(const ir::Operator& op);

}  // namespace halftone::runtime
