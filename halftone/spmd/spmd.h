// SPDX-License-Identifier: Apache-2.0
// Programs for many devices, written for one; docs/spmd.md is the introduction.
#pragma once

#include "halftone/spmd/array.h"        // IWYU pragma: export
#include "halftone/spmd/collectives.h"  // IWYU pragma: export
#include "halftone/spmd/devices.h"      // IWYU pragma: export
#include "halftone/spmd/map.h"          // IWYU pragma: export
#include "halftone/spmd/sharded.h"      // IWYU pragma: export
#include "halftone/spmd/tree.h"         // IWYU pragma: export
