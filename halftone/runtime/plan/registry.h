// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The ways to compute an operator, in the order they are asked: the cheapest of those that accept
/// and know their cost, or the first that accepts. The last one takes every node.
std::span<const Implementation* const> implementations(const ir::Operator& op);

}  // namespace halftone::runtime
