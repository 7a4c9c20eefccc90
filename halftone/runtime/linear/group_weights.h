// SPDX-License-Identifier: Apache-2.0
// Matrices in blocks of codes, packed for the kernels of groups.
#pragma once

#include "halftone/ir/tensor.h"
#include "halftone/kernels/groups/packed_groups.h"

namespace halftone::runtime {

/// The groups of a matrix in blocks. Threads divide its strips.
/// @throws Error kUnsupported as kernels::check_groups(); kMemory as AlignedBuffer
kernels::PackedGroups pack_groups(const ir::BlockTensor& weights, int threads);

}  // namespace halftone::runtime
