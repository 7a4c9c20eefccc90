// SPDX-License-Identifier: Apache-2.0
// Plans of the C API.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/library/c_model.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::library {

struct Plan {
  std::shared_ptr<const Context> context;
  ThreadSettings settings;      ///< of the context, with the threads of the plan
  std::optional<Network> open;  ///< for other sizes, of a model with open extents
  std::shared_ptr<const runtime::Plan> plan;
  Ports inputs;
  Ports outputs;
  std::vector<std::string> arithmetics;  ///< by step
};

}  // namespace halftone::library

struct halftone_plan {
  std::shared_ptr<const halftone::library::Plan> state;
};
