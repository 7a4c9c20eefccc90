// SPDX-License-Identifier: Apache-2.0
// Results as JSON values, for objects that contain them. The keys are a contract, see docs/cli.md.
#pragma once

#include <vector>

#include "halftone/api/inspection.h"
#include "halftone/compress/evaluate.h"
#include "halftone/report/json.h"
#include "halftone/runtime/execute/profile.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::report {

/// Name, shape and type of each.
Json ports_json(const std::vector<PortInfo>& ports);
/// What `inspect --json` prints of a layer.
Json layer_json(const LayerInfo& layer);
/// What `inspect --json` prints, without layers and work.
Json inspection_json(const Inspection& inspection);
/// What `eval --json` prints.
Json evaluation_json(const compress::Evaluation& evaluation);
/// What `bench --json` prints.
Json measurement_json(const runtime::Plan& plan, const runtime::Profile& profile);

}  // namespace halftone::report
