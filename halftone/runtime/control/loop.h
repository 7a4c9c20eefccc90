// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// A Loop: the body has a plan of its own, which a session runs in the scratch memory of the step.
extern const Implementation kLoopBody;
/// A LoopResult: a copy out of the record.
extern const Implementation kRecordPart;

}  // namespace halftone::runtime
