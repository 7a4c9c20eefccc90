// SPDX-License-Identifier: Apache-2.0
// What long work uses, and whom it tells.
#pragma once

#include "halftone/types/resources.hpp"  // IWYU pragma: export
