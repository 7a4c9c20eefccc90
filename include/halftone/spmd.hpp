// SPDX-License-Identifier: Apache-2.0
// Programs for many devices, written for one; docs/spmd.md is the introduction. Link
// Halftone::spmd. Errors are exceptions of class halftone::Error (error.hpp); those of mapped
// functions stay as they are.
#pragma once

#include "halftone/spmd/array.hpp"        // IWYU pragma: export
#include "halftone/spmd/collectives.hpp"  // IWYU pragma: export
#include "halftone/spmd/devices.hpp"      // IWYU pragma: export
#include "halftone/spmd/map.hpp"          // IWYU pragma: export
#include "halftone/spmd/sharded.hpp"      // IWYU pragma: export
#include "halftone/spmd/tree.hpp"         // IWYU pragma: export
