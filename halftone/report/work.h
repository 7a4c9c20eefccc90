// SPDX-License-Identifier: Apache-2.0
// The work of a network: products, operations and bytes of every node.
#pragma once

#include <string>
#include <vector>

#include "halftone/api/inspection.h"
#include "halftone/report/json.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::report {

/// A table of the nodes, and the products by pair of encodings.
std::string work_text(const std::vector<NodeWork>& work);
/// The products of a step for one run of its plan.
double products_of(const runtime::Plan& plan, const runtime::PlanStep& step);
/// One object for each node.
Json work_json(const std::vector<NodeWork>& work);

}  // namespace halftone::report
