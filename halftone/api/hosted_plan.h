// SPDX-License-Identifier: Apache-2.0
// Networks inside other runtimes, which hand over the inputs of a node and their extents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone {

/// A plan for a network all of whose inputs have fixed extents. It may use the threads of the
/// current thread's settings. Float layers add in the fixed order, so that outputs have the same
/// bits on every processor.
/// @throws Error as graph_to_run() and runtime::make_plan()
std::shared_ptr<const runtime::Plan> hosted_plan(Network network);

/// The number of threads that an option of the other runtime gives.
/// @param key  of the option, for the message
/// @throws Error kUsage unless the text is a whole number of 1 or more
int hosted_threads(std::string_view key, std::string_view text);

/// The extents of each output of a plan.
std::vector<std::vector<std::int64_t>> output_extents(const runtime::Plan& plan);

}  // namespace halftone
