// SPDX-License-Identifier: Apache-2.0
// Which steps of a plan a device runs, and which values are copied for it.
#pragma once

#include <span>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// Gives a step the kernel of a device, or the reason why it has none.
/// @param context  as for the kernel of the processor
/// @throws Error as StepDevice::choose()
void choose_device(const StepDevice& device, const NodeContext& context, PlanStep& step);

/// Takes the kernels of the device from steps between others of the processor that hold no layer:
/// such steps take less time than copying what they read and write. The others release what they
/// hold for the processor.
void keep_worthwhile_runs(const ir::Graph& graph, std::span<PlanStep> steps);

/// Finds the copies between processor and device. @pre the memory of the plan is laid out
void find_copies(Plan::Parts& plan);

}  // namespace halftone::runtime
